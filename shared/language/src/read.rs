//! `read`: how the real state is read, whatever the kind of system.

use std::sync::Arc;

use crate::compare::shape_of;
use crate::systems::http::read::HttpRead;
use crate::systems::keys::Keys;
use crate::systems::{SOURCES, Source, read_source};
use crate::yaml::Node;
use crate::yaml::reader::Reader;
use drift_api::object::field_paths::FieldPaths;

/// Most reads of one target under way at once.
const MAX_CONCURRENT: u32 = 1_000;
/// Most reads of one target begun per second.
const MAX_PER_SECOND: u32 = 10_000;

/// How the real state is read.
#[derive(Debug)]
pub struct Read {
    /// Of this target.
    pub limits: ReadLimits,
    /// From what.
    pub source: Source,
}

/// Limits of one target's reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Reads under way at once; default 8.
    pub concurrent: u32,
    /// Reads begun per second; default 50.
    pub per_second: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { concurrent: 8, per_second: 50 }
    }
}

impl Read {
    /// The read, where it is one by HTTP.
    #[must_use]
    pub fn http(&self) -> Option<&HttpRead> {
        if let Source::Http(http) = &self.source { Some(http) } else { None }
    }

    /// What entries are called, where one read answers for all objects.
    #[must_use]
    pub fn keys(&self) -> Option<&Keys> {
        self.source.section().keys()
    }

    /// Returns true if the target's own rule tells a real answer about one object from another's.
    #[must_use]
    pub fn judges_answers(&self) -> bool {
        self.source.section().judges_answers()
    }

    /// What one poll asks, once for each request, as people know it.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.source.section().hosts()
    }

    /// Where what is asked stands in the document.
    pub(crate) fn place(&self) -> Vec<&'static str> {
        let [kind, key] = self.source.section().place();
        vec!["spec", "read", kind, key]
    }

    /// The fields under `self` that choose what is asked, and which entry of an answer is the object's.
    pub(crate) fn address_fields(&self) -> FieldPaths {
        let mut fields = self.source.section().address_fields();
        self.keys().into_iter().for_each(|keys| fields.extend(&keys.fields()));
        fields
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
