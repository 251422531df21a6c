//! Converts the rows of a query to an observation, and a database failure to the reason that people see.

use drift_api::condition::ObservedReason;
use drift_language::{SqlRead, Variables};
use drift_systems::{SqlFailure, SqlState};
use serde_json::Value;

use crate::engine::judgement::observation::invalid;
use crate::engine::judgement::{Failure, Observation, ReadRules};

/// Row limit for the read of one object: a second row shows that the result is ambiguous.
pub const ENOUGH_ROWS: usize = 2;

/// Returns the observation of a query about one object.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_one(read: &SqlRead, object: &Value, rows: &[Value]) -> Result<Observation, Failure> {
    match rows {
        [] => Ok(Observation::Absent),
        [row] => observe_row(read, object, row),
        _ => Err(invalid(&"more than one row")),
    }
}

/// Returns the observation of one object's row.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_row(read: &SqlRead, object: &Value, row: &Value) -> Result<Observation, Failure> {
    ReadRules::from(&read.rules).observe(&Variables { row: Some(row), ..Variables::of_object(object) })
}

/// Converts a failed query to a failure.
#[must_use]
pub fn failure_of(failure: &SqlFailure) -> Failure {
    match failure {
        SqlFailure::System(failure) => Failure::of_system(failure),
        SqlFailure::LoginUnsupported(why) => Failure::with(ObservedReason::CredentialUnusable, why),
        SqlFailure::Answered(state, _) => of_state(*state),
    }
}

fn of_state(state: SqlState) -> Failure {
    let reason = match state.class() {
        _ if state.is_refused_login() => ObservedReason::Unauthorized,
        _ if state.is_denial() => ObservedReason::Forbidden,
        _ if state.is_timeout() => return Failure::of(ObservedReason::PollTimedOut),
        "08" => ObservedReason::ExternalUnreachable,
        _ if state.is_shutdown() => ObservedReason::ExternalUnreachable,
        _ => ObservedReason::ExternalError,
    };
    Failure::with(reason, &format!("SQLSTATE {state}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::{Source, Target};
    use drift_systems::SystemFailure;
    use serde_json::json;

    fn target(rules: &str) -> Target {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Role}}
  identity: "${{self.metadata.name}}"
  read:
    postgres:
      connection: {{secretRef: {{name: db}}}}
      query: SELECT login, state FROM roles WHERE name = ${{self.metadata.name}}
      {rules}
  compare: {{desired: {{login: true}}}}
"#
        );
        drift_language::fixtures::target(&text)
    }

    fn observed(rules: &str, rows: &[Value]) -> Result<Observation, String> {
        let target = target(rules);
        let Source::Sql(read) = &target.read.source else { return Err("no query".to_owned()) };
        observe_one(read, &json!({"metadata": {"name": "a"}}), rows).map_err(|failure| failure.text)
    }

    #[test]
    fn the_rules_are_asked_in_their_order() {
        let row = json!({"login": true, "state": "x"});
        let present = Ok(Observation::Present(row.clone()));
        let invalid =
            |text: &str| Err(format!("the external system's answer is not what the target describes: {text}"));
        let rows = [row.clone()];
        assert_eq!(observed("", &[]), Ok(Observation::Absent));
        assert_eq!(observed("", &rows), present);
        assert_eq!(observed("", &[row.clone(), row]), invalid("more than one row"));
        let all = "absentWhen: \"${row.state == 'x'}\"\n      validWhen: \"${false}\"";
        assert_eq!(observed(all, &rows), Ok(Observation::Absent));
        let both = "validWhen: \"${row.state == 'y'}\"\n      settlingWhen: \"${true}\"";
        assert_eq!(observed(both, &rows), invalid("validWhen is false"));
        let settling = "the external system is still working on an earlier change".to_owned();
        assert_eq!(observed("settlingWhen: \"${row.state == 'x'}\"", &rows), Err(settling));
        let mapped = Ok(Observation::Present(json!({"login": "x"})));
        assert_eq!(observed("observed: {login: \"${row.state}\"}", &rows), mapped);
        let missing = invalid("read.postgres.observed.login: no field `none`");
        assert_eq!(observed("observed: {login: \"${row.none}\"}", &rows), missing);
    }

    #[test]
    fn another_login_is_told_as_such() {
        let failure = failure_of(&SqlFailure::LoginUnsupported("the server asks for another way to log in"));
        assert_eq!(failure.reason, ObservedReason::CredentialUnusable);
        assert_eq!(failure.text, "the poller's credential cannot be used: the server asks for another way to log in");
    }

    #[test]
    fn each_class_has_its_reason() {
        use ObservedReason::{ExternalError, ExternalUnreachable, Forbidden, PollTimedOut, Unauthorized};
        for (code, reason) in [
            ("28P01", Unauthorized),
            ("28000", Unauthorized),
            ("42501", Forbidden),
            ("08006", ExternalUnreachable),
            ("57P01", ExternalUnreachable),
            ("57P03", ExternalUnreachable),
            ("57014", PollTimedOut),
            ("42P01", ExternalError),
            ("25006", ExternalError),
            ("53300", ExternalError),
            ("57000", ExternalError),
        ] {
            assert_eq!(of_state(SqlState::parse(code).unwrap()).reason, reason, "{code}");
        }
        let text = of_state(SqlState::parse("42P01").unwrap()).text;
        assert_eq!(text, "the external system answers with an error: SQLSTATE 42P01");
        let unusable = failure_of(&SqlFailure::System(SystemFailure::CredentialUnavailable(
            "Secret db has no key host".to_owned(),
        )));
        assert_eq!(unusable.reason, ObservedReason::CredentialUnusable);
        assert_eq!(unusable.text, "the poller's credential cannot be used: Secret db has no key host");
    }
}
