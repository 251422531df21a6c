//! `read`: how the observed state is read, for every kind of system.

use std::sync::Arc;

use crate::compare::shape_of;
use crate::section::{Section, whole};
use crate::systems::Source;
use crate::systems::http::read::HttpRead;
use crate::systems::keys::Keys;
use crate::systems::steps::Role;
use crate::yaml::{Fields, Reader};
use drift_api::object::field_paths::FieldPaths;

/// Maximum concurrent reads of one target.
const MAX_CONCURRENT: u32 = 1_000;
/// Maximum reads started per second for one target.
const MAX_PER_SECOND: u32 = 10_000;

/// The read of the observed state.
#[derive(Debug, Section)]
#[section(check = Self::declare_shape)]
pub struct Read {
    /// Limits of all polls of the target.
    #[key(default)]
    pub limits: ReadLimits,
    /// The source of the state.
    #[key(flatten = ())]
    pub source: Source,
}

/// Limits of one target's reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Section)]
pub struct ReadLimits {
    /// Polls at the same time. Default: 8.
    #[key(whole(1..=MAX_CONCURRENT), default = Self::default().concurrent)]
    pub concurrent: u32,
    /// Polls that begin per second. Default: 50.
    #[key(whole(1..=MAX_PER_SECOND), default = Self::default().per_second)]
    pub per_second: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { concurrent: 8, per_second: 50 }
    }
}

impl Read {
    /// Templates that are read later know the shape of the observed state.
    fn declare_shape(self, reader: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<Self> {
        reader.names_mut().observed = Arc::new(shape_of(self.source.section().observed()));
        Some(self)
    }

    /// Returns the HTTP read, if it is one.
    #[must_use]
    pub fn http(&self) -> Option<&HttpRead> {
        if let Source::Http(http) = &self.source { Some(http) } else { None }
    }

    /// Returns the keys of entries, if one read returns all objects.
    #[must_use]
    pub fn keys(&self) -> Option<&Keys> {
        self.source.section().keys()
    }

    /// Returns true if a rule of the target checks that a response is about the right object.
    #[must_use]
    pub fn judges_answers(&self) -> bool {
        self.source.section().judges_answers()
    }

    /// The hosts of one poll for display, one for each request.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.source.section().hosts()
    }

    /// The place of the read in the document.
    pub(crate) fn place(&self) -> Vec<&'static str> {
        let [kind, key] = self.source.section().place();
        vec!["spec", "read", kind, key]
    }

    /// The fields under `self` that select the request, and the object's entry of the response.
    pub(crate) fn address_fields(&self) -> FieldPaths {
        self.source.section().fields_of(&|role| matches!(role, Role::Address | Role::Key))
    }

    /// The fields under `self` by which a poll finds the resource of an object, or decides without a request that there
    /// is none.
    pub(crate) fn selecting_fields(&self) -> FieldPaths {
        self.source.section().fields_of(&|role| matches!(role, Role::Address | Role::Key | Role::Presence))
    }
}
