//! `read.postgres` and `read.mysql`: read the observed state with a query to a database server.

use serde_json::Value;

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::{EvaluationError, Scope, ValueTemplate, Variables, without_expressions};
use crate::secrets::needed_secret::{Credential, NeededSecret};
use crate::systems::keys::{Keys, read_keys};
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerRules, DefaultRules, read_rules};
use crate::systems::sql::query::SqlQuery;
use crate::systems::sql::{Connection, Dialect, SqlTemplate, read_connection};
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::durations::{KIB, MIB, size};
use crate::yaml::{Node, Reader};
use drift_api::identity::ScopeId;
use drift_api::names::CREDENTIAL_POLLER;

/// Default limit of a query's result. A row about one resource has a few KiB.
const DEFAULT_MAX_BYTES: usize = MIB;

/// The allowed first words of a query. It becomes a part of one of our queries, which only works with these.
const FIRST_WORDS: &[&str] = &["select", "with", "values", "table"];

/// A read by a query.
#[derive(Debug)]
pub struct SqlRead {
    /// The database and its credential.
    pub connection: Connection,
    /// The SQL query.
    query: SqlTemplate,
    /// The keys of rows, if the query returns all objects.
    pub keys: Option<Keys>,
    /// The rules over a row. A missing row means that the resource is absent.
    pub rules: AnswerRules,
    /// Limit of the bytes that the server sends for one query. Default 1 MiB, and 8 MiB for all rows at once.
    pub max_bytes: usize,
}

impl SqlRead {
    /// Renders the query for the object's external resource.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<SqlQuery, EvaluationError> {
        self.query.query(&Variables::of_object(object))
    }
}

impl ReadSection for SqlRead {
    fn place(&self) -> [&'static str; 2] {
        [self.connection.dialect.key(), "query"]
    }

    /// The connection for display, and a fingerprint of the query.
    fn scope(&self, spec: &Node) -> String {
        let kind = self.connection.dialect.key();
        let written = ["read", kind, "query"].iter().try_fold(spec, |node, key| node.get(key));
        let query = written.and_then(Node::as_text).map(without_expressions).unwrap_or_default();
        let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{kind} {} query {}", self.connection.secret, ScopeId::of(&words))
    }

    fn hosts(&self) -> Vec<String> {
        vec![format!("the database of Secret {}", self.connection.secret)]
    }

    fn observed(&self) -> &ValueTemplate {
        &self.rules.observed
    }

    fn keys(&self) -> Option<&Keys> {
        self.keys.as_ref()
    }

    fn judges_answers(&self) -> bool {
        self.rules.valid_when.is_some()
    }

    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        visit(Role::Address, &self.query);
        visit(Role::Key, &self.keys);
        visit(Role::Answer, &self.rules);
    }

    fn credentials(&self) -> Vec<Credential> {
        vec![Credential::of_database(self.connection.dialect, &self.connection.secret)]
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        vec![NeededSecret::of_database(CREDENTIAL_POLLER, &self.connection.secret)]
    }
}

/// Default rules: a row is compared unchanged and never means a change in progress.
const DEFAULTS: DefaultRules = DefaultRules { observed: "${row}", settling_when: None };

/// Keys of the section.
const KEYS: &[&str] =
    &["connection", "query", "key", "absentWhen", "validWhen", "settlingWhen", "observed", "maxBytes"];

pub(crate) fn read_sql(reader: &mut Reader<'_>, node: &Node, place: &str, dialect: Dialect) -> Option<SqlRead> {
    let fields = reader.fields(node, place, KEYS)?;
    let connection = reader.needed(&fields, "connection", read_connection(dialect));
    let query = reader.needed(&fields, "query", |reader, node, place| read_query(reader, node, place, dialect));
    let keys =
        reader.optional(&fields, "key", |reader, node, place| read_keys(reader, node, place, "row", Scope::RowAlone));
    let rules = read_rules(reader, &fields, Scope::Row, DEFAULTS);
    let default_max_bytes = if fields.get("key").is_some() { MAX_RENDERED_BYTES } else { DEFAULT_MAX_BYTES };
    let max_bytes = reader.or(&fields, "maxBytes", default_max_bytes, |reader, node, place| {
        size(reader, node, place, KIB..=MAX_RENDERED_BYTES)
    });
    Some(SqlRead { connection: connection?, query: query?, keys: keys?, rules: rules?, max_bytes: max_bytes? })
}

fn read_query(reader: &mut Reader<'_>, node: &Node, place: &str, dialect: Dialect) -> Option<SqlTemplate> {
    let text = reader.text(node, place)?;
    let site = reader.site(place, Scope::Object);
    let query = reader.compiled(node, &site, SqlTemplate::parse(dialect, text, &site))?;
    if !query.begins_with(FIRST_WORDS) {
        return reader.refuse(node.at, format!("{place}: a query begins with SELECT, WITH, VALUES or TABLE"));
    }
    if dialect == Dialect::Mysql && query.names("into") {
        return reader.refuse(node.at, format!("{place}: a query writes no file and no variable: leave INTO out"));
    }
    Some(query)
}
