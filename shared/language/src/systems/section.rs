//! The interface of a kind of system, as the rest of the language uses its sections.
//!
//! A new kind implements it in its own folder, and is listed in `systems/mod.rs`.

use std::time::Duration;

use drift_api::object::field_paths::FieldPaths;

use crate::cel::{DIFFERS, Expression, Expressions as _, ITEM, STEPS, ValueTemplate};
use crate::spec::objects::{ClusterKind, ObjectSelection};
use crate::systems::actions::{Action, ActionSteps, Actions};
use crate::systems::by_namespace::CredentialList;
use crate::systems::keys::Keys;
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::steps::{ACTIONS, Role, Step, VisitParts, expressions_of};
use crate::yaml::{Node, Reader};

/// The section of `read` for one kind of system.
pub(crate) trait ReadSection {
    /// The place of the request in the document, below `spec.read`.
    fn place(&self) -> [&'static str; 2];

    /// Returns the name of the scope in which an identity is unique, built from the section as written in `spec`.
    fn scope(&self, spec: &Node) -> String;

    /// The hosts of one poll for display, one for each request.
    fn hosts(&self) -> Vec<String>;

    /// The mapping to the observed state.
    fn observed(&self) -> &ValueTemplate;

    /// The API version and the kind, if it reads an object of the cluster.
    fn cluster_kind(&self) -> Option<&ClusterKind> {
        None
    }

    /// The keys of entries, if one read returns all objects.
    fn keys(&self) -> Option<&Keys> {
        None
    }

    /// Returns true if a rule of the target checks that a response is about the right object.
    fn judges_answers(&self) -> bool;

    /// Visits its parts.
    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>);

    /// The fields under `self` that its templates read.
    fn fields(&self) -> FieldPaths {
        self.fields_of(&|_| true)
    }

    /// The fields under `self` in the parts with these roles.
    fn fields_of(&self, is_wanted: &dyn Fn(Role) -> bool) -> FieldPaths {
        expressions_of(|visit| self.visit_parts(visit), is_wanted).fields()
    }

    /// The fields under `self` that select what is read, if these are not all fields.
    fn own_fields(&self) -> FieldPaths {
        self.fields()
    }

    /// The credentials of its requests.
    fn credentials(&self) -> Vec<Credential> {
        Vec::new()
    }

    /// The Secrets of the poller.
    fn needed_secrets(&self) -> Vec<NeededSecret> {
        Vec::new()
    }

    /// The list of credentials, if an object's namespace chooses its own.
    fn credential_list(&self) -> Option<&CredentialList> {
        None
    }

    /// Rejects a credential that would be sent unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}
}

/// The section of `correct` for one kind of system.
pub(crate) trait CorrectSection {
    /// Its key in the document.
    fn key(&self) -> &'static str;

    /// The actions that have steps.
    fn actions(&self) -> Actions;

    /// Its steps, for each of [`ACTIONS`].
    fn steps(&self) -> [Vec<&dyn Step>; 4] {
        Default::default()
    }

