//! The sections of the document that configure reads and corrections of one kind of system, one folder for each kind.

pub(crate) mod actions;
pub(crate) mod by_namespace;
pub(crate) mod http;
pub(crate) mod job;
pub(crate) mod keys;
pub(crate) mod kubernetes;
pub mod ldap;
pub(crate) mod needed_secret;
pub(crate) mod nudge;
pub(crate) mod repeated_create;
pub(crate) mod section;
pub(crate) mod single_value_answers;
pub(crate) mod sql;
pub(crate) mod step_timeout;
pub(crate) mod steps;

use crate::section::{Section, section};
use http::correct::{HttpCorrect, WrittenCorrect};
use http::read::HttpRead;
use job::JobCorrect;
use kubernetes::correct::KubernetesCorrect;
use kubernetes::read::KubernetesRead;
use ldap::correct::LdapCorrect;
use ldap::read::LdapRead;
use nudge::{NudgeCorrect, WrittenNudge};
use section::{CorrectSection, ReadSection};
use sql::Dialect;
use sql::correct::SqlCorrect;
use sql::read::SqlRead;

/// The source of the observed state.
#[derive(Debug, Section)]
#[expect(clippy::large_enum_variant, reason = "a target has one, for as long as it is active")]
pub enum Source {
    /// Reads over HTTP.
    Http(HttpRead),
    /// A database server.
    #[key(section::<SqlRead>(Dialect::Postgres), name = "postgres", doc = "Reads with a query.")]
    #[key(section::<SqlRead>(Dialect::Mysql), name = "mysql", doc = "Reads with a query to MySQL or MariaDB.")]
    Sql(SqlRead),
    /// Reads one entry of a directory.
    Ldap(LdapRead),
    /// Reads another object of the cluster.
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
#[derive(Debug, Section)]
#[section(optional)]
#[expect(clippy::large_enum_variant, reason = "a target has one")]
pub enum Destination {
    /// Corrects over HTTP.
    #[key(section::<WrittenCorrect>(()))]
    Http(HttpCorrect),
    /// Statements to a database server.
    #[key(section::<SqlCorrect>(Dialect::Postgres), name = "postgres", doc = "Corrects with SQL statements.")]
    #[key(
        section::<SqlCorrect>(Dialect::Mysql),
        name = "mysql",
        doc = "Corrects with SQL statements to MySQL or MariaDB, without a transaction."
    )]
    Sql(SqlCorrect),
    /// Corrects entries of a directory.
    Ldap(LdapCorrect),
    /// Writes the object that read.kubernetes reads.
    Kubernetes(KubernetesCorrect),
    /// Corrects with Jobs in the object's namespace.
    Job(JobCorrect),
    /// Wakes the operator of the object.
    #[key(section::<WrittenNudge>(()))]
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
