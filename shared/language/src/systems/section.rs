//! The interface of a kind of system: everything that the rest of the language asks of its sections.
//!
//! A further kind implements it in its own folder, and is named in `systems/mod.rs`.

use std::time::Duration;

use drift_api::object::field_paths::FieldPaths;

use crate::cel::{Expression, ValueTemplate};
use crate::secrets::needed_secret::Credential;
use crate::secrets::needed_secret::NeededSecret;
use crate::spec::objects::ObjectSelection;
use crate::systems::Source;
use crate::systems::actions::{Actions, MadeOf};
use crate::systems::keys::Keys;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// The section of `read` that belongs to one kind of system.
pub(crate) trait ReadSection {
    /// Where what is asked stands in the document, below `spec.read`.
    fn place(&self) -> [&'static str; 2];

    /// The name of the scope in which an identity names one resource, made of the section as it is written in `spec`.
    fn scope(&self, spec: &Node) -> String;

    /// What one poll asks, once for each request, as people know it.
    fn hosts(&self) -> Vec<String>;

    /// What of an answer is compared.
    fn observed(&self) -> &ValueTemplate;

    /// What entries are called, where one read answers for all objects.
    fn keys(&self) -> Option<&Keys> {
        None
    }

    /// Returns true if the target's own rule tells a real answer about one object from another's.
    fn judges_answers(&self) -> bool;

    /// The fields under `self` that its templates read.
    fn fields(&self) -> FieldPaths;

    /// The fields under `self` that choose what is asked.
    fn address_fields(&self) -> FieldPaths;

    /// The fields under `self` that tell what is read, where these are not all of them.
    fn own_fields(&self) -> FieldPaths {
        self.fields()
    }

    /// The credentials that its requests come with.
    fn credentials(&self) -> Vec<Credential> {
        Vec::new()
    }

    /// The Secrets of the poller.
    fn needed_secrets(&self) -> Vec<NeededSecret> {
        Vec::new()
    }

    /// Refuses a credential that would go unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}
}

/// The section of `correct` that belongs to one kind of system.
pub(crate) trait CorrectSection {
    /// Its key in the document.
    fn key(&self) -> &'static str;

    /// Which actions it has steps for.
    fn actions(&self) -> Actions;

    /// Returns true if a step depends on which fields differ.
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

    /// Default of `settle`.
    fn default_settle(&self) -> Duration {
        Duration::ZERO
    }

    /// Most corrections at once, whatever `limits` says.
    fn most_concurrent(&self) -> u32 {
        u32::MAX
    }

    /// Returns true if an update certainly sends nothing where this is the only key of the desired state that differs.
    fn leaves(&self, _key: &str) -> bool {
        false
    }

    /// Returns true if no request of an update carries a key of the desired state, which is made of these fields, though one carries others.
    fn lacks(&self, _key: &str, _fields: &FieldPaths) -> bool {
        false
    }

    /// What the requests of each of [`ACTIONS`](super::actions::ACTIONS) are made of; `None` where they are bound to their object by
    /// other means.
    fn made_of(&self) -> Option<[Option<MadeOf>; 4]> {
        None
    }

    /// The fields of the status that its steps store.
    fn stored(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether it has steps of its own for a replacement.
    ///
    /// # Errors
    /// Why `change: replace` can never be done.
    fn replaces(&self) -> Result<bool, &'static str> {
        Ok(false)
    }

    /// The fields under `self` that stand in an address, by the key of the action. `with_desired` adds those of the keys of the
    /// desired state that are read.
    fn addresses(&self, _with_desired: &WithDesired<'_>) -> Vec<(&'static str, FieldPaths)> {
        Vec::new()
    }

    /// The names that the GRANTs of each action give away.
    fn granted(&self) -> Option<[Vec<&Expression>; 4]> {
        None
    }

    /// The actions that make or change a resource.
    fn sent_by(&self, secret: &str) -> [SentBy; 3];

    /// The first step of a deletion that sends this secret.
    fn deletion_that_sends(&self, _secret: &str) -> Option<usize> {
        None
    }

    /// The host to which one of these secrets would go unencrypted.
    fn sends_unencrypted(&self, _secrets: &[&str]) -> Option<&str> {
        None
    }

    /// The credentials that its requests come with, without those of `secrets`.
    fn credentials(&self) -> Vec<Credential> {
        Vec::new()
    }

    /// The Secrets of the controller, without those of `secrets`.
    fn needed_secrets(&self) -> Vec<NeededSecret> {
        Vec::new()
    }

    /// Refuses a credential that would go unencrypted.
    fn check_credentials(&self, _reader: &mut Reader<'_>, _spec: &Node) {}

    /// Refuses what does not fit the objects, or what is read of them.
    fn check_fit(&self, _reader: &mut Reader<'_>, _spec: &Node, _objects: Option<&ObjectSelection>, _read: &Source) {}
}

/// Adds to fields those of the keys of the desired state that are read.
pub(crate) type WithDesired<'a> = dyn Fn(FieldPaths, &dyn Fn(&str) -> bool) -> FieldPaths + 'a;

/// Whether an action that makes or changes a resource sends a secret.
pub(crate) struct SentBy {
    /// The key of the action, with that of its section.
    pub(crate) action: &'static str,
    /// A change needs it.
    pub(crate) is_needed: bool,
    /// A write of it sends the secret; `None` where the target does not have the action.
    pub(crate) sends: Option<bool>,
}

impl SentBy {
    /// An action that sends no secret.
    pub(crate) const fn none(action: &'static str, is_needed: bool) -> Self {
        Self { action, is_needed, sends: None }
    }
}
