//! `correct.postgres` and `correct.mysql`: corrections by statements to a database server.

use std::time::Duration;

use crate::cel::{EvaluationError, Expression, Expressions, Scope, Variables};
use crate::secrets::needed_secret::{Credential, NeededSecret};
use crate::spec::naming::{read_step_name, read_unanswered_steps};
use crate::systems::actions::Actions;
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::CorrectSection;
use crate::systems::sql::dialect::DialectRules as _;
use crate::systems::sql::{Connection, Dialect, SqlTemplate, read_connection};
use crate::systems::step_timeout::{STEP_TIMEOUT, read_timeout};
use crate::systems::steps::{ACTIONS, Role, Step, Steps, read_actions};
use crate::yaml::{Content, Node, Reader, expression};
use drift_api::names::CREDENTIAL_CONTROLLER;

/// Maximum statements of one correction. It is one attempt, not a program.
const MAX_STATEMENTS: usize = 32;

/// First words of statements that name what they make or change, so that a repeated one makes nothing second.
const NAMING: &[&str] = &["ALTER", "COMMENT", "CREATE", "DELETE", "DROP", "GRANT", "REVOKE", "SET", "UPDATE"];

/// Corrections by SQL statements.
#[derive(Debug)]
pub struct SqlCorrect {
    /// The database and its credential.
    pub connection: Connection,
    /// True if the statements of an action run in one transaction. Default true for PostgreSQL. Never true for MySQL,
    /// which commits before and after each statement that defines an account or a table.
    pub transaction: bool,
    /// The statements of each action.
    pub steps: Steps<SqlStatement>,
}

/// One statement of a correction.
#[derive(Debug)]
pub struct SqlStatement {
    /// Its name in messages.
    pub name: Option<String>,
    /// The server's time limit for it. `None` uses the default.
    pub timeout: Option<Duration>,
    sql: SqlTemplate,
    when: Option<Expression>,
}

impl SqlStatement {
    /// Renders the text to send. `None` if it is skipped.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object, or yields a value that the server does not accept.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Option<String>, EvaluationError> {
        match &self.when {
            Some(when) if !when.evaluate_bool(variables)? => Ok(None),
            _ => self.sql.statement(variables).map(Some),
        }
    }
}

impl Step for SqlStatement {
    fn visit_parts<'e>(&'e self, visit: &mut dyn FnMut(Role, &'e dyn Expressions)) {
        visit(Role::When, &self.when);
        self.sql.visit_parts(visit);
    }
}

impl CorrectSection for SqlCorrect {
    fn key(&self) -> &'static str {
        self.connection.dialect.key()
    }

    fn actions(&self) -> Actions {
        self.steps.actions()
    }

    fn steps(&self) -> [Vec<&dyn Step>; 4] {
        self.steps.parts()
    }

    fn repeated_create(&self) -> RepeatedCreate {
        let names = |statement: &SqlStatement| statement.sql.begins_with(NAMING);
        if self.steps.create.iter().all(names) { RepeatedCreate::Harmless } else { RepeatedCreate::Duplicates }
    }

    fn longest_create_step(&self) -> Option<Duration> {
        self.steps.create.iter().map(|statement| statement.timeout.unwrap_or(STEP_TIMEOUT)).max()
    }

    /// Each target has one connection. A second correction would only wait for it, after it was decided.
    fn most_concurrent(&self) -> u32 {
        1
    }

    fn credentials(&self) -> Vec<Credential> {
        vec![Credential::of_database(self.connection.dialect, &self.connection.secret)]
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        vec![NeededSecret::of_database(CREDENTIAL_CONTROLLER, &self.connection.secret)]
    }
}

/// Keys of the section. MySQL has no `transaction`.
const KEYS: &[&str] = &["connection", "create", "update", "delete", "replace", "transaction"];

/// Words of a SET that would change where a literal of MySQL ends.
const READING: &[&str] = &["sql_mode", "names", "charset", "character", "character_set_client"];

/// The dialect of statements, and the scope of their expressions.
type Wording = (Dialect, Scope);

pub(crate) fn read_sql(reader: &mut Reader<'_>, node: &Node, place: &str, dialect: Dialect) -> Option<SqlCorrect> {
    let has_transactions = dialect == Dialect::Postgres;
    let fields = reader.fields(node, place, &KEYS[..KEYS.len() - usize::from(!has_transactions)])?;
    let connection = reader.needed(&fields, "connection", read_connection(dialect));
    let transaction = reader.or(&fields, "transaction", has_transactions, Reader::truth);
    let steps = read_actions(reader, &fields, &ACTIONS, |reader, node, place, action| {
        let scope = if action == "delete" { Scope::Deletion } else { Scope::Correction };
        read_statements(reader, node, place, (dialect, scope))
    });
    Some(SqlCorrect { connection: connection?, transaction: transaction?, steps: steps? })
}

fn read_statements(reader: &mut Reader<'_>, node: &Node, place: &str, wording: Wording) -> Option<Vec<SqlStatement>> {
    let items = reader.items(node, place, 1..=MAX_STATEMENTS)?;
    read_unanswered_steps(reader, items, place, |reader, item, place| read_statement(reader, item, place, wording))
}

/// Reads a text, or a map with its name and its condition.
fn read_statement(reader: &mut Reader<'_>, node: &Node, place: &str, wording: Wording) -> Option<SqlStatement> {
    if matches!(node.content, Content::Text(_)) {
        let sql = read_text(reader, node, place, wording)?;
        return Some(SqlStatement { name: None, timeout: None, sql, when: None });
    }
    let fields = reader.fields(node, place, &["name", "sql", "when", "timeout"])?;
    let name = reader.optional(&fields, "name", read_step_name);
    let sql = reader.needed(&fields, "sql", |reader, node, place| read_text(reader, node, place, wording));
    let when = reader.optional(&fields, "when", expression(wording.1));
    let timeout = read_timeout(reader, &fields);
    Some(SqlStatement { name: name?, timeout: timeout?, sql: sql?, when: when? })
}

fn read_text(reader: &mut Reader<'_>, node: &Node, place: &str, (dialect, scope): Wording) -> Option<SqlTemplate> {
    let text = reader.text(node, place)?;
    let site = reader.site(place, scope).sending();
    let sql = reader.compiled(node, &site, SqlTemplate::parse(dialect, text, &site))?;
    if sql.begins_with(dialect.own_words()) {
        return reader.refuse(node.at, format!("{place}: the controller begins and ends the transaction itself"));
    }
    if dialect == Dialect::Mysql && sql.begins_with(&["set"]) && READING.iter().any(|word| sql.names(word)) {
        return reader.refuse(node.at, format!("{place}: the controller sets how the server reads texts"));
    }
    Some(sql)
}
