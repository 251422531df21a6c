//! The requests of a correction, as far as they are known before the first answer.
//!
//! Templates see masked values only: declared secrets, what looks like one, and fields that a rule redacts. Whether a
//! step is sent follows from the real values.

use std::time::Duration;

use drift_api::condition::DifferingFields;
use drift_api::secrets::secret_texts::REDACTED;
use drift_language::cel::{SecretValues, Variables};
use drift_language::{
    Action, Destination, HttpStep, JobTemplate, KubernetesRead, LdapStep, Source, SqlStatement, Target,
};
use serde_json::Value;

use super::facts::{Facts, action};
use super::items::{named, of_items};
use super::masker::Masker;
use super::requests::{credential, http_lines};
use drift_poller::engine::object::deletion::{Ending, ending_of};

/// The steps of the correction that this verdict asks for, or of the deletion that is due; none where the target has none for it.
#[must_use]
pub fn steps(facts: Facts<'_>) -> Vec<String> {
    in_form(facts, Form::Masked)
}

/// The same without any value: the texts of the target with a sign for each `${…}`. Leaves out skipped steps.
pub(super) fn outlines(facts: Facts<'_>) -> Vec<String> {
    in_form(facts, Form::Outline)
}

/// The amount of detail of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With the masked values.
    Masked,
    /// As the target writes it, with a sign for each value.
    Outline,
}

/// Stands for a value in an outline.
const VALUE: &str = "…";

fn in_form(facts: Facts<'_>, form: Form) -> Vec<String> {
    let Facts { target, object, verdict, .. } = facts;
    let is_due = if object.deleting { ending_of(target, object) == Ending::Deleted } else { facts.is_drifted() };
    let Some(destination) = target.correct.destination.as_ref().filter(|_| is_due) else {
        return Vec::new();
    };
    let whole = object.view.open();
    let view = masked(&whole);
    let unmasked = target.desired_state_of(&whole).ok().map(|desired| desired.value);
    let desired = unmasked.as_ref().map(|unmasked| Masker::of_object(Some(target.compare.rules.root())).json(unmasked));
    let action = action(facts);
    let (anew, told) = (DifferingFields::every(), &verdict.tag.fields);
    // Without steps of its own the resource is taken away and made anew.
    let is_made_anew = action == Action::Replace && !target.correct.replaces_by_own_steps();
    let fields = if is_made_anew { &anew } else { told };
    let differs = unmasked.as_ref().and_then(Value::as_object).map(|unmasked| target.differing_keys(fields, unmasked));
    let secrets: SecretValues =
        target.secrets.iter().map(|secret| (secret.name.clone(), REDACTED.to_owned())).collect();
    // Answers of earlier steps are not there: what asks for one cannot be rendered.
    let shown = Variables {
        desired: desired.as_ref(),
        differs: differs.as_ref(),
        correction: Some(verdict.tag.correction + 1),
        secrets: Some(&secrets),
        ..Variables::of_object(&view)
    };
    // Whether a step is sent follows from what is there, not from what may be shown.
    let real = Variables { object: &whole, desired: unmasked.as_ref(), ..shown };
    of_destination(destination, action, (target, &object.id.uid), Seen { shown: &shown, real: &real, form })
}

fn masked(value: &Value) -> Value {
    Masker::of_object(None).json(value)
}

/// The variables of steps: masked, and as they are.
#[derive(Clone, Copy)]
struct Seen<'v> {
    shown: &'v Variables<'v>,
    real: &'v Variables<'v>,
    form: Form,
}

