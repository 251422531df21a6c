//! `correct.ldap`: corrections by changes of entries.

use super::read::SECRET_KEYS;
use super::step::{LdapStep, step};
use crate::cel::Scope;
use crate::secrets::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::secrets::secret_key::read_whole_secret;
use crate::spec::naming::read_unanswered_steps;
use crate::systems::actions::{Action, ActionSteps, Actions, MadeOf};
use crate::systems::section::{CorrectSection, SentBy, WithDesired};
use crate::yaml::{Node, Reader};
use drift_api::names::CREDENTIAL_CONTROLLER;
use drift_api::object::field_paths::FieldPaths;

/// Maximum steps of one correction, as for SQL statements.
const MAX_STEPS: usize = 32;

/// Corrections by changes of entries. A replacement is a deletion and a creation.
#[derive(Debug)]
pub struct LdapCorrect {
    /// The Secret with the server and the credential.
    pub secret: String,
    /// Steps of a creation. Empty if the target has no `create`.
    pub create: Vec<LdapStep>,
    /// Steps of an update.
    pub update: Vec<LdapStep>,
    /// Steps of a deletion.
    pub delete: Vec<LdapStep>,
}

impl LdapCorrect {
    /// The steps of one action.
    #[must_use]
    pub fn steps_of(&self, action: Action) -> ActionSteps<'_, LdapStep> {
        ActionSteps::of(action, [&self.create, &self.update, &self.delete, &[]])
    }

    fn steps(&self) -> impl Iterator<Item = &LdapStep> {
        self.create.iter().chain(&self.update).chain(&self.delete)
    }
}

impl CorrectSection for LdapCorrect {
    fn key(&self) -> &'static str {
        "ldap"
    }

    fn actions(&self) -> Actions {
        let [create, update, delete] = [&self.create, &self.update, &self.delete].map(|steps| !steps.is_empty());
        Actions { create, update, delete, replace: create && delete, nudge: false }
    }

    fn made_of(&self) -> Option<[Option<MadeOf>; 4]> {
        let of = |steps: &[LdapStep]| MadeOf::of(steps.iter().map(LdapStep::made_of));
        Some([of(&self.create), of(&self.update), of(&self.delete), None])
    }

    fn reads_differs(&self) -> bool {
        self.steps().any(LdapStep::reads_differs)
    }

    fn leaves(&self, key: &str) -> bool {
        !self.update.is_empty() && self.update.iter().all(|step| step.leaves(key))
    }

    fn fields(&self) -> FieldPaths {
        self.steps().map(LdapStep::fields).collect()
    }

    fn addresses(&self, with_desired: &WithDesired<'_>) -> Vec<(&'static str, FieldPaths)> {
        let of =
            |key, steps: &[LdapStep]| steps.iter().map(|step| (key, step.address(with_desired))).collect::<Vec<_>>();
        [of("update", &self.update), of("delete", &self.delete)].concat()
    }

    fn sent_by(&self, secret: &str) -> [SentBy; 3] {
        let sends = |steps: &[LdapStep]| (!steps.is_empty()).then(|| steps.iter().any(|step| step.sends(secret)));
        [
            SentBy { action: "ldap.create", is_needed: false, sends: sends(&self.create) },
            SentBy { action: "ldap.update", is_needed: true, sends: sends(&self.update) },
            SentBy::none("ldap.replace", false),
        ]
    }

    fn deletion_that_sends(&self, secret: &str) -> Option<usize> {
        self.delete.iter().position(|step| step.sends(secret))
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
    let create = reader.or(&fields, "create", Vec::new(), steps(Scope::Correction));
    let update = reader.or(&fields, "update", Vec::new(), steps(Scope::Correction));
    let delete = reader.or(&fields, "delete", Vec::new(), steps(Scope::Deletion));
    if !["create", "update", "delete"].iter().any(|key| fields.get(key).is_some()) {
        return reader.refuse(fields.at(), format!("{place}: at least one of create, update, delete is needed"));
    }
    Some(LdapCorrect { secret: secret?, create: create?, update: update?, delete: delete? })
}

fn steps(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<LdapStep>> {
    move |reader, node, place| {
        let items = reader.items(node, place, 1..=MAX_STEPS)?;
        read_unanswered_steps(reader, items, place, step(scope))
    }
}
