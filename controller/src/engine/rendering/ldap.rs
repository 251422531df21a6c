//! The changes of one correction of a directory, all rendered before the first is sent, and the meaning of their
//! results. Each change is one atomic step.

use drift_api::collections::shared_text::SharedText;
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::ldap::Change;
use drift_language::{LdapCorrect, SecretValues, Step as _, Target, Variables};
use drift_systems::{LdapFailure, RefusalReason, ResultCode};
use jiff::Timestamp;

use crate::engine::corrections::{Action, Code, Correction, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::rendering::desired::Aim;
use crate::engine::rendering::http::names_sent;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::steps::{Draft, RenderedStep, RenderedSteps};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Changes of one correction.
#[derive(Debug)]
pub struct Changes {
    rendered: RenderedSteps<Change>,
    /// Number of leading steps that delete the resource.
    deletion: usize,
    /// Namespace of the object.
    namespace: Option<SharedText>,
}

impl Changes {
    /// Creates the unsent changes of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object, or the target has no such steps.
    pub fn new(
        target: &Target,
        ldap: &LdapCorrect,
        (object, correction): (&LeanObject, &Correction),
        secrets: ObjectSecrets,
    ) -> Result<Self, Unrenderable> {
        let written = ldap.steps.sent_for(correction.action);
        if written.is_empty() {
            return Err(Unrenderable::new(format!("correct has no {}", correction.action.as_str())));
        }
        let aim = Aim::of(target, object, correction, correction.action == Action::Replace)?;
        let (view, values) = (object.view.open(), secrets.values());
        let variables = Variables { secrets: Some(&values), ..aim.variables(&view) };
        let drafts = written.iter().map(|step| Draft {
            name: step.name.as_deref(),
            sends: names_sent(target, |name| step.sends(name)),
            content: step.render(&variables),
        });
        let rendered = RenderedSteps::of(drafts, secrets)?;
        Ok(Self { rendered, deletion: written.deletion().len(), namespace: object.id.namespace.clone() })
    }

    /// Returns the plan of the steps.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let RenderedSteps { steps, secrets } = &self.rendered;
        let planned = |step: &RenderedStep<_>| PlannedStep {
            label: (steps.len() > 1).then(|| step.label.clone()),
            sends: step.sends.clone(),
            ..PlannedStep::default()
        };
        Plan { steps: steps.iter().map(planned).collect(), deletion: self.deletion, secrets: secrets.marks() }
    }

    /// Returns the change of this step. `None` if it is skipped.
    #[must_use]
    pub fn to_send(&self, step: usize) -> Option<Change> {
        self.rendered.steps.get(step)?.content.clone()
    }

    fn kept_secret(&self) -> SecretValues {
        self.rendered.secrets.kept_secret()
    }

    /// Judges a failure of this step. The reason is what the directory says. `is_sent` is true if the change may have been
    /// sent.
    #[must_use]
    pub fn judge(&self, step: usize, failure: &LdapFailure, is_sent: bool) -> StepOutcome {
        let deletes_entry = self.to_send(step).as_ref().is_some_and(Change::is_deletion);
        match failure {
            LdapFailure::Answered(ResultCode::NO_SUCH_OBJECT, _) if deletes_entry => StepOutcome::NotThere,
            LdapFailure::Answered(ResultCode::NO_SUCH_OBJECT | ResultCode::NO_SUCH_ATTRIBUTE, _)
                if step < self.deletion =>
            {
                StepOutcome::NotThere
            }
            failure => {
                let reason = failure.said().and_then(|said| RefusalReason::of_server(said, &self.kept_secret()));
                let outcome = judge(failure).with_reason(reason);
                if is_sent { outcome } else { outcome.before_sending() }
            }
        }
    }
}