fn of_destination(
    destination: &Destination,
    action: Action,
    (target, uid): (&Target, &str),
    seen: Seen<'_>,
) -> Vec<String> {
    let Seen { shown: variables, real, form } = seen;
    let is_outline = form == Form::Outline;
    match destination {
        Destination::Http(http) => {
            let steps: Vec<_> = http.steps.sent_for(action).iter().collect();
            let credential = credential(http.auth.as_ref().map(|auths| auths.auth_for(real.object)).as_deref());
            steps.iter().flat_map(|step| of_http(step, &steps, credential.as_deref(), seen)).collect()
        }
        Destination::Sql(sql) => {
            sql.steps.sent_for(action).iter().filter_map(|statement| of_statement(statement, seen)).collect()
        }
        Destination::Ldap(ldap) => {
            ldap.steps.sent_for(action).iter().filter_map(|step| of_change(step, seen)).collect()
        }
        Destination::Job(job) if is_outline => job.sent_for(action).iter().map(|_| "a Job".to_owned()).collect(),
        Destination::Job(job) => job.sent_for(action).iter().map(|job| of_job(job, seen)).collect(),
        Destination::Kubernetes(kubernetes) => {
            let Source::Kubernetes(read) = &target.read.source else { return Vec::new() };
            if action == Action::Delete {
                let outline = format!("delete {}", read.kind.name);
                return vec![if is_outline { outline } else { deleted_resource(read, seen) }];
            }
            let verb = if action == Action::Create { "create" } else { "apply" };
            if is_outline {
                return vec![format!("{verb} {}", read.kind.name)];
            }
            let manifest_of = |variables: &Variables<'_>| {
                read.render(variables.object).and_then(|resource| kubernetes.render(&resource, uid, variables))
            };
            let line = |manifest| format!("{verb} {}", masked(&manifest));
            vec![manifest_of(variables).map_or_else(|error| unknown(&error, manifest_of(real)), line)]
        }
        Destination::Nudge(_) if is_outline => vec!["patch the object".to_owned()],
        Destination::Nudge(nudge) => {
            let patch = nudge.render(variables).map(Value::Object);
            vec![patch.map_or_else(
                |error| unknown(&error, nudge.render(real)),
                |patch| format!("patch the object with {}", masked(&patch)),
            )]
        }
    }
}

fn deleted_resource(read: &KubernetesRead, seen: Seen<'_>) -> String {
    let [shown, real] = [seen.shown, seen.real].map(|variables| read.render(variables.object));
    shown.map_or_else(|error| unknown(&error, real), |resource| format!("delete {resource}"))
}

/// The beginning of a step: its name and timeout, if the target gives them.
fn beginning(name: Option<&str>, timeout: Option<Duration>) -> String {
    let timeout = timeout.map(|timeout| format!("timeout {}", humantime::format_duration(timeout)));
    let words: Vec<_> = name.map(str::to_owned).into_iter().chain(timeout).collect();
    if words.is_empty() { String::new() } else { format!("{}: ", words.join(", ")) }
}

fn of_http(step: &HttpStep, all: &[&HttpStep], credential: Option<&str>, seen: Seen<'_>) -> Vec<String> {
    let name = beginning(step.name.as_deref(), step.timeout);
    let is_due = step.is_due(seen.real);
    if seen.form == Form::Outline {
        let url = Masker::outside().text(&step.request.url.with_placeholder(VALUE));
        let each = if step.for_each.is_some() { " for each item" } else { "" };
        let perhaps = if is_due.is_err() { PERHAPS } else { "" };
        let line = format!("{name}{} {url}{each}{perhaps}", step.request.method);
        return if is_due == Ok(false) { Vec::new() } else { vec![line] };
    }
    if is_due == Ok(false) {
        return vec![format!("{name}skipped, since its `when` does not hold")];
    }
    let lines_of = |variables: &Variables<'_>| match step.request.render(variables) {
        Ok(request) => {
            http_lines(&request, Masker::outside()).into_iter().chain(credential.map(str::to_owned)).collect()
        }
        Err(error) => {
            let real = Variables { item: variables.item, ..*seen.real };
            vec![without_answers(step, all).unwrap_or_else(|| unknown(&error, step.request.render(&real)))]
        }
    };
    if let Some(for_each) = &step.for_each {
        let items = of_items(step, for_each, [seen.shown, seen.real], lines_of).into_iter();
        return items.flat_map(|lines| named(&name, lines)).collect();
    }
    let mut lines = lines_of(seen.shown);
    if let Some(first) = lines.first_mut() {
        let perhaps = if is_due.is_err() { PERHAPS } else { "" };
        *first = format!("{name}{first}{perhaps}");
    }
    lines
}

