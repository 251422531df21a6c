//! The proofs of `check --from-cluster --wait`: a target that is proven once is not looked at again.
//!
//! Other targets may need minutes, and each look lists all objects of a target and reads its Secrets.

use std::collections::{BTreeMap, BTreeSet};

use drift_language::Target;

use super::examine_secret;
use super::first_polls::FirstPolls;
use crate::check::document::{Document, Severity};
use crate::check::report::{Report, Waited};
use drift_kube::client::FORBIDDEN;

/// The Secrets of a target, as one look found them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SecretsLook {
    /// Errors and doubts, by the name of the Secret.
    said: Vec<(String, (Severity, String))>,
    /// Secrets that could not be read, with the reason. Another try may give more.
    unasked: Vec<(String, String)>,
    /// Secrets that may not be read, with the programs that use them. They are left to the verdicts.
    pub(super) unread: BTreeSet<String>,
}

impl SecretsLook {
    /// Reads the Secrets of a target.
    pub(super) async fn at(client: &kube::Client, namespace: &str, target: &Target) -> Self {
        let mut look = Self::default();
        for needed in target.needed_secrets() {
            match examine_secret(client, namespace, &needed).await {
                Ok(said) => look.said.extend(said.map(|said| (needed.name.clone(), said))),
                Err(error) if error.code() == Some(FORBIDDEN) => {
                    look.unread.insert(format!("{} of the {}", needed.name, needed.user));
                }
                Err(error) => look.unasked.push((needed.name.clone(), error.to_string())),
            }
        }
        look
    }

    /// Returns true if nothing speaks against the Secrets.
    pub(super) fn are_usable(&self) -> bool {
        self.unasked.is_empty() && self.said.iter().all(|(_, (severity, _))| *severity != Severity::Error)
    }

    /// Notes the errors and doubts.
    pub(super) fn tell(&self, report: &mut Report, document: &Document) {
        for (name, said) in &self.said {
            report.say_of_secret(document, name, said.clone());
        }
        for (name, why) in &self.unasked {
            report.unasked(document, &format!("Secret {name}"), why);
        }
    }
}

/// The proof that a target works.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proof {
    document_hash: String,
    /// The objects that the target selects.
    pub(super) objects: u64,
    read: u64,
    unread: BTreeMap<String, u64>,
    pub(super) secrets: SecretsLook,
}

impl Proof {
    pub(super) fn waited(&self) -> Waited {
        Waited { read: self.read, unread: self.unread.clone(), unread_secrets: self.secrets.unread.clone() }
    }
}

/// The proven targets by name.
#[derive(Debug, Default)]
pub(super) struct Proofs(BTreeMap<String, Proof>);

impl Proofs {
    /// Returns the proof of a target with the same text.
    pub(super) fn find(&self, target: &Target) -> Option<&Proof> {
        self.0.get(&target.name).filter(|proof| proof.document_hash == target.document_hash)
    }

    /// Keeps the proof of a target whose first polls are good. A look without a read object is none, and neither are
    /// Secrets that cannot be used.
    pub(super) fn keep(&mut self, target: &Target, polls: &FirstPolls, secrets: &SecretsLook) {
        if polls.read == 0 || !secrets.are_usable() {
            return;
        }
        let (document_hash, secrets) = (target.document_hash.clone(), secrets.clone());
        let proof = Proof { document_hash, objects: polls.objects, read: polls.read, unread: polls.unread(), secrets };
        self.0.insert(target.name.clone(), proof);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::fixtures::{parsed, proxies};

    #[test]
    fn a_target_is_proven_once() {
        let (target, edited) = (parsed(proxies::TEXT).unwrap(), parsed(&proxies::TEXT.replace("30s", "40s")).unwrap());
        let said = |severity| vec![("s".to_owned(), (severity, "m".to_owned()))];
        let unasked = vec![("s".to_owned(), "timeout".to_owned())];
        let unread = BTreeSet::from(["s of the poller".to_owned()]);
        let table = [
            (1, SecretsLook::default(), true),
            (0, SecretsLook::default(), false),
            (1, SecretsLook { said: said(Severity::Warning), ..SecretsLook::default() }, true),
            (1, SecretsLook { said: said(Severity::Error), ..SecretsLook::default() }, false),
            (1, SecretsLook { unasked, ..SecretsLook::default() }, false),
            (1, SecretsLook { unread, ..SecretsLook::default() }, true),
        ];
        for (read, secrets, expected) in table {
            let (mut proofs, mut polls) = (Proofs::default(), FirstPolls::default());
            (polls.objects, polls.read) = (2, read);
            proofs.keep(&target, &polls, &secrets);
            let proof = proofs.find(&target).map(|proof| (proof.objects, proof.secrets.clone()));
            assert_eq!(proof, expected.then(|| (2, secrets.clone())), "{read} {secrets:?}");
            assert_eq!(proofs.find(&edited), None, "{read} {secrets:?}");
        }
    }
}
