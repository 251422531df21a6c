//! Texts that hold a secret, independently of the target.
//!
//! The name beside a value, the header of a key and the user of a URL tell that.

use crate::secrets::secret_names::looks_secret;

/// Placeholder for hidden values.
pub const REDACTED: &str = "(redacted)";

/// Returns true if a text is a private key or sets a password like a connection string, regardless of its field name.
#[must_use]
pub fn holds_secret(text: &str) -> bool {
    let sets_secret = text
        .split(|letter: char| letter.is_whitespace() || ";&?,".contains(letter))
        .filter_map(|part| part.split_once('='))
        .any(|(name, secret)| !secret.is_empty() && looks_secret(name));
    sets_secret || holds_key(text)
}

/// Returns true if a text contains the head of a private key.
#[must_use]
pub fn holds_key(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
}

/// Beginnings of tokens that name their kind: of GitHub, GitLab, Slack, Stripe, npm, Docker Hub, Vault and DigitalOcean.
const TOKENS: [&str; 16] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "sk_live_",
    "rk_live_",
    "npm_",
    "dckr_pat_",
    "hvs.",
    "dop_v1_",
];
/// Minimum bytes of such a token. The shortest, of GitLab, has 26.
const MIN_TOKEN_BYTES: usize = 20;
/// Beginning of a JSON Web Token: `{"` in Base64.
const JWT: &str = "eyJ";

/// Returns true if a word of a text is a token by its form.
#[must_use]
pub fn holds_token(text: &str) -> bool {
    let is_token = |word: &str| {
        let is_named = TOKENS.iter().any(|beginning| word.starts_with(beginning));
        word.len() >= MIN_TOKEN_BYTES && (is_named || (word.starts_with(JWT) && word.contains('.')))
    };
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_-.".contains(letter)).any(is_token)
}

/// Hides the part before the `@` in every `scheme://user:password@host` in a text.
#[must_use]
pub fn without_userinfo(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter)).unwrap_or(after.len());
        let authority = after.get(..end).unwrap_or_default();
        // A password may contain characters that end an authority. In a valid authority, a port follows the colon.
        let is_cut_short = authority
            .split_once(':')
            .is_some_and(|(_, port)| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()));
        let end = if is_cut_short && !authority.contains('@') {
            after.find(char::is_whitespace).unwrap_or(after.len())
        } else {
            end
        };
        let (authority, tail) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("://");
        match authority.rsplit_once('@') {
            None => shown.push_str(authority),
            Some((_, host)) => {
                shown.push_str(REDACTED);
                shown.push('@');
                shown.push_str(host);
            }
        }
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_sets_a_password_holds_a_secret() {
        for secret in ["host=db password=hunter2", "Server=db;Pwd=hunter2;", "https://host/x?api_key=hunter2"] {
            assert!(holds_secret(secret), "{secret}");
        }
        assert!(!holds_secret("a=1&sort=token"));
    }

    proptest! {
        #[test]
        fn no_userinfo_survives(user in "[a-z]{1,8}", password in "[A-Z][A-Z0-9/#?]{7}", token in "[A-Z0-9]{8}") {
            let text = without_userinfo(&format!("see db://{user}:{password}@host/x and http://{token}@host:80/@path"));
            prop_assert!(!text.contains(&password) && !text.contains(&token), "{text}");
            prop_assert!(text.ends_with("http://(redacted)@host:80/@path"), "{text}");
        }
    }
}
