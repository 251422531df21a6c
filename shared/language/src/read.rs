//! `read`: how the observed state is read, for every kind of system.

use std::sync::Arc;

use crate::compare::shape_of;
use crate::systems::http::read::HttpRead;
use crate::systems::keys::Keys;
use crate::systems::steps::Role;
use crate::systems::{SOURCES, Source, read_source};
use crate::yaml::{Node, Reader};
use drift_api::object::field_paths::FieldPaths;

/// Maximum concurrent reads of one target.
const MAX_CONCURRENT: u32 = 1_000;
/// Maximum reads started per second for one target.
const MAX_PER_SECOND: u32 = 10_000;

/// The read of the observed state.
#[derive(Debug)]
pub struct Read {
    /// Limits of this target.
    pub limits: ReadLimits,
    /// The source of the state.
    pub source: Source,
}

/// Limits of one target's reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Concurrent reads; default 8.
    pub concurrent: u32,
    /// Reads started per second; default 50.
    pub per_second: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { concurrent: 8, per_second: 50 }
    }
}

impl Read {
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

pub(crate) fn read_read(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Read> {
    let fields = reader.fields(node, place, &[&["limits"], SOURCES].concat())?;
    let limits = reader.or(&fields, "limits", ReadLimits::default(), read_limits);
    let source = read_source(reader, &fields);
    let read = Read { limits: limits?, source: source? };
    reader.names_mut().observed = Arc::new(shape_of(read.source.section().observed()));
    Some(read)
}

fn read_limits(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<ReadLimits> {
    let fields = reader.fields(node, place, &["concurrent", "perSecond"])?;
    let default = ReadLimits::default();
    let concurrent = reader.or(&fields, "concurrent", default.concurrent, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_CONCURRENT)
    });
    let per_second = reader.or(&fields, "perSecond", default.per_second, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_PER_SECOND)
    });
    Some(ReadLimits { concurrent: concurrent?, per_second: per_second? })
}
