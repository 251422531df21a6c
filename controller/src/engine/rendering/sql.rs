//! The SQL statements of one correction, all rendered before the first is sent, and the meaning of their results.
//!
//! In a transaction the statements are one atomic step. Without a transaction, each is a step of its own.

use std::sync::Arc;

use drift_api::collections::shared_text::SharedText;
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::{SqlCorrect, Step as _, Target, Variables};
use drift_systems::{RefusalReason, SqlFailure, SqlState, StatementFailure, WriteStatement};
use jiff::Timestamp;

use crate::engine::corrections::{Action, Code, Correction, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::rendering::desired::Aim;
use crate::engine::rendering::http::names_sent;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::steps::{Draft, RenderedStep, RenderedSteps};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Statements of one correction.
#[derive(Debug)]
pub struct Statements {
    rendered: RenderedSteps<WriteStatement>,
    transaction: bool,
    /// Number of leading statements that delete the resource.
    deletion: usize,
    /// Namespace of the object.
    namespace: Option<SharedText>,
}

impl Statements {
    /// Creates the unsent statements of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object, or the target has no such statements.
    pub fn new(
        target: &Target,
        sql: &SqlCorrect,
        (object, correction): (&LeanObject, &Correction),
        secrets: ObjectSecrets,
    ) -> Result<Self, Unrenderable> {
        let written = sql.steps.sent_for(correction.action);
        if written.is_empty() {
            return Err(Unrenderable::new(format!("correct has no {}", correction.action.as_str())));
        }
        let aim = Aim::of(
            target,
            object,
            correction,
            correction.action == Action::Replace && !written.deletion().is_empty(),
        )?;
        let (view, values) = (object.view.open(), secrets.values());
        let variables = Variables { secrets: Some(&values), ..aim.variables(&view) };
        let drafts = written.iter().map(|statement| Draft {
            name: statement.name.as_deref(),
            sends: names_sent(target, |name| statement.sends(name)),
            content: statement
                .render(&variables)
                .map(|text| Some(WriteStatement { text: text?, timeout: statement.timeout })),
        });
        let rendered = RenderedSteps::of(drafts, secrets)?;
        Ok(Self {
            rendered,
            transaction: sql.transaction,
            deletion: written.deletion().len(),
            namespace: object.id.namespace.clone(),
        })
    }

    /// Returns the plan of the steps.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let RenderedSteps { steps, secrets } = &self.rendered;
        let count = if self.transaction { 1 } else { steps.len() };
        let planned = |step: usize| PlannedStep {
            label: steps.get(step).map(|statement| statement.label.clone()).filter(|_| !self.transaction),
            sends: self.sent(step).flat_map(|statement| statement.sends.iter().cloned()).collect(),
            ..PlannedStep::default()
        };
        // A transaction only deletes if every statement after the deletion is skipped.
        let creates = steps.iter().skip(self.deletion).any(|statement| statement.content.is_some());
        let deletion = if self.transaction { usize::from(self.deletion > 0 && !creates) } else { self.deletion };
        Plan { steps: (0..count).map(planned).collect(), deletion, secrets: secrets.marks() }
    }

    /// Returns the statements to send for this step; empty if all of them are skipped.
    #[must_use]
    pub fn to_send(&self, step: usize) -> Vec<WriteStatement> {
        self.sent(step).filter_map(|statement| statement.content.clone()).collect()
    }

    fn sent(&self, step: usize) -> impl Iterator<Item = &RenderedStep<WriteStatement>> {
        let steps = &self.rendered.steps;
        let range = if self.transaction { 0..steps.len() } else { step..step + 1 };
        steps.get(range).unwrap_or_default().iter().filter(|statement| statement.content.is_some())
    }

    /// Judges a failure of this step, whose reason is what the database says. `is_sent` is true if a statement of the step
    /// may have been sent. Returns the name of the failed statement and the outcome.
    #[must_use]
    pub fn judge(&self, step: usize, failure: &StatementFailure, is_sent: bool) -> (Option<Arc<str>>, StepOutcome) {
        let at = self.sent(step).nth(failure.position).map(|statement| statement.label.clone());
        let label = at.filter(|_| self.rendered.steps.len() > 1);
        let reason = match &failure.failure {
            SqlFailure::Answered(_, said) => RefusalReason::of_server(said, &self.rendered.secrets.kept_secret()),
            _ => None,
        };
        let outcome = judge(&failure.failure).with_reason(reason);
        (label, if is_sent { outcome } else { outcome.before_sending() })
    }
}

