//! Tokens of the program's own ServiceAccount, which the kubelet writes to files and renews.
//!
//! A request reads its file anew: a read from tmpfs costs microseconds, and a renewed token takes effect at once.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use drift_api::names::PROJECTED_TOKENS;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::is_dns_label;
use secrecy::SecretString;

/// Maximum bytes of a token. Those of the API server have 1 to 2 KiB.
const MAX_BYTES: u64 = 16 * 1024;

/// The folder with the projected tokens.
#[derive(Clone, Debug)]
pub struct ProjectedTokens {
    directory: PathBuf,
}

impl Default for ProjectedTokens {
    fn default() -> Self {
        Self::new(PROJECTED_TOKENS)
    }
}

impl ProjectedTokens {
    /// Creates the tokens of this folder.
    #[must_use]
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Self { directory: directory.as_ref().to_owned() }
    }

    /// Reads the token of this file name.
    ///
    /// # Errors
    /// [`CredentialError::ProjectedToken`] if the folder has no such file with a token.
    pub fn read(&self, name: &str) -> Result<SecretString, CredentialError> {
        let missing = |problem| self.error(name, problem);
        // Any other name could lead out of the folder.
        if !is_dns_label(name) {
            return Err(missing("has no valid file name"));
        }
        let mut text = String::new();
        let read =
            File::open(self.directory.join(name)).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
        read.map_err(|error| missing(problem_of(error.kind())))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(missing("is larger than 16 KiB"));
        }
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
        if text.is_empty() { Err(missing("is empty")) } else { Ok(SecretString::from(text)) }
    }

    /// Creates the error about an unusable token, with a fixed text as the problem.
    pub(in crate::http) fn error(&self, name: &str, problem: &'static str) -> CredentialError {
        CredentialError::ProjectedToken(self.directory.join(name).display().to_string(), problem)
    }
}

const fn problem_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "does not exist; mount it as a projected volume with a serviceAccountToken",
        ErrorKind::PermissionDenied => "cannot be read by this user",
        ErrorKind::InvalidData => "is not UTF-8 text",
        _ => "cannot be read",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    #[test]
    fn a_renewed_token_is_read_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = ProjectedTokens::new(folder.path());
        for content in ["first\n", "second"] {
            std::fs::write(folder.path().join("api"), content).unwrap();
            assert_eq!(tokens.read("api").unwrap().expose_secret(), content.trim_end());
        }
    }

    #[test]
    fn an_unusable_token_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("empty"), "\n").unwrap();
        std::fs::write(folder.path().join("blob"), [0xff, 0xfe]).unwrap();
        std::fs::write(folder.path().join("large"), "a".repeat(16 * 1024 + 1)).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let tokens = ProjectedTokens::new(folder.path());
        let cases = [
            ("none", "does not exist; mount it as a projected volume with a serviceAccountToken"),
            ("empty", "is empty"),
            ("blob", "is not UTF-8 text"),
            ("large", "is larger than 16 KiB"),
            ("folder", "cannot be read"),
            ("../empty", "has no valid file name"),
            ("", "has no valid file name"),
        ];
        for (name, problem) in cases {
            let error = tokens.read(name).unwrap_err().to_string();
            let path = folder.path().join(name);
            assert_eq!(error, format!("projected token {} {problem}", path.display()));
        }
    }
}
