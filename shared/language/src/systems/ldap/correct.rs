//! `correct.ldap`: corrections by changes of entries.

use super::read::SECRET_KEYS;
use super::step::{LdapStep, step};
use crate::cel::Scope;
use crate::secrets::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::secrets::secret_key::read_whole_secret;
use crate::spec::naming::read_unanswered_steps;
use crate::systems::actions::Actions;
use crate::systems::section::CorrectSection;
use crate::systems::steps::{Step, Steps, read_actions};
use crate::yaml::{Node, Reader};
use drift_api::names::CREDENTIAL_CONTROLLER;

/// Maximum steps of one correction, as for SQL statements.
const MAX_STEPS: usize = 32;

/// Corrections by changes of entries. A replacement is a deletion and a creation.
#[derive(Debug)]
pub struct LdapCorrect {
    /// The Secret with the server and the credential.
    pub secret: String,
    /// The steps of each action. A replacement has none of its own.
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

pub(crate) fn read_ldap(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<LdapCorrect> {
    let fields = reader.fields(node, place, &["secretRef", "create", "update", "delete"])?;
    let secret = reader.needed(&fields, "secretRef", read_whole_secret);
    let steps = read_actions(reader, &fields, &["create", "update", "delete"], |reader, node, place, action| {
        let scope = if action == "delete" { Scope::Deletion } else { Scope::Correction };
        let items = reader.items(node, place, 1..=MAX_STEPS)?;
        read_unanswered_steps(reader, items, place, step(scope))
    });
    Some(LdapCorrect { secret: secret?, steps: steps? })
}
