//! `correct.postgres` and `correct.mysql`: corrections by statements to a database server.

use std::time::Duration;

use crate::cel::{DESIRED, DIFFERS, EvaluationError, Expression, Scope, Variables};
use crate::secrets::needed_secret::{Credential, NeededSecret};
use crate::secrets::secret_variable;
use crate::spec::naming::{read_step_name, read_unanswered_steps};
use crate::systems::actions::{Action, ActionSteps, Actions, MadeOf};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::{CorrectSection, SentBy, WithDesired};
use crate::systems::sql::dialect::DialectRules as _;
use crate::systems::sql::{Connection, Dialect, SqlTemplate, read_connection};
use crate::systems::step_timeout::{STEP_TIMEOUT, read_timeout};
use crate::yaml::{Content, Node, Reader, expression};
use drift_api::names::CREDENTIAL_CONTROLLER;
use drift_api::object::field_paths::FieldPaths;

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
    /// Statements of a creation. Empty if the target has no `create`.
    pub create: Vec<SqlStatement>,
    /// Statements of an update.
    pub update: Vec<SqlStatement>,
    /// Statements of a deletion.
    pub delete: Vec<SqlStatement>,
    /// Statements of a replacement. If empty, a deletion and a creation are used.
    pub replace: Vec<SqlStatement>,
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
    /// Returns true if it sends the secret of that name.
    #[must_use]
    pub fn sends(&self, secret: &str) -> bool {
        self.sql.reads(&secret_variable(secret))
    }

    /// The expressions that name the changed resource.
    pub(crate) fn changed_names(&self) -> impl Iterator<Item = &Expression> {
        self.sql.changed_names()
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

impl SqlCorrect {
    /// The steps of one action.
    #[must_use]
    pub fn steps_of(&self, action: Action) -> ActionSteps<'_, SqlStatement> {
        ActionSteps::of(action, [&self.create, &self.update, &self.delete, &self.replace])
    }

    fn statements(&self) -> impl Iterator<Item = &SqlStatement> {
        self.create.iter().chain(&self.update).chain(&self.delete).chain(&self.replace)
    }
}

impl CorrectSection for SqlCorrect {
    fn key(&self) -> &'static str {
        self.connection.dialect.key()
    }

    fn actions(&self) -> Actions {
        let [create, update, delete] = [&self.create, &self.update, &self.delete].map(|list| !list.is_empty());
        Actions { create, update, delete, replace: !self.replace.is_empty() || create && delete, nudge: false }
    }

    fn made_of(&self) -> Option<[Option<MadeOf>; 4]> {
        let made_of = |statement: &SqlStatement| (statement.sql.fields(), statement.sql.reads(DESIRED));
        let actions = [&self.create, &self.update, &self.delete, &self.replace];
        Some(actions.map(|statements| MadeOf::of(statements.iter().map(made_of))))
    }

    fn repeated_create(&self) -> RepeatedCreate {
        let names = |statement: &SqlStatement| statement.sql.begins_with(NAMING);
        if self.create.iter().all(names) { RepeatedCreate::Harmless } else { RepeatedCreate::Duplicates }
    }

    fn longest_create_step(&self) -> Option<Duration> {
        self.create.iter().map(|statement| statement.timeout.unwrap_or(STEP_TIMEOUT)).max()
    }

    fn granted(&self) -> Option<[Vec<&Expression>; 4]> {
        let actions = [&self.create, &self.update, &self.delete, &self.replace];
        Some(actions.map(|statements| statements.iter().flat_map(|statement| statement.sql.granted()).collect()))
    }

    fn reads_differs(&self) -> bool {
        self.statements().any(|statement| {
            statement.sql.reads(DIFFERS) || statement.when.as_ref().is_some_and(|when| when.reads(DIFFERS))
        })
    }

    fn leaves(&self, key: &str) -> bool {
        let is_skipped =
            |statement: &SqlStatement| statement.when.as_ref().is_some_and(|when| when.is_false_where_differs(key));
        !self.update.is_empty() && self.update.iter().all(is_skipped)
    }

    fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        for statement in self.statements() {
            fields.extend(&statement.sql.fields());
            statement.when.iter().for_each(|when| fields.extend(when.fields()));
        }
        fields
    }

    /// Each target has one connection. A second correction would only wait for it, after it was decided.
    fn most_concurrent(&self) -> u32 {
        1
    }

    fn replaces(&self) -> Result<bool, &'static str> {
        Ok(!self.replace.is_empty())
    }

    fn addresses(&self, with_desired: &WithDesired<'_>) -> Vec<(&'static str, FieldPaths)> {
        let address_of = |statement: &SqlStatement| {
            let names = statement.changed_names();
            names
                .map(|name| with_desired(name.fields().clone(), &|variable| name.reads(variable)))
                .collect::<FieldPaths>()
        };
        let actions = [("update", &self.update), ("replace", &self.replace), ("delete", &self.delete)];
        let of_action = |(place, statements): (&'static str, &Vec<SqlStatement>)| {
            statements.iter().map(|statement| (place, address_of(statement))).collect::<Vec<_>>()
        };
        actions.into_iter().flat_map(of_action).collect()
    }

    fn sent_by(&self, secret: &str) -> [SentBy; 3] {
        let sends = |statements: &[SqlStatement]| {
            (!statements.is_empty()).then(|| statements.iter().any(|statement| statement.sends(secret)))
        };
        let [create, update, replace] = self.connection.dialect.sending_actions();
        [
            SentBy { action: create, is_needed: false, sends: sends(&self.create) },
            SentBy { action: update, is_needed: true, sends: sends(&self.update) },
            SentBy { action: replace, is_needed: false, sends: sends(&self.replace) },
        ]
    }

    fn deletion_that_sends(&self, secret: &str) -> Option<usize> {
        self.delete.iter().position(|statement| statement.sends(secret))
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
    let statements = |scope| {
        move |reader: &mut Reader<'_>, node: &Node, place: &str| read_statements(reader, node, place, (dialect, scope))
    };
    let create = reader.or(&fields, "create", Vec::new(), statements(Scope::Correction));
    let update = reader.or(&fields, "update", Vec::new(), statements(Scope::Correction));
    let delete = reader.or(&fields, "delete", Vec::new(), statements(Scope::Deletion));
    let replace = reader.or(&fields, "replace", Vec::new(), statements(Scope::Correction));
    if !["create", "update", "delete", "replace"].iter().any(|key| fields.get(key).is_some()) {
        return reader
            .refuse(fields.at(), format!("{place}: at least one of create, update, delete, replace is needed"));
    }
    Some(SqlCorrect {
        connection: connection?,
        transaction: transaction?,
        create: create?,
        update: update?,
        delete: delete?,
        replace: replace?,
    })
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
