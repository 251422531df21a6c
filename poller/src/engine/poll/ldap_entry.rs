//! Converts the answer to a search to an observation, and an LDAP failure to the reason that people see.

use drift_api::condition::ObservedReason;
use drift_language::{LdapRead, Variables};
use drift_systems::{LdapFailure, ResultCode, SearchAnswer};
use serde_json::Value;

use crate::engine::judgement::observation::invalid;
use crate::engine::judgement::{Failure, Observation, ReadRules};

/// Returns the observation of a search about one object.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_answer(read: &LdapRead, object: &Value, answer: &SearchAnswer) -> Result<Observation, Failure> {
    match answer {
        SearchAnswer::NoBase => Ok(Observation::Absent),
        SearchAnswer::Entries(entries) => match entries.as_slice() {
            [] => Ok(Observation::Absent),
            [entry] => observe_entry(read, object, entry),
            _ => Err(invalid(&"more than one entry")),
        },
    }
}

/// Returns the observation of one object's entry.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_entry(read: &LdapRead, object: &Value, entry: &Value) -> Result<Observation, Failure> {
    ReadRules::from(&read.rules).observe(&Variables { row: Some(entry), ..Variables::of_object(object) })
}

/// Converts a failed search to a failure.
#[must_use]
pub fn failure_of(failure: &LdapFailure) -> Failure {
    match failure {
        LdapFailure::System(failure) => Failure::of_system(failure),
        LdapFailure::NotBound(code, _) | LdapFailure::Answered(code, _) => of_code(*code),
        LdapFailure::AttributeHidden(_) | LdapFailure::ContainerHidden => {
            Failure { reason: ObservedReason::Forbidden, text: failure.to_string() }
        }
    }
}

fn of_code(code: ResultCode) -> Failure {
    let reason = match code {
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS => ObservedReason::Forbidden,
        code if code.is_denial() => ObservedReason::Unauthorized,
        code if code.is_outage() => ObservedReason::ExternalUnreachable,
        ResultCode::TIME_LIMIT_EXCEEDED => return Failure::of(ObservedReason::PollTimedOut),
        _ => ObservedReason::ExternalError,
    };
    Failure::with(reason, &code.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::Source;
    use drift_systems::ServerText;
    use serde_json::json;

    fn observed(answer: &SearchAnswer) -> Result<Observation, String> {
        let text = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.example/v1, kind: Person}
  identity: "${self.metadata.name}"
  read:
    ldap:
      secretRef: {name: directory}
      base: "uid=${self.metadata.name},ou=people,dc=example,dc=org"
      attributes: [mail]
  compare: {desired: {mail: [a@example.org]}}
"#;
        let target = drift_language::fixtures::target(text);
        let Source::Ldap(read) = &target.read.source else { return Err("no search".to_owned()) };
        observe_answer(read, &json!({"metadata": {"name": "a"}}), answer).map_err(|failure| failure.text)
    }

    #[test]
    fn only_one_entry_is_an_observation() {
        let entry = json!({"dn": "uid=a", "mail": ["a@example.org"]});
        assert_eq!(observed(&SearchAnswer::NoBase), Ok(Observation::Absent));
        assert_eq!(observed(&SearchAnswer::Entries(Vec::new())), Ok(Observation::Absent));
        assert_eq!(observed(&SearchAnswer::Entries(vec![entry.clone()])), Ok(Observation::Present(entry.clone())));
        let text = "the external system's answer is not what the target describes: more than one entry";
        assert_eq!(observed(&SearchAnswer::Entries(vec![entry.clone(), entry])), Err(text.to_owned()));
    }

    #[test]
    fn each_result_code_has_its_reason() {
        use ObservedReason::{ExternalError, ExternalUnreachable, Forbidden, PollTimedOut, Unauthorized};
        let table = [
            (1, ExternalError),
            (3, PollTimedOut),
            (4, ExternalError),
            (8, Unauthorized),
            (10, ExternalError),
            (32, ExternalError),
            (48, Unauthorized),
            (49, Unauthorized),
            (50, Forbidden),
            (51, ExternalUnreachable),
            (52, ExternalUnreachable),
            (53, ExternalError),
        ];
        for (code, reason) in table {
            assert_eq!(
                failure_of(&LdapFailure::Answered(ResultCode(code), ServerText::default())).reason,
                reason,
                "{code}"
            );
            assert_eq!(
                failure_of(&LdapFailure::NotBound(ResultCode(code), ServerText::default())).reason,
                reason,
                "{code}"
            );
        }
        for hidden in [LdapFailure::AttributeHidden("member".to_owned()), LdapFailure::ContainerHidden] {
            let failure = failure_of(&hidden);
            assert_eq!((failure.reason, failure.text), (Forbidden, hidden.to_string()));
        }
        let text = failure_of(&LdapFailure::Answered(ResultCode(4), ServerText::default())).text;
        assert_eq!(text, "the external system answers with an error: LDAP result 4 sizeLimitExceeded");
    }
}
