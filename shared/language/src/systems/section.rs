//! The interface of a kind of system, as the rest of the language uses its sections.
//!
//! A new kind implements it in its own folder, and is listed in `systems/mod.rs`.

use std::sync::Arc;
use std::time::Duration;

use drift_api::object::field_paths::FieldPaths;

use crate::cel::{Expression, ValueTemplate};
use crate::secrets::needed_secret::{Credential, NeededSecret};
use crate::spec::objects::ObjectSelection;
use crate::systems::actions::{Actions, MadeOf};
use crate::systems::keys::Keys;
use crate::systems::repeated_create::RepeatedCreate;
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

    /// The fields under `self` that decide without a request that there is no resource, or which entry is the object's.
    fn presence_fields(&self) -> FieldPaths {
        FieldPaths::default()
    }

    /// The API version and the kind, if it reads an object of the cluster.
    fn cluster_kind(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        None
    }

    /// The keys of entries, if one read returns all objects.
    fn keys(&self) -> Option<&Keys> {
        None
    }

    /// Returns true if a rule of the target checks that a response is about the right object.
    fn judges_answers(&self) -> bool;

    /// The fields under `self` that its templates read.
    fn fields(&self) -> FieldPaths;

    /// The fields under `self` that select the request.
    fn address_fields(&self) -> FieldPaths;

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

    /// Rejects a credential that would be sent unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}
}

/// The section of `correct` for one kind of system.
pub(crate) trait CorrectSection {
    /// Its key in the document.
    fn key(&self) -> &'static str;

    /// The actions that have steps.
    fn actions(&self) -> Actions;

    /// Returns true if a step reads which fields differ.
    fn reads_differs(&self) -> bool;

    /// The fields under `self` that its templates read.
    fn fields(&self) -> FieldPaths;

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

    /// Returns true if an update certainly sends nothing when this is the only key of the desired state that differs.
    fn leaves(&self, _key: &str) -> bool {
        false
    }

    /// Returns true if no request of an update carries a key of the desired state, which is made of these fields,
    /// although one carries others.
    fn lacks(&self, _key: &str, _fields: &FieldPaths) -> bool {
        false
    }

    /// The inputs of the requests of each of [`ACTIONS`](super::actions::ACTIONS). `None` if they are bound to their
    /// object by other means.
    fn made_of(&self) -> Option<[Option<MadeOf>; 4]> {
        None
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
        Ok(false)
    }

    /// The fields under `self` in addresses, by the key of the action. `with_desired` adds the fields of the desired
    /// keys that are read.
    fn addresses(&self, _with_desired: &WithDesired<'_>) -> Vec<(&'static str, FieldPaths)> {
        Vec::new()
    }

    /// The names that the GRANTs of each action grant.
    fn granted(&self) -> Option<[Vec<&Expression>; 4]> {
        None
    }

    /// The actions that create or change a resource, each with its use of this secret.
    fn sent_by(&self, secret: &str) -> [SentBy; 3];

    /// Index of the first step of a deletion that sends this secret.
    fn deletion_that_sends(&self, _secret: &str) -> Option<usize> {
        None
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

    /// Rejects a credential that would be sent unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}

    /// Rejects a section that does not fit the objects, or their read.
    fn check_fit(
        &self,
        _reader: &mut Reader<'_>,
        _spec: &Node,
        _objects: Option<&ObjectSelection>,
        _read: &dyn ReadSection,
    ) {
    }
}

/// Adds the fields of those keys of the desired state that are read.
pub(crate) type WithDesired<'a> = dyn Fn(FieldPaths, &dyn Fn(&str) -> bool) -> FieldPaths + 'a;

/// The use of a secret by an action that creates or changes a resource.
pub(crate) struct SentBy {
    /// The key of the action, with that of its section.
    pub(crate) action: &'static str,
    /// True if a changed secret needs this action.
    pub(crate) is_needed: bool,
    /// True if a write of it sends the secret. `None` if the target does not have the action.
    pub(crate) sends: Option<bool>,
}

impl SentBy {
    /// An action that sends no secret.
    pub(crate) const fn none(action: &'static str, is_needed: bool) -> Self {
        Self { action, is_needed, sends: None }
    }
}
