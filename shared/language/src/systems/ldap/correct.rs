//! `correct.ldap`: corrections by changes of entries.

use super::read::SECRET_KEYS;
use super::step::LdapStep;
use crate::section::Section;
use crate::systems::actions::Actions;
use crate::systems::by_namespace::{ByNamespace, CredentialList, SecretOrList};
use crate::systems::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::systems::section::CorrectSection;
use crate::systems::steps::{Step, Steps};
use drift_api::names::CREDENTIAL_CONTROLLER;

/// Corrections by changes of entries. A replacement is a deletion and a creation.
#[derive(Debug, Section)]
pub struct LdapCorrect {
    /// The Secret, with keys as in read.ldap.
    #[key(flatten = (), of = SecretOrList)]
    pub secret: ByNamespace<String>,
    /// The steps of each action. A replacement has none of its own.
    #[key(flatten = ())]
    pub steps: Steps<LdapStep>,
}

impl CorrectSection for LdapCorrect {
    fn key(&self) -> &'static str {
        "ldap"
    }

    fn actions(&self) -> Actions {
        self.steps.actions()
    }

    fn steps(&self) -> [Vec<&dyn Step>; 4] {
        self.steps.parts()
    }

    fn credentials(&self) -> Vec<Credential> {
        self.secret.iter().map(|secret| Credential::of_key(secret, PASSWORD)).collect()
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        self.secret.iter().map(|secret| NeededSecret::with_keys(CREDENTIAL_CONTROLLER, secret, SECRET_KEYS)).collect()
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.secret.list()
    }
}