impl Requests for Statements {
    fn plan(&self) -> Plan {
        self.plan()
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        Ok(Some(self.to_send(index)).filter(|statements| !statements.is_empty()).map(Request::Statements))
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn check_host(&self, host: &str) -> Result<(), CredentialError> {
        self.rendered.check_host(host)
    }

    fn judge(&mut self, index: usize, reply: Reply, _wall: Timestamp) -> StepAnswer {
        let Reply::Statements { ended, is_sent } = reply else { return reply.unanswered() };
        let Err(failure) = ended else { return StepAnswer::of(StepOutcome::Accepted) };
        let (label, outcome) = Self::judge(self, index, &failure, is_sent);
        StepAnswer { label, ..StepAnswer::of(outcome) }
    }
}

/// A refused statement did nothing: it is rolled back as a whole, together with its transaction.
fn judge(failure: &SqlFailure) -> StepOutcome {
    match failure {
        SqlFailure::System(failure) => StepOutcome::Indefinite(failure.into()),
        SqlFailure::LoginUnsupported(cause) => {
            StepOutcome::Indefinite(Uncertainty::caused_by(Doubt::LoginUnsupported, *cause))
        }
        SqlFailure::Answered(state, _) => match doubt_of(*state) {
            Some(why) => StepOutcome::Indefinite(Uncertainty::answered(why, Code::SqlState(*state))),
            None => {
                let refusal = Refusal { code: Code::SqlState(*state), because: None };
                match state.is_duplicate() {
                    true => StepOutcome::AlreadyExists(refusal),
                    false => StepOutcome::Refused { refusal, did_nothing: true },
                }
            }
        },
    }
}

/// Returns the doubt for a SQLSTATE that may be temporary: a retry may succeed without an edit.
fn doubt_of(state: SqlState) -> Option<Doubt> {
    Some(match state.class() {
        _ if state.is_refused_login() => Doubt::CredentialRefused,
        _ if state.is_denial() => Doubt::Forbidden,
        "08" => Doubt::NoAnswer,
        _ if state.is_shutdown() => Doubt::NoAnswer,
        _ if state.is_lock_timeout() || state.is_timeout() => Doubt::TimedOut,
        "40" | "53" | "57" | "58" => Doubt::ServerError,
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::fixtures::correction;
    use drift_language::Destination;
    use drift_systems::{ServerText, SystemFailure};
    use serde_json::json;
    use std::time::Duration;

    fn statements(correct: &str, action: Action) -> Result<Statements, Unrenderable> {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Role}}
  identity: "${{self.spec.name}}"
  read: {{postgres: {{connection: {{secretRef: {{name: r}}}}, query: "SELECT 1 AS login"}}}}
  compare: {{desired: {{login: "${{self.spec.login}}"}}}}
  correct:
    mode: Correct
    postgres:
      connection: {{secretRef: {{name: w}}}}
      {correct}
"#
        );
        let target = drift_language::fixtures::target(&text);
        let Some(Destination::Sql(postgres)) = &target.correct.destination else {
            return Err(Unrenderable::new("no statements"));
        };
        let mut object = crate::engine::fixtures::Scene::new().object;
        object.view = drift_api::object::object_view::ObjectView::of(
            &json!({"spec": {"name": "a\"; DROP ROLE b", "login": true}}),
        );
        let correction = Correction { action, ..correction(action) };
        Statements::new(&target, postgres, (&object, &correction), ObjectSecrets::default())
    }

