//! Finds rules that take every 400 for absence where errors come with 400, and hosts of another AWS region.

use crate::systems::http::request::rendered::HttpRequest;
use serde_json::{Value, json};

use crate::cel::Variables;
use crate::systems::steps::ACTIONS;
use crate::target::Target;
use crate::{Absence, Auth, Auths, AwsSigV4, Destination, HttpStep, ReadStep};

/// The domain of the hosts of AWS.
const DOMAIN: &str = ".amazonaws.com";

/// A warning with the path of its key.
type Doubt = (Vec<&'static str>, String);

impl Target {
    /// The warnings about requests that AWS or a similar system answers otherwise than the target expects.
    #[must_use]
    pub fn aws_traps(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if let Some(read) = self.read.http() {
            let signed = signed(read.auth.as_ref());
            if (signed.is_some() || read.limited_when.is_some()) && read.steps().any(takes_each_400) {
                let message = "`absentWhen` holds for every 400, also for throttling and a denied request, and then the \
                               resource is created again: compare the error's code too";
                doubts.push((vec!["spec", "read", "http", "absentWhen"], message.to_owned()));
            }
            let requests = read.steps().filter_map(|step| step.request.probe(&nothing()));
            doubts
                .extend(other_region(signed, requests).map(|message| (vec!["spec", "read", "http", "auth"], message)));
        }
        if let Some(Destination::Http(correct)) = &self.correct.destination {
            let signed = signed(correct.auth.as_ref());
            let requests = correct.steps.iter().filter_map(|step| step.request.probe(&nothing()));
            doubts.extend(
                other_region(signed, requests).map(|message| (vec!["spec", "correct", "http", "auth"], message)),
            );
            let actions = correct.steps.by_action();
            let unchecked = |step: &HttpStep| step.accept.contains(400) && step.refused_when.is_none();
            let of_aws = signed.is_some() || correct.limited_when.is_some();
            for (_, action) in actions.iter().zip(ACTIONS).filter(|(steps, _)| of_aws && steps.iter().any(unchecked)) {
                let message = "a step accepts every 400, also for throttling and a denied request: write `refusedWhen` for \
                               each error that is not expected";
                doubts.push((vec!["spec", "correct", "http", action], message.to_owned()));
            }
        }
        doubts
    }
}

fn nothing() -> Variables<'static> {
    Variables::of_object(&Value::Null)
}

fn signed(auths: Option<&Auths>) -> Option<&AwsSigV4> {
    match auths.map(|auths| &**auths.any()) {
        Some(Auth::AwsSigV4(signed)) => Some(signed),
        _ => None,
    }
}

/// Returns true if the rule for absence holds for an error that no system has.
fn takes_each_400(step: &ReadStep) -> bool {
    let Absence::When(rule) = &step.absence else { return false };
    let code = json!({"Code": "DriftCheck", "Message": "x"});
    let bodies = [
        Value::Null,
        json!({"__type": "drift#DriftCheck", "message": "x", "code": "DriftCheck", "error": "x"}),
        json!({"Error": code, "ErrorResponse": {"Error": code}, "Response": {"Errors": {"Error": code}}}),
    ];
    bodies.iter().any(|body| {
        let response = json!({"status": 400, "headers": {}, "text": "", "body": body});
        let variables = Variables { response: Some(&response), ..nothing() };
        rule.evaluate_bool(&variables) == Ok(true)
    })
}

/// Returns the message about the first host that names another region than the signature.
fn other_region(signed: Option<&AwsSigV4>, mut requests: impl Iterator<Item = HttpRequest>) -> Option<String> {
    let AwsSigV4 { region, .. } = signed?;
    requests.find_map(|request| {
        let host = request.url.host_str()?;
        let mut labels = host.strip_suffix(DOMAIN)?.split('.');
        let other = labels.find(|label| is_region(label))?;
        let message = format!("`{host}` is of the region {other}, and `region` is {region}: AWS refuses the signature");
        (other != region).then_some(message)
    })
}

