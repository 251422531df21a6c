//! `read`: how the real state is read, one file for each kind of source.

pub(crate) mod keys;
pub(crate) mod rules;

use std::sync::Arc;

use crate::cel::ValueTemplate;
use crate::compare::shape_of;
use crate::yaml::Node;
use crate::yaml::raw::{Fields, Reader};
use drift_api::object::field_paths::FieldPaths;

use self::keys::Keys;
use crate::systems::http::read::{HttpRead, read_http};
use crate::systems::kubernetes::read::{KubernetesRead, read_kubernetes};
use crate::systems::postgres::read::{PostgresRead, read_postgres};

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
#[expect(clippy::large_enum_variant, reason = "a target has one, for as long as it is in force")]
pub enum Source {
    /// An HTTP server.
    Http(HttpRead),
    /// A PostgreSQL server.
    Postgres(PostgresRead),
    /// An object of the cluster.
    Kubernetes(KubernetesRead),
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
        match &self.source {
            Source::Http(http) => Some(http),
            Source::Postgres(_) | Source::Kubernetes(_) => None,
        }
    }

    /// What entries are called, where one read answers for all objects.
    #[must_use]
    pub fn keys(&self) -> Option<&Keys> {
        match &self.source {
            Source::Http(http) => http.collection.as_ref().map(|collection| &collection.keys),
            Source::Postgres(postgres) => postgres.keys.as_ref(),
            Source::Kubernetes(_) => None,
        }
    }

    /// Whether the target's own rule tells a real answer about one object from another's.
    #[must_use]
    pub fn judges_answers(&self) -> bool {
        let rule = match &self.source {
            Source::Http(http) => &http.valid_when,
            Source::Postgres(postgres) => &postgres.rules.valid_when,
            Source::Kubernetes(kubernetes) => &kubernetes.rules.valid_when,
        };
        // Of a collection over HTTP it judges the page, not the entry.
        rule.is_some() && (self.keys().is_none() || matches!(self.source, Source::Postgres(_)))
    }

    /// What of an answer is compared.
    pub(crate) fn observed(&self) -> &ValueTemplate {
        match &self.source {
            Source::Http(http) => &http.observed,
            Source::Postgres(postgres) => &postgres.rules.observed,
            Source::Kubernetes(kubernetes) => &kubernetes.rules.observed,
        }
    }

    /// Where what is asked stands in the document.
    pub(crate) fn place(&self) -> Vec<&'static str> {
        let [kind, key] = match &self.source {
            Source::Http(http) if http.first.name.is_some() => ["http", "steps"],
            Source::Http(_) => ["http", "url"],
            Source::Postgres(_) => ["postgres", "query"],
            Source::Kubernetes(_) => ["kubernetes", "name"],
        };
        vec!["spec", "read", kind, key]
    }

    /// The fields under `self` that choose what is asked, and which entry of an answer is the object's.
    pub(crate) fn address_fields(&self) -> FieldPaths {
        let mut fields = match &self.source {
            Source::Http(http) => http.address_fields(),
            Source::Postgres(postgres) => postgres.address_fields(),
            Source::Kubernetes(kubernetes) => kubernetes.address_fields(),
        };
        self.keys().into_iter().for_each(|keys| fields.extend(&keys.fields()));
        fields
    }

    /// The fields under `self` that tell what is read: those of its templates, and of an object of the cluster the namespace where that
    /// is the object's own.
    pub(crate) fn own_fields(&self) -> FieldPaths {
        match &self.source {
            Source::Kubernetes(kubernetes) => kubernetes.own_fields(),
            _ => self.fields(),
        }
    }

    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        match &self.source {
            Source::Http(http) => http.fields(),
            Source::Postgres(postgres) => postgres.fields(),
            Source::Kubernetes(kubernetes) => kubernetes.fields(),
        }
    }
}

pub(crate) fn read_read(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Read> {
    let fields = reader.fields(node, place, &["limits", "http", "postgres", "kubernetes"])?;
    let limits = reader.or(&fields, "limits", ReadLimits::default(), read_limits);
    let source = read_source(reader, &fields);
    let read = Read { limits: limits?, source: source? };
    reader.names_mut().observed = Arc::new(shape_of(read.observed()));
    Some(read)
}

/// The one of the sources that is there.
fn read_source(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Source> {
    match ["http", "postgres", "kubernetes"].map(|key| fields.get(key)) {
        [Some(node), None, None] => read_http(reader, node, &fields.place("http")).map(Source::Http),
        [None, Some(node), None] => read_postgres(reader, node, &fields.place("postgres")).map(Source::Postgres),
        [None, None, Some(node)] => read_kubernetes(reader, node, &fields.place("kubernetes")).map(Source::Kubernetes),
        _ => reader.refuse(
            fields.at(),
            format!("{}: exactly one of http, postgres, kubernetes is needed", fields.own_place()),
        ),
    }
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
