//! `read.postgres` and `read.mysql`: read the observed state with a query to a database server.

use serde_json::Value;

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::{EvaluationError, Scope, ValueTemplate, Variables, without_expressions};
use crate::section::{Leaf as _, Section, section, size, text};
use crate::systems::by_namespace::{ByNamespace, CredentialList};
use crate::systems::keys::{Keys, RowKeys};
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerContext, AnswerRules};
use crate::systems::sql::query::SqlQuery;
use crate::systems::sql::{Connection, Dialect, SqlTemplate, connections};
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::durations::{KIB, MIB};
use crate::yaml::{Fields, Node, Reader};
use drift_api::identity::ScopeId;
use drift_api::names::CREDENTIAL_POLLER;

/// Default limit of a query's result. A row about one resource has a few KiB.
const DEFAULT_MAX_BYTES: usize = MIB;

/// The allowed first words of a query. It becomes a part of one of our queries, which only works with these.
const FIRST_WORDS: &[&str] = &["select", "with", "values", "table"];

/// A read by a query.
#[derive(Debug, Section)]
#[section(context = Dialect)]
pub struct SqlRead {
    /// The database and the role.
    #[key(connections(context))]
    pub connection: ByNamespace<Connection>,
    /// One SELECT. Each ${…} over self is a bound parameter.
    #[key(text(query(context)))]
    query: SqlTemplate,
    /// One query serves all objects. A text is the name of a row.
    #[key(section::<RowKeys>(()).or_short("row"), name = "key")]
    pub keys: Option<Keys>,
    /// The rules over a row. A missing row means that the resource is absent.
    #[key(flatten = ROW)]
    pub rules: AnswerRules,
    /// Cap on the result. 1KiB to 8MiB, default 1MiB, with key 8MiB.
    #[key(size(KIB..=MAX_RENDERED_BYTES), default = default_max_bytes(fields))]
    pub max_bytes: usize,
}

impl SqlRead {
    /// Renders the query for the object's external resource.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<SqlQuery, EvaluationError> {
        self.query.query(self.connection.of_object(object).cloned(), &Variables::of_object(object))
    }
}

impl ReadSection for SqlRead {
    fn place(&self) -> [&'static str; 2] {
        [self.connection.any().dialect.key(), "query"]
    }

    /// The connection for display, and a fingerprint of the query.
    fn scope(&self, spec: &Node) -> String {
        let kind = self.connection.any().dialect.key();
        let written = ["read", kind, "query"].iter().try_fold(spec, |node, key| node.get(key));
        let query = written.and_then(Node::as_text).map(without_expressions).unwrap_or_default();
        let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = self.connection.list().map_or(self.connection.any().secret.as_str(), |_| "by namespace");
        format!("{kind} {named} query {}", ScopeId::of(&words))
    }

    fn hosts(&self) -> Vec<String> {
        let secrets: Vec<_> = self.connection.iter().map(|connection| connection.secret.as_str()).collect();
        vec![format!("the database of Secret {}", secrets.join(" or "))]
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
        let of = |connection: &Connection| Credential::of_database(connection.dialect, &connection.secret);
        self.connection.iter().map(of).collect()
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let of = |connection: &Connection| NeededSecret::of_database(CREDENTIAL_POLLER, &connection.secret);
        self.connection.iter().map(of).collect()
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.connection.list()
    }
}

/// The scope and the default rules of a row. It is compared unchanged and never means a change in progress.
const ROW: AnswerContext = AnswerContext { scope: Scope::Row, observed: "${row}", settling_when: None };

fn default_max_bytes(fields: &Fields<'_>) -> usize {
    if fields.get("key").is_some() { MAX_RENDERED_BYTES } else { DEFAULT_MAX_BYTES }
}

/// Returns a reader of queries in this dialect.
fn query(dialect: Dialect) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<SqlTemplate> {
    move |reader, node, place| {
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
}