    /// Visits the parts of its steps, or its own.
    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        self.steps().into_iter().flatten().for_each(|step| step.visit_parts(visit));
    }

    /// Returns true if it writes to the external system. A nudge leaves that to the operator that it wakes.
    fn writes_outside(&self) -> bool {
        true
    }

    /// Returns true if a Job does the work.
    fn runs_jobs(&self) -> bool {
        false
    }

    /// Default of `settle`, the delay before the next poll.
    fn default_settle(&self) -> Duration {
        Duration::ZERO
    }

    /// Maximum concurrent corrections, regardless of `limits`.
    fn most_concurrent(&self) -> u32 {
        u32::MAX
    }

    /// Returns true if no request of an update carries a key of the desired state, which is made of these fields,
    /// although one carries others.
    fn lacks(&self, _key: &str, _fields: &FieldPaths) -> bool {
        false
    }

    /// The effect of its create if that is sent again.
    fn repeated_create(&self) -> RepeatedCreate {
        RepeatedCreate::Harmless
    }

    /// The longest deadline of a step that creates; `None` for the default.
    fn longest_create_step(&self) -> Option<Duration> {
        None
    }

    /// The fields of the status that look-ups of a create store before its first write.
    fn stored_by_look_up(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The fields of the status that its steps store.
    fn stored(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns true if a replacement has its own steps.
    ///
    /// # Errors
    /// Returns the reason why `change: replace` is impossible.
    fn replaces(&self) -> Result<bool, &'static str> {
        let [.., replace] = self.steps();
        Ok(!replace.is_empty())
    }

    /// The host to which one of these secrets would go unencrypted.
    fn sends_unencrypted(&self, _secrets: &[&str]) -> Option<&str> {
        None
    }

    /// The credentials of its requests, without those of `secrets`.
    fn credentials(&self) -> Vec<Credential> {
        Vec::new()
    }

    /// The Secrets of the controller, without those of `secrets`.
    fn needed_secrets(&self) -> Vec<NeededSecret> {
        Vec::new()
    }

    /// The list of credentials, if an object's namespace chooses its own.
    fn credential_list(&self) -> Option<&CredentialList> {
        None
    }

    /// Rejects a credential that would be sent unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}

    /// Rejects a section that does not fit the objects, or their read.
    fn check_fit(&self, _reader: &mut Reader<'_>, _spec: &Node, _objects: &ObjectSelection, _read: &dyn ReadSection) {}
}

/// Questions about the steps and the expressions in them. Their answers follow from the walk alone.
impl dyn CorrectSection + '_ {
    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        expressions_of(|visit| self.visit_parts(visit), |_| true).fields()
    }

    /// Returns true if a template reads which fields differ.
    pub(crate) fn reads_differs(&self) -> bool {
        expressions_of(|visit| self.visit_parts(visit), |_| true).reads(DIFFERS)
    }

    /// Returns true if an update certainly sends nothing when this is the only key of the desired state that differs.
    pub(crate) fn leaves(&self, key: &str) -> bool {
        let [_, update, ..] = self.steps();
        let is_skipped = |step: &&dyn Step| {
            let conditions = step.expressions(&|role| role == Role::When);
            step.looks_up() || conditions.iter().any(|when| when.is_false_where_differs(key))
        };
        !update.is_empty() && update.iter().all(is_skipped)
    }

    /// The inputs of the requests of each of [`ACTIONS`] that has steps.
    pub(crate) fn made_of(&self) -> impl Iterator<Item = (&'static str, Vec<&Expression>)> {
        let actions = ACTIONS.into_iter().zip(self.steps()).filter(|(_, steps)| !steps.is_empty());
        actions.map(|(action, steps)| {
            (action, steps.into_iter().flat_map(|step| step.expressions(&Role::is_of_request)).collect())
        })
    }

    /// The expressions in the address of each step that changes an existing resource, by the key of its action. The
    /// address of a look-up counts where that of a later step uses its response.
    pub(crate) fn addresses(&self) -> Vec<(&'static str, Vec<&Expression>)> {
        let [_, update, delete, replace] = self.steps();
        let mut found = Vec::new();
        for (action, steps) in [("update", update), ("replace", replace), ("delete", delete)] {
            let are_led = steps.iter().any(|step| !step.looks_up() && is_led(*step, action));
            let leading = steps.into_iter().filter(|step| are_led || !step.looks_up());
            found.extend(leading.map(|step| (action, address_of(step, action))));
        }
        found
    }

    /// The names that the GRANTs of each of [`ACTIONS`] grant.
    pub(crate) fn granted(&self) -> [Vec<&Expression>; 4] {
        self.steps().map(|steps| steps.iter().flat_map(|step| step.expressions(&|role| role == Role::Grant)).collect())
    }

    /// Returns true if a step that an action sends contains this secret.
    pub(crate) fn sends(&self, action: Action, secret: &str) -> bool {
        let steps = self.steps();
        let sent = ActionSteps::of(action, steps.each_ref().map(Vec::as_slice));
        sent.iter().any(|step| step.sends(secret))
    }

    /// Returns true if a write of each action sends this secret. `None` if the action has no steps.
    pub(crate) fn writes_secret(&self, secret: &str) -> [Option<bool>; 4] {
        let sends = |step: &&dyn Step| !step.looks_up() && step.sends(secret);
        self.steps().map(|steps| (!steps.is_empty()).then(|| steps.iter().any(sends)))
    }

    /// Index of the first step of a deletion that sends this secret.
    pub(crate) fn deletion_that_sends(&self, secret: &str) -> Option<usize> {
        let [_, _, delete, _] = self.steps();
        delete.iter().position(|step| step.sends(secret))
    }
}

/// The expressions that select the resource when an action sends this step.
fn address_of<'s>(step: &'s dyn Step, action: &str) -> Vec<&'s Expression> {
    step.expressions(&|role| step.is_address(action, role))
}

/// Returns true if responses decide the address of a step, also by the items of its list.
fn is_led(step: &dyn Step, action: &str) -> bool {
    let address = address_of(step, action);
    let lists_answers = step.expressions(&|role| role == Role::List).reads(STEPS);
    address.reads(STEPS) || lists_answers && address.reads(ITEM)
}
