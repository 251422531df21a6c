//! `correct.ldap`: corrections by changes of entries.

use super::read::SECRET_KEYS;
use super::step::LdapStep;
use crate::secrets::secret_key::whole_secret;
use crate::section::Section;
use crate::systems::actions::Actions;
use crate::systems::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::systems::section::CorrectSection;
use crate::systems::steps::{Step, Steps};
use drift_api::names::CREDENTIAL_CONTROLLER;

/// Corrections by changes of entries. A replacement is a deletion and a creation.
#[derive(Debug, Section)]
pub struct LdapCorrect {
    /// A Secret in the programs' namespace, with keys as in read.ldap.
    #[key(whole_secret(), name = "secretRef")]
    pub secret: String,
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
        vec![Credential::of_key(&self.secret, PASSWORD)]
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        vec![NeededSecret::with_keys(CREDENTIAL_CONTROLLER, &self.secret, SECRET_KEYS)]
    }
}
