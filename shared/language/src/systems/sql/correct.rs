//! `correct.postgres` and `correct.mysql`: corrections by statements to a database server.

use std::time::Duration;

use crate::cel::{EvaluationError, Expression, Expressions, Scope, Variables};
use crate::section::{Leaf, Section, or_text, section, text};
use crate::spec::naming::{step_name, unanswered_steps};
use crate::systems::actions::Actions;
use crate::systems::by_namespace::{ByNamespace, CredentialList};
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::CorrectSection;
use crate::systems::sql::dialect::DialectRules as _;
use crate::systems::sql::{Connection, Dialect, SqlTemplate, connections};
use crate::systems::step_timeout::{STEP_TIMEOUT, step_timeout};
use crate::systems::steps::{ACTIONS, Role, Step, StepSection, Steps};
use crate::yaml::{Node, Reader, expression};
use drift_api::names::CREDENTIAL_CONTROLLER;

/// Maximum statements of one correction. It is one attempt, not a program.
const MAX_STATEMENTS: usize = 32;

/// First words of statements that name what they make or change, so that a repeated one makes nothing second.
const NAMING: &[&str] = &["ALTER", "COMMENT", "CREATE", "DELETE", "DROP", "GRANT", "REVOKE", "SET", "UPDATE"];

/// Corrections by SQL statements.
#[derive(Debug, Section)]
#[section(context = Dialect)]
pub struct SqlCorrect {
    /// The database and the role.
    #[key(connections(context))]
    pub connection: ByNamespace<Connection>,
    /// All statements or none. Default: true.
    // Never for MySQL, which commits before and after each statement that defines an account or a table.
    #[key(only = has_transactions(context), default = has_transactions(context))]
    pub transaction: bool,
    /// The statements of each action.
    #[key(flatten = context)]
    pub steps: Steps<SqlStatement>,
}

/// One statement of a correction.
#[derive(Debug, Section)]
#[section(context = Wording)]
pub struct SqlStatement {
    /// The name in messages. Default: the position.
    #[key(step_name())]
    pub name: Option<String>,
    /// One statement. ${…} becomes a literal, ${ident(…)} a name.
    #[key(text(statement(context)))]
    sql: SqlTemplate,
    /// Skipped if this ${…} is false.
    #[key(text(expression(context.1)))]
    when: Option<Expression>,
    /// Time on the server. 1ms to 10m, default 8s.
    #[key(step_timeout())]
    pub timeout: Option<Duration>,
}

impl SqlStatement {
    /// Returns the statement with the same text for each value.
    #[must_use]
    pub fn with_placeholder(&self, placeholder: &str) -> String {
        self.sql.with_placeholder(placeholder)
    }

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
        self.connection.any().dialect.key()
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
        let of = |connection: &Connection| Credential::of_database(connection.dialect, &connection.secret);
        self.connection.iter().map(of).collect()
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let of = |connection: &Connection| NeededSecret::of_database(CREDENTIAL_CONTROLLER, &connection.secret);
        self.connection.iter().map(of).collect()
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.connection.list()
    }
}

/// Words of a SET that would change where a literal of MySQL ends.
const READING: &[&str] = &["sql_mode", "names", "charset", "character", "character_set_client"];

/// The dialect of statements, and the scope of their expressions.
type Wording = (Dialect, Scope);

const fn has_transactions(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Postgres)
}

impl StepSection for SqlStatement {
    type Context = Dialect;

    const ACTIONS: &'static [&'static str] = &ACTIONS;

    /// Each item is a text, or a map with its name and its condition.
    fn steps(action: &'static str, dialect: Dialect) -> impl Leaf<Value = Vec<Self>> {
        let scope = if action == "delete" { Scope::Deletion } else { Scope::Correction };
        let wording = (dialect, scope);
        let item = or_text(section::<Self>(wording), move |reader: &mut Reader<'_>, node: &Node, place: &str| {
            let sql = statement(wording)(reader, node, place)?;
            Some(Self { name: None, timeout: None, sql, when: None })
        });
        unanswered_steps(1..=MAX_STATEMENTS, item)
    }
}

/// Returns a reader of statements.
fn statement((dialect, scope): Wording) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<SqlTemplate> {
    move |reader, node, place| {
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
}