impl Requests for Changes {
    fn plan(&self) -> Plan {
        self.plan()
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        Ok(self.to_send(index).map(Request::Change))
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn check_host(&self, host: &str) -> Result<(), CredentialError> {
        self.rendered.check_host(host)
    }

    fn judge(&mut self, index: usize, reply: Reply, _wall: Timestamp) -> StepAnswer {
        let Reply::Change { ended, is_sent } = reply else { return reply.unanswered() };
        let Err(failure) = ended else { return StepAnswer::of(StepOutcome::Accepted) };
        StepAnswer::of(Self::judge(self, index, &failure, is_sent))
    }
}

/// A rejected change did nothing, because a server executes a change as a whole or not at all.
fn judge(failure: &LdapFailure) -> StepOutcome {
    let answered = |why, code| StepOutcome::Indefinite(Uncertainty::answered(why, Code::Ldap(code)));
    match failure {
        // Only a search is answered by something hidden.
        LdapFailure::AttributeHidden(_) | LdapFailure::ContainerHidden => {
            StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer))
        }
        LdapFailure::System(failure) => StepOutcome::Indefinite(failure.into()),
        LdapFailure::NotBound(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, _)
        | LdapFailure::Answered(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, _) => {
            answered(Doubt::Forbidden, ResultCode::INSUFFICIENT_ACCESS_RIGHTS)
        }
        LdapFailure::NotBound(code, _) | LdapFailure::Answered(code, _) if code.is_denial() => {
            answered(Doubt::CredentialRefused, *code)
        }
        LdapFailure::Answered(ResultCode::TIME_LIMIT_EXCEEDED, _) => {
            answered(Doubt::TimedOut, ResultCode::TIME_LIMIT_EXCEEDED)
        }
        LdapFailure::NotBound(code, _) => answered(Doubt::ServerError, *code),
        LdapFailure::Answered(code, _) if code.is_server_error() => answered(Doubt::ServerError, *code),
        LdapFailure::Answered(code, _) => {
            let refusal = Refusal { code: Code::Ldap(*code), because: None };
            match *code {
                ResultCode::ENTRY_ALREADY_EXISTS => StepOutcome::AlreadyExists(refusal),
                _ => StepOutcome::Refused { refusal, did_nothing: true },
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::fixtures::correction;
    use drift_api::object::object_view::ObjectView;
    use drift_language::Destination;
    use drift_systems::{ServerText, SystemFailure};
    use serde_json::json;

    const CORRECT: &str = r#"
      create:
      - {name: person, add: {dn: "uid=${self.spec.uid},dc=x", attributes: {objectClass: [person], mail: "${desired.mail}"}}}
      - {modify: {dn: "cn=group,dc=x", add: {member: {dn: "uid=${self.spec.uid},dc=x"}}}}
      update: [{when: "${'mail' in differs}", modify: {dn: "uid=${self.spec.uid},dc=x", replace: {mail: "${desired.mail}"}}}]
      delete:
      - {modify: {dn: "cn=group,dc=x", delete: {member: {dn: "uid=${self.spec.uid},dc=x"}}}}
      - {delete: {dn: "uid=${self.spec.uid},dc=x"}}"#;

    fn changes(action: Action) -> Changes {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Person}}
  identity: "${{self.spec.uid}}"
  read: {{ldap: {{secretRef: {{name: r}}, base: "uid=${{self.spec.uid}},dc=x", attributes: [mail]}}}}
  compare: {{desired: {{mail: ["${{self.spec.mail}}"]}}}}
  correct:
    mode: Correct
    ldap:
      secretRef: {{name: w}}{CORRECT}
"#
        );
        let target = drift_language::fixtures::target(&text);
        let Some(Destination::Ldap(ldap)) = &target.correct.destination else { unreachable!("the target has one") };
        let mut object = crate::engine::fixtures::Scene::new().object;
        object.view = ObjectView::of(&json!({"spec": {"uid": "a,dc=y", "mail": "a@example.org"}}));
        let correction = Correction { action, ..correction(action) };
        Changes::new(&target, ldap, (&object, &correction), ObjectSecrets::default()).unwrap()
    }

    #[test]
    fn each_change_is_a_step() {
        let created = changes(Action::Create);
        let labels: Vec<_> = created.plan().steps.into_iter().filter_map(|step| step.label).collect();
        assert_eq!(labels.iter().map(|label| &**label).collect::<Vec<_>>(), ["person", "2"]);
        let shown = |changes: &Changes, step| changes.to_send(step).unwrap().to_string();
        let person = r#"add uid=a\2Cdc\3Dy,dc=x: objectClass ["person"], mail ["a@example.org"]"#;
        assert_eq!(shown(&created, 0), person);
        assert_eq!(shown(&created, 1), r#"modify cn=group,dc=x: add member ["uid=a\\2Cdc\\3Dy,dc=x"]"#);
        let replaced = changes(Action::Replace);
        assert_eq!((replaced.plan().steps.len(), replaced.plan().deletion), (4, 2));
        assert_eq!(shown(&replaced, 1), r"delete uid=a\2Cdc\3Dy,dc=x");
    }

    #[test]
    fn a_deletion_accepts_that_nothing_is_there() {
        let answered = |code| LdapFailure::Answered(ResultCode(code), ServerText::default());
        let deleted = changes(Action::Delete);
        for (step, code) in [(0, 16), (0, 32), (1, 32)] {
            assert_eq!(deleted.judge(step, &answered(code), true), StepOutcome::NotThere, "{step} {code}");
        }
        let not_bound = LdapFailure::NotBound(ResultCode::NO_SUCH_OBJECT, ServerText::default());
        assert!(matches!(deleted.judge(1, &not_bound, true), StepOutcome::Indefinite(_)), "no change was sent");
        let updated = changes(Action::Update);
        for code in [16, 20, 32] {
            let outcome = updated.judge(0, &answered(code), true);
            assert!(matches!(outcome, StepOutcome::Refused { did_nothing: true, .. }), "{code}: {outcome:?}");
        }
        let existing = changes(Action::Create).judge(0, &answered(68), true);
        assert!(matches!(existing, StepOutcome::AlreadyExists(_)), "{existing:?}");
    }

    #[test]
    fn a_refused_change_tells_what_the_directory_says() {
        let said = ServerText::from("object class violation: sn missing\nmore");
        for code in [ResultCode(65), ResultCode::ENTRY_ALREADY_EXISTS, ResultCode(50), ResultCode(51)] {
            let outcome = changes(Action::Create).judge(0, &LdapFailure::Answered(code, said.clone()), true);
            let reason = outcome.reason().map(RefusalReason::as_str);
            assert_eq!(reason, Some("object class violation: sn missing"), "{code}: {outcome:?}");
        }
        let silent =
            changes(Action::Create).judge(0, &LdapFailure::Answered(ResultCode(65), ServerText::default()), true);
        assert_eq!(silent.reason(), None);
    }

    #[test]
    fn a_refused_bind_is_in_no_doubt() {
        let said = || ServerText::from("80090308: LdapErr: data 52e");
        let (refused, none) =
            ("the external system refuses the controller's credential", "no connection to the external system");
        let table = [
            (
                LdapFailure::NotBound(ResultCode(49), said()),
                format!("{refused} ({}): 80090308: LdapErr: data 52e", ResultCode(49)),
            ),
            (
                LdapFailure::NotBound(ResultCode(51), said()),
                format!("{none} ({}): 80090308: LdapErr: data 52e", ResultCode(51)),
            ),
            (LdapFailure::System(SystemFailure::Unreachable("lost")), none.to_owned()),
            (
                LdapFailure::System(SystemFailure::CredentialUnavailable("Secret s has no key url".to_owned())),
                "the controller's credential cannot be used: Secret s has no key url".to_owned(),
            ),
        ];
        for (failure, expected) in table {
            let told = match changes(Action::Create).judge(0, &failure, false) {
                StepOutcome::Indefinite(uncertainty) => uncertainty.to_string(),
                outcome => format!("{outcome:?}"),
            };
            assert_eq!(told, expected, "{failure}");
        }
    }

    #[test]
    fn only_what_lasts_is_a_refusal_of_a_directory() {
        use Doubt::{CredentialRefused, Forbidden, ServerError, TimedOut};
        let table = [
            (3, Some(TimedOut)),
            (8, Some(CredentialRefused)),
            (49, Some(CredentialRefused)),
            (50, Some(Forbidden)),
            (51, Some(ServerError)),
            (52, Some(ServerError)),
            (80, Some(ServerError)),
            (10, None),
            (19, None),
            (53, None),
            (65, None),
        ];
        for (code, doubt) in table {
            let code = ResultCode(code);
            let found = match judge(&LdapFailure::Answered(code, ServerText::default())) {
                StepOutcome::Indefinite(uncertainty) => Some(uncertainty.why),
                _ => None,
            };
            assert_eq!(found, doubt, "{code}");
        }
    }
}
