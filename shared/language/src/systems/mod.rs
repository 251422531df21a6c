//! The sections of the document that configure reads and corrections of one kind of system, one folder for each kind.

pub(crate) mod actions;
pub(crate) mod http;
pub(crate) mod job;
pub(crate) mod keys;
pub(crate) mod kubernetes;
pub mod ldap;
pub(crate) mod nudge;
pub(crate) mod repeated_create;
pub(crate) mod section;
pub(crate) mod single_value_answers;
pub(crate) mod sql;
pub(crate) mod step_timeout;
pub(crate) mod steps;

use crate::yaml::{Fields, Node, Reader};
use http::correct::{HttpCorrect, read_http as read_http_correct};
use http::read::{HttpRead, read_http};
use job::{JobCorrect, read_job};
use kubernetes::correct::{KubernetesCorrect, read_kubernetes as read_kubernetes_correct};
use kubernetes::read::{KubernetesRead, read_kubernetes};
use ldap::correct::{LdapCorrect, read_ldap as read_ldap_correct};
use ldap::read::{LdapRead, read_ldap};
use nudge::{NudgeCorrect, read_nudge};
use section::{CorrectSection, ReadSection};
use sql::Dialect;
use sql::correct::{SqlCorrect, read_sql as read_sql_correct};
use sql::read::{SqlRead, read_sql};

/// The ways to read. A target has one.
pub(crate) const SOURCES: &[&str] = &["http", "postgres", "mysql", "ldap", "kubernetes"];
/// The ways to correct. A target has one.
pub(crate) const DESTINATIONS: &[&str] = &["http", "postgres", "mysql", "ldap", "kubernetes", "job", "nudge"];

/// The source of the observed state.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a target has one, for as long as it is active")]
pub enum Source {
    /// An HTTP server.
    Http(HttpRead),
    /// A database server.
    Sql(SqlRead),
    /// A directory.
    Ldap(LdapRead),
    /// An object of the cluster.
    Kubernetes(KubernetesRead),
}

impl Source {
    pub(crate) fn section(&self) -> &dyn ReadSection {
        match self {
            Self::Http(http) => http,
            Self::Sql(sql) => sql,
            Self::Ldap(ldap) => ldap,
            Self::Kubernetes(kubernetes) => kubernetes,
        }
    }
}

/// The way to correct drift.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a target has one")]
pub enum Destination {
    /// Requests to an HTTP server.
    Http(HttpCorrect),
    /// Statements to a database server.
    Sql(SqlCorrect),
    /// Changes of entries of a directory.
    Ldap(LdapCorrect),
    /// Jobs in the object's namespace.
    Job(JobCorrect),
    /// A manifest of a cluster object.
    Kubernetes(KubernetesCorrect),
    /// A change of the object's metadata that wakes its own operator.
    Nudge(NudgeCorrect),
}

impl Destination {
    pub(crate) fn section(&self) -> &dyn CorrectSection {
        match self {
            Self::Http(http) => http,
            Self::Sql(sql) => sql,
            Self::Ldap(ldap) => ldap,
            Self::Job(job) => job,
            Self::Kubernetes(kubernetes) => kubernetes,
            Self::Nudge(nudge) => nudge,
        }
    }
}

/// Reads the one source that is present.
pub(crate) fn read_source(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Source> {
    let mut written = SOURCES.iter().filter_map(|key| Some((*key, fields.get(key)?)));
    let (Some((key, node)), None) = (written.next(), written.next()) else {
        let message = format!("{}: exactly one of {} is needed", fields.own_place(), SOURCES.join(", "));
        return reader.refuse(fields.at(), message);
    };
    let place = fields.place(key);
    match key {
        "http" => read_http(reader, node, &place).map(Source::Http),
        "postgres" => read_sql(reader, node, &place, Dialect::Postgres).map(Source::Sql),
        "mysql" => read_sql(reader, node, &place, Dialect::Mysql).map(Source::Sql),
        "ldap" => read_ldap(reader, node, &place).map(Source::Ldap),
        _ => read_kubernetes(reader, node, &place).map(Source::Kubernetes),
    }
}

/// Reads the one destination that is present, if any.
pub(crate) fn read_destination(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<Destination>> {
    let mut written = DESTINATIONS.iter().filter_map(|key| Some((*key, fields.get(key)?)));
    let Some((key, node)) = written.next() else { return Some(None) };
    if let Some((second, node)) = written.next() {
        let message = format!("{}: only one of {} may stand here", fields.place(second), DESTINATIONS.join(", "));
        return reader.refuse(node.at, message);
    }
    let place = fields.place(key);
    read_section(reader, key, node, &place).map(Some)
}

fn read_section(reader: &mut Reader<'_>, key: &str, node: &Node, place: &str) -> Option<Destination> {
    match key {
        "http" => read_http_correct(reader, node, place).map(Destination::Http),
        "postgres" => read_sql_correct(reader, node, place, Dialect::Postgres).map(Destination::Sql),
        "mysql" => read_sql_correct(reader, node, place, Dialect::Mysql).map(Destination::Sql),
        "ldap" => read_ldap_correct(reader, node, place).map(Destination::Ldap),
        "job" => read_job(reader, node, place).map(Destination::Job),
        "kubernetes" => read_kubernetes_correct(reader, node, place).map(Destination::Kubernetes),
        _ => read_nudge(reader, node, place).map(Destination::Nudge),
    }
}