/// Said of a step whose `when` reads an answer.
const PERHAPS: &str = " (or skipped, by the answers before it)";

/// The line of a request that contains answers of other steps; `None` if it contains none.
fn without_answers(step: &HttpStep, all: &[&HttpStep]) -> Option<String> {
    let names = all.iter().filter_map(|other| other.name.as_deref());
    let needed: Vec<_> = names.filter(|name| step.request.reads_answer_of(name)).collect();
    let steps = if needed.len() > 1 { "answers of steps" } else { "answer of step" };
    (!needed.is_empty()).then(|| format!("{} …: needs the {steps} {}", step.request.method, needed.join(", ")))
}

fn of_statement(statement: &SqlStatement, seen: Seen<'_>) -> Option<String> {
    let name = beginning(statement.name.as_deref(), statement.timeout);
    let is_skipped = statement.render(seen.real) == Ok(None);
    if seen.form == Form::Outline {
        let text = Masker::outside().text(&statement.with_placeholder(VALUE));
        return (!is_skipped).then(|| format!("{name}{text}"));
    }
    if is_skipped {
        return Some(format!("{name}skipped, since its `when` does not hold"));
    }
    Some(match statement.render(seen.shown) {
        Ok(Some(sql)) => format!("{name}{sql}"),
        Ok(None) => format!("{name}it is sent, and cannot be shown without what is masked here"),
        Err(error) => format!("{name}{}", unknown(&error, statement.render(seen.real))),
    })
}

fn of_change(step: &LdapStep, seen: Seen<'_>) -> Option<String> {
    let name = beginning(step.name.as_deref(), None);
    if seen.form == Form::Outline {
        let is_skipped = step.render(seen.real) == Ok(None);
        return (!is_skipped).then(|| format!("{name}{} an entry", step.operation()));
    }
    Some(match (step.render(seen.real), step.render(seen.shown)) {
        (Ok(None), _) => format!("{name}skipped, since its `when` does not hold or it changes nothing"),
        (_, Ok(Some(change))) => format!("{name}{change}"),
        (_, Ok(None)) => format!("{name}it is sent, and cannot be shown without what is masked here"),
        (real, Err(error)) => format!("{name}{}", unknown(&error, real)),
    })
}

fn of_job(job: &JobTemplate, seen: Seen<'_>) -> String {
    let rendered = job.render(seen.shown);
    rendered.map_or_else(|error| unknown(&error, job.render(seen.real)), |spec| format!("a Job: {}", masked(&spec)))
}