    fn texts(statements: &Statements, step: usize) -> Vec<String> {
        statements.to_send(step).into_iter().map(|statement| statement.text).collect()
    }

    fn state(code: &str) -> SqlFailure {
        SqlFailure::Answered(SqlState::parse(code).unwrap(), ServerText::from("it says why"))
    }

    const CREATE: &str = r#"create:
      - "CREATE ROLE ${ident(self.spec.name)} ${sql(desired.login ? 'LOGIN' : 'NOLOGIN')}"
      - {name: never, sql: SELECT 1, when: "${!desired.login}"}
      - {name: comment, sql: "COMMENT ON ROLE ${ident(self.spec.name)} IS ${self.spec.name};"}"#;

    #[test]
    fn a_transaction_is_one_step() {
        let found = statements(CREATE, Action::Create).unwrap();
        assert_eq!(found.plan().steps, [PlannedStep::default()]);
        let name = r#""a""; DROP ROLE b""#;
        let expected = [format!("CREATE ROLE {name} LOGIN"), format!("COMMENT ON ROLE {name} IS E'a\"; DROP ROLE b'")];
        assert_eq!(texts(&found, 0), expected);
        let (label, outcome) = found.judge(0, &StatementFailure { position: 1, failure: state("42704") }, true);
        assert_eq!(label.as_deref(), Some("comment"));
        assert!(matches!(outcome, StepOutcome::Refused { did_nothing: true, .. }), "{outcome:?}");
        assert_eq!(outcome.reason().map(RefusalReason::as_str), Some("it says why"));
        let lost = StatementFailure {
            position: 2,
            failure: SqlFailure::System(SystemFailure::Unreachable("lost at its end")),
        };
        assert_eq!(
            found.judge(0, &lost, true),
            (None, StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)))
        );
    }

    #[test]
    fn without_a_transaction_each_is_a_step() {
        let found = statements(&format!("transaction: false\n      {CREATE}"), Action::Create).unwrap();
        let labels: Vec<_> = found.plan().steps.into_iter().filter_map(|step| step.label).collect();
        assert_eq!(labels.iter().map(|label| &**label).collect::<Vec<_>>(), ["1", "never", "comment"]);
        assert_eq!([0, 1, 2].map(|step| found.to_send(step).len()), [1, 0, 1]);
    }

    #[test]
    fn what_a_replacement_deletes_makes_nothing() {
        let replaced = |create: &str, transaction: bool| {
            let correct =
                format!("transaction: {transaction}\n      delete: [DROP ROLE a, SELECT 1]\n      create: [{create}]");
            let plan = statements(&correct, Action::Replace).unwrap().plan();
            (plan.steps.len(), plan.deletion)
        };
        let skipped = r#"{sql: CREATE ROLE a, when: "${!desired.login}"}"#;
        assert_eq!(replaced("CREATE ROLE a", false), (3, 2));
        assert_eq!(replaced(skipped, false), (3, 2));
        assert_eq!(replaced("CREATE ROLE a", true), (1, 0));
        assert_eq!(replaced(skipped, true), (1, 1), "the transaction only deletes");
        let deleted = statements("delete: [DROP ROLE a]", Action::Delete).unwrap().plan();
        assert_eq!((deleted.steps.len(), deleted.deletion), (1, 1));
    }

    #[test]
    fn a_statement_keeps_its_own_time_limit() {
        let create = "create: [SELECT 1, {sql: SELECT 2, timeout: 5m}]";
        let limits: Vec<_> =
            statements(create, Action::Create).unwrap().to_send(0).iter().map(|statement| statement.timeout).collect();
        assert_eq!(limits, [None, Some(Duration::from_mins(5))]);
    }

    #[test]
    fn what_cannot_be_rendered_is_told_with_its_step() {
        let error = statements("create: [{name: first, sql: 'SELECT ${self.spec.none}'}]", Action::Create).unwrap_err();
        assert_eq!(error.label.as_deref(), Some("first"));
        assert!(statements(CREATE, Action::Delete).is_err());
    }

    #[test]
    fn another_login_is_no_missing_secret() {
        let why = Doubt::LoginUnsupported;
        let StepOutcome::Indefinite(uncertainty) = judge(&SqlFailure::LoginUnsupported("the server asks for more"))
        else {
            panic!("it is no answer to a statement")
        };
        assert_eq!(uncertainty.why, why);
        assert_eq!(uncertainty.to_string(), "the controller's credential cannot be used: the server asks for more");
        assert!(why.sent_nothing() && !why.asked_nobody(), "no statement was sent, but the server was asked");
    }

    #[test]
    fn a_statement_that_was_not_sent_is_in_no_doubt() {
        use Doubt::{CredentialRefused, NoAnswer, NotConnected, ServerError};
        let created = statements(CREATE, Action::Create).unwrap();
        let table = [
            (SqlFailure::System(SystemFailure::Unreachable("lost")), NoAnswer, NotConnected),
            (SqlFailure::System(SystemFailure::Unreadable("too large")), NoAnswer, NotConnected),
            (state("08004"), NoAnswer, NotConnected),
            (state("53300"), ServerError, NotConnected),
            (state("57P03"), NoAnswer, NotConnected),
            (state("28P01"), CredentialRefused, CredentialRefused),
        ];
        for (failure, sent, unsent) in table {
            let judged = |is_sent| {
                let ended = StatementFailure { position: 0, failure: failure.clone() };
                match created.judge(0, &ended, is_sent).1 {
                    StepOutcome::Indefinite(uncertainty) => Some(uncertainty.why),
                    _ => None,
                }
            };
            assert_eq!((judged(true), judged(false)), (Some(sent), Some(unsent)), "{failure}");
        }
        let refused = StatementFailure { position: 0, failure: state("3D000") };
        assert!(matches!(created.judge(0, &refused, false).1, StepOutcome::Refused { .. }), "no such database");
    }

    #[test]
    fn a_refused_login_has_the_words_of_the_server() {
        let said = |state: SqlState, text: &str| {
            let failure = SqlFailure::Answered(state, ServerText::from(text));
            let (_, outcome) =
                statements(CREATE, Action::Create).unwrap().judge(0, &StatementFailure { position: 0, failure }, false);
            match outcome {
                StepOutcome::Indefinite(uncertainty) => uncertainty.to_string(),
                outcome => format!("{outcome:?}"),
            }
        };
        let refuses = "the external system refuses the controller's credential";
        assert_eq!(
            said(SqlState::parse("28P01").unwrap(), "password authentication failed for user \"drift\""),
            format!("{refuses} (SQLSTATE 28P01): password authentication failed for user \"drift\"")
        );
        assert_eq!(
            said(SqlState::parse_mysql("28000", 1045).unwrap(), "Access denied for user 'd'@'h' (using password: YES)"),
            format!("{refuses} (SQLSTATE 28000 (error 1045)): Access denied for user 'd'@'h' (using password: YES)")
        );
        assert_eq!(
            said(SqlState::parse("42501").unwrap(), "permission denied to create role"),
            "the external system does not allow the controller's account this write (SQLSTATE 42501): permission denied \
             to create role"
        );
    }

    #[test]
    fn only_what_lasts_is_a_refusal() {
        for code in ["08006", "28P01", "40001", "40P01", "42501", "53300", "55P03", "57014", "57P01", "58030"] {
            assert!(matches!(judge(&state(code)), StepOutcome::Indefinite(_)), "{code}");
        }
        for code in ["42704", "23503", "25006", "22001", "42601", "0A000", "2BP01", "55006", "P0001"] {
            assert!(matches!(judge(&state(code)), StepOutcome::Refused { did_nothing: true, .. }), "{code}");
        }
        for code in ["23505", "42710", "42P04"] {
            assert!(matches!(judge(&state(code)), StepOutcome::AlreadyExists(_)), "{code}");
        }
    }
}