/// Returns true for names such as `eu-central-1` and `us-gov-east-1`.
fn is_region(label: &str) -> bool {
    let parts: Vec<_> = label.split('-').collect();
    let is_number = |part: &&str| part.len() == 1 && part.bytes().all(|byte| byte.is_ascii_digit());
    (3..=4).contains(&parts.len())
        && parts.first().is_some_and(|area| area.len() == 2)
        && parts.last().is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use crate::fixtures;

    fn traps(host: &str, auth: &str, read: &str, correct: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: '${{self.spec.a}}'
  read: {{http: {{url: 'https://{host}/${{self.spec.a}}', {auth} {read}}}}}
  compare: {{desired: {{a: '${{self.spec.a}}'}}}}
  correct: {{mode: Correct, http: {{{auth} {correct} update: [{{method: PUT, url: 'https://{host}/'}}]}}}}
"
        );
        let found = fixtures::target(&text).aws_traps().into_iter();
        found.map(|(path, message)| format!("{}: {message}", path.join("."))).collect()
    }

    const SIGNED: &str = "auth: {awsSigV4: {region: us-east-1, service: sqs, secretRef: {name: s}}},";

    #[test]
    fn a_host_of_another_region_is_told() {
        let told = traps("sqs.eu-west-1.amazonaws.com", SIGNED, "", "");
        assert_eq!(told.len(), 2, "{told:?}");
        let expected =
            "spec.read.http.auth: `sqs.eu-west-1.amazonaws.com` is of the region eu-west-1, and `region` is us-east-1";
        assert!(told.iter().any(|told| told.starts_with(expected)), "{told:?}");
        for host in ["sqs.us-east-1.amazonaws.com", "route53.amazonaws.com", "h.example", "a-b-c.s3.amazonaws.com"] {
            assert_eq!(traps(host, SIGNED, "", ""), Vec::<String>::new(), "{host}");
        }
        assert_eq!(traps("sqs.eu-west-1.amazonaws.com", "", "", ""), Vec::<String>::new());
    }

    #[test]
    fn a_rule_for_every_400_is_told() {
        let limited = "limitedWhen: \"${response.body.?Error.?Code.orValue('') == 'Throttling'}\",";
        let by_type = "absentWhen: \"${response.body.?__type.orValue('').endsWith('#QueueDoesNotExist')}\"";
        for (auth, read, expected) in [
            (SIGNED, "absentWhen: '${response.status == 400}'", 1),
            (limited, "absentWhen: '${response.status in [400, 404]}'", 1),
            (SIGNED, "absentWhen: \"${response.status == 400 && response.body.?__type.orValue('') != 'a'}\"", 1),
            ("", "absentWhen: '${response.status == 400}'", 0),
            (SIGNED, "absentWhen: '${response.status == 404}'", 0),
            (SIGNED, by_type, 0),
            (SIGNED, "as: xml, absentWhen: \"${response.body.ErrorResponse.Error.Code == 'NotFound'}\"", 0),
        ] {
            let told = traps("h.example", auth, read, "");
            let found =
                told.iter().filter(|told| told.starts_with("spec.read.http.absentWhen: `absentWhen` holds")).count();
            assert_eq!(found, expected, "{read}: {told:?}");
        }
    }

    #[test]
    fn a_step_that_accepts_every_400_is_told() {
        let delete =
            |more: &str| format!("delete: [{{method: DELETE, url: 'https://h.example/', accept: [200, 400]{more}}}],");
        let refused = ", refusedWhen: '${response.status == 400 && response.body.code != 1}'";
        for (auth, more, expected) in [(SIGNED, "", 1), (SIGNED, refused, 0), ("", "", 0)] {
            let told = traps("h.example", auth, "", &delete(more));
            let found = told.iter().filter(|told| told.starts_with("spec.correct.http.delete: a step accepts")).count();
            assert_eq!(found, expected, "{more}: {told:?}");
        }
    }
}