/// The line of a step that cannot be rendered from the masked values; `real` is the result with the values themselves.
fn unknown<T, E: std::fmt::Display>(masked: &impl std::fmt::Display, real: Result<T, E>) -> String {
    match real {
        Ok(_) => format!("unknown without the masked values: {masked}"),
        Err(error) => format!("not sent, since it cannot be rendered: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::condition::{ObservedReason, Tag, Verdict};
    use drift_language::fixtures::proxies::{TEXT, object, target};
    use serde_json::json;

    const HTTP: &str = "
  correct:
    mode: Correct
    http:
      create: [{method: POST, url: 'http://h/x', body: '${desired}'}]
      update:
      - {name: find, method: GET, url: 'http://h/find'}
      - {method: PUT, timeout: 5m, url: 'http://h/${steps.find.body.id}', body: '${desired}'}
      - {name: token, timeout: 90s, method: PUT, url: 'http://h/token', when: \"${'a' in differs}\", body: '${desired}'}
";

    fn rendered(correct: &str, reason: ObservedReason) -> Vec<String> {
        in_forms(correct, reason).0
    }

    /// Masked, and as outlines.
    fn in_forms(correct: &str, reason: ObservedReason) -> (Vec<String>, Vec<String>) {
        let target = target(&format!(
            "{}{correct}",
            TEXT.trim_end().replace("desired: {a:", "desired: {token: \"${self.spec.a}\", a:")
        ));
        let object = object(&target, "u", &json!({"id": "x", "a": "1"}), &Value::Null);
        let verdict = Verdict { reason, text: "x".into(), tag: Tag::default(), generation: Some(1) };
        let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
        (steps(facts), outlines(facts))
    }

    #[test]
    fn an_outline_has_no_value() {
        let correct = "
  correct:
    mode: Correct
    http:
      auth: {bearer: {secretRef: {name: w, key: token}}}
      create: [{method: POST, url: 'https://h/${self.spec.id}?a=${self.spec.a}', body: '${desired}'}]
      update:
      - {name: find, method: GET, url: 'https://h/find'}
      - {method: PUT, url: 'https://h/${steps.find.body.id}', when: '${steps.find.body.ok}', body: '${desired}'}
      - {method: PUT, url: 'https://h/never', when: \"${self.spec.a == '2'}\", body: '${desired}'}
      - {method: PUT, url: \"https://h/${item}\", forEach: \"${['x', self.spec.a]}\"}
";
        let outline = |correct: &str, reason| in_forms(correct, reason).1;
        assert_eq!(outline(correct, ObservedReason::NotCreated), ["POST https://h/…?a=…"]);
        let literal = correct.replace("?a=${self.spec.a}", "?token=hunter2");
        assert_eq!(outline(&literal, ObservedReason::NotCreated), ["POST (redacted)"]);
        let updated = [
            "find: GET https://h/find",
            "PUT https://h/… (or skipped, by the answers before it)",
            "PUT https://h/… for each item",
        ];
        assert_eq!(outline(correct, ObservedReason::FieldsDiffer), updated);
        assert!(outline(correct, ObservedReason::InSync).is_empty());
        let sql = "
  correct:
    postgres:
      connection: {secretRef: {name: db}}
      update:
      - ALTER ROLE a CONNECTION LIMIT ${self.spec.a}
      - {sql: ALTER ROLE b, when: '${false}'}
";
        assert_eq!(outline(sql, ObservedReason::FieldsDiffer), ["ALTER ROLE a CONNECTION LIMIT …"]);
        let ldap = "
  correct:
    ldap:
      secretRef: {name: l}
      update: [{modify: {dn: 'uid=${self.spec.id}', replace: {mail: ['${self.spec.a}']}}}]
";
        assert_eq!(outline(ldap, ObservedReason::FieldsDiffer), ["modify an entry"]);
        let nudge = "\n  correct: {nudge: {annotations: {example.com/nudged: '${self.spec.a}'}}}\n";
        assert_eq!(outline(nudge, ObservedReason::FieldsDiffer), ["patch the object"]);
    }

    #[test]
    fn steps_are_shown_as_far_as_they_are_known() {
        let created = rendered(HTTP, ObservedReason::NotCreated);
        assert_eq!(created[0], "POST http://h/x");
        assert_eq!(created.last().unwrap(), r#"{"a":"1","token":"(redacted)"}"#);
        let updated = rendered(HTTP, ObservedReason::FieldsDiffer);
        let expected = [
            "find: GET http://h/find",
            "timeout 5m: PUT …: needs the answer of step find",
            "token, timeout 1m 30s: skipped, since its `when` does not hold",
        ];
        assert_eq!(updated, expected);
        assert!(rendered(HTTP, ObservedReason::InSync).is_empty());
        assert!(rendered("", ObservedReason::FieldsDiffer).is_empty());
    }

    #[test]
    fn a_step_that_lacks_a_value_says_so() {
        let step = |value: &str| {
            let put = format!("{{method: PUT, url: 'http://h/', headers: {{X-A: \"v-${{{value}}}\"}}}}");
            rendered(
                &format!("\n  correct: {{mode: Correct, http: {{update: [{put}]}}}}\n"),
                ObservedReason::FieldsDiffer,
            )
        };
        let missing = "not sent, since it cannot be rendered: correct.http.update[0].headers.X-A: an optional without value \
                       cannot stand inside a text; write .orValue(…)";
        assert_eq!(step("self.spec.?none"), [missing]);
        let masked = step("int(desired.token)").concat();
        assert!(
            masked.starts_with("unknown without the masked values: correct.http.update[0].headers.X-A: "),
            "{masked}"
        );
    }

    #[test]
    fn each_request_names_its_body_and_credential() {
        let correct = "
  correct:
    mode: Correct
    http:
      auth: {bearer: {secretRef: {name: writer, key: token}}}
      create: [{method: POST, url: 'https://h/', form: {Action: Make, Size: '${desired.a}', Token: '${desired.token}'}}]
      update: [{method: PUT, url: 'https://h/', xml: '<Size>${desired.a}</Size>'}]
";
        let by = "with a bearer token by Secret writer";
        let form = "content-type: application/x-www-form-urlencoded";
        assert_eq!(
            rendered(correct, ObservedReason::NotCreated),
            ["POST https://h/", form, "Action=Make", "Size=1", "Token=(redacted)", by]
        );
        let xml = ["PUT https://h/", "content-type: application/xml", "<Size>1</Size>", by];
        assert_eq!(rendered(correct, ObservedReason::FieldsDiffer), xml);
    }

    #[test]
    fn whether_a_step_is_sent_follows_from_what_is_there() {
        let correct = "
  correct:
    mode: Correct
    http:
      update:
      - {method: PUT, url: 'http://h/a', when: \"${desired.token == '1'}\", body: '${desired}'}
      - {name: find, method: GET, url: 'http://h/find'}
      - {method: PUT, url: \"http://h/${steps.?find.body.id.orValue('new')}\", body: '${desired}'}
";
        let shown = rendered(correct, ObservedReason::FieldsDiffer);
        assert_eq!(shown[0], "PUT http://h/a", "{shown:?}");
        assert_eq!(shown.last().unwrap(), "PUT …: needs the answer of step find");
    }

    #[test]
    fn each_item_of_a_list_is_shown() {
        let update = |list: &str| {
            format!(
                "
  correct:
    mode: Correct
    http:
      update:
      - {{name: find, method: GET, url: 'http://h/find'}}
      - {{name: add, method: PUT, forEach: \"${{{list}}}\", url: \"http://h/${{item}}\"}}
"
            )
        };
        let shown = |list: &str| rendered(&update(list), ObservedReason::FieldsDiffer).split_off(1);
        assert_eq!(shown("['x', self.spec.a, 'x']"), ["add: PUT http://h/x", "add: PUT http://h/1"]);
        assert_eq!(shown("[]"), ["add: skipped, since its list is empty"]);
        assert_eq!(shown("steps.find.body"), ["add: PUT … for each item: the list follows from the answers before it"]);
        assert_eq!(
            shown("self.spec"),
            ["add: PUT … for each item: correct.http.update[1].forEach: the result is a map, not a list"]
        );
        assert_eq!(shown("[desired.token]"), ["add: PUT … for each item of a list that is (redacted)"]);
        let many = format!("[{}]", (0..101).map(|number| number.to_string()).collect::<Vec<_>>().join(","));
        assert_eq!(shown(&many), ["add: refused, since its list has 101 items and at most 100 are sent"]);
    }

    #[test]
    fn statements_and_nudges_are_shown_without_secrets() {
        let sql = "
  correct:
    postgres:
      connection: {secretRef: {name: db}}
      update: ['ALTER ROLE a CONNECTION LIMIT ${self.spec.a}', {sql: 'ALTER ROLE a PASSWORD ${desired.token}'}]
";
        let statements = rendered(sql, ObservedReason::FieldsDiffer);
        assert_eq!(statements, ["ALTER ROLE a CONNECTION LIMIT E'1'", "ALTER ROLE a PASSWORD E'(redacted)'"]);
        let nudge = "\n  correct: {nudge: {annotations: {example.com/nudged: '${string(correction)}'}}}\n";
        let patched = rendered(nudge, ObservedReason::FieldsDiffer);
        assert_eq!(patched, [r#"patch the object with {"metadata":{"annotations":{"example.com/nudged":"1"}}}"#]);
    }
}
