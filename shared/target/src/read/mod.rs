//! `read`: how the real state is read, one file for each kind of source.

mod collection;
mod http;
mod step;

use crate::raw::Reader;
use crate::yaml::Node;
use drift_model::field_paths::FieldPaths;

pub use self::collection::{Collection, NextPage};
pub use self::http::HttpRead;
pub use self::step::{Absence, Format, ReadStep};

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

/// From what the real state is read.
#[derive(Debug)]
pub enum Source {
    /// An HTTP server.
    Http(HttpRead),
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
    /// The fields under `self` that its templates read.
    pub(super) fn fields(&self) -> FieldPaths {
        match &self.source {
            Source::Http(http) => http.fields(),
        }
    }
}

pub(super) fn read_read(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Read> {
    let fields = reader.fields(node, place, &["limits", "http"])?;
    let limits = reader.or(&fields, "limits", ReadLimits::default(), read_limits);
    let http = reader.required(&fields, "http");
    let source = http.and_then(|node| http::read_http(reader, node, &fields.place("http")).map(Source::Http));
    Some(Read { limits: limits?, source: source? })
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
