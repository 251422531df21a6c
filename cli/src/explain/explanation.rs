//! The explanation as a value, as text and as JSON.

use drift_api::condition::{Condition, ConditionStatus, Verdict};
use drift_api::object::LeanObject;
use serde_json::{Value, json};

use super::deleting::Deletion;
use super::holds::{Facts, action};
use crate::targets::known::ByLastGood;
use drift_api::printable::printable;
use drift_poller::engine::object::deletion::ending_of;

/// The widest word at the beginning of a paragraph, and what parts it from the text.
const INDENT: usize = 12;

/// What was observed, as it may be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// The external resource as the target maps it, masked.
    Present(Value),
    /// It is not there.
    Absent,
    /// Why nothing can be told.
    Failed(String),
}

/// What one poll came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Poll {
    /// What was asked, line by line.
    pub asked: Vec<String>,
    /// What was observed.
    pub observed: Shown,
    /// Why reads failed, where more is known of that than a condition says.
    pub causes: Vec<String>,
    /// Each field that differs.
    pub differing: Vec<String>,
}

/// All that is said of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    kind: String,
    object: String,
    target: String,
    place: String,
    poll: Poll,
    status: ConditionStatus,
    /// Status, reason and message of what the poller would say.
    verdict: Value,
    stands: Vec<Condition>,
    /// Where it is being deleted; then there is no verdict.
    deletion: Option<Deletion>,
    action: Option<&'static str>,
    steps: Vec<String>,
    held: Vec<String>,
}

/// What begins a paragraph, and its lines.
type Paragraph = (&'static str, Vec<String>);

impl Explanation {
    /// Of an object, with the steps of its correction or deletion and what holds it.
    #[must_use]
    pub fn new(facts: Facts<'_>, poll: Poll, (steps, held): (Vec<String>, Vec<String>)) -> Self {
        let Facts { target, object, .. } = facts;
        let conditions = &object.conditions;
        let deletion =
            object.deleting.then(|| ending_of(target, object)).and_then(|ending| Deletion::of(object, Some(ending)));
        let (status, verdict, poll, action) = match &deletion {
            Some(deletion) => {
                let poll = Poll { differing: Vec::new(), ..poll };
                (ConditionStatus::Unknown, Value::Null, poll, deletion.action())
            }
            None => (facts.verdict.status(), said(facts.verdict), poll, facts.is_drifted().then(|| action(facts))),
        };
        Self {
            kind: target.objects.kind.clone(),
            object: object.id.to_string(),
            target: target.name.clone(),
            place: format!("{}/{}", target.document.config_map, target.document.key),
            poll,
            status,
            verdict,
            stands: conditions.observed().into_iter().chain(conditions.corrected()).cloned().collect(),
            deletion,
            action,
            steps,
            held,
        }
    }

    /// Of an object of a target whose active text is not known: what stands on it is all that can be told.
    #[must_use]
    pub(crate) fn unread(target: &ByLastGood, kind: &str, object: &LeanObject) -> Self {
        let conditions = &object.conditions;
        Self {
            kind: kind.to_owned(),
            object: object.id.to_string(),
            target: target.name.clone(),
            place: "its last good text".to_owned(),
            poll: Poll {
                asked: Vec::new(),
                observed: Shown::Failed(target.trouble.clone()),
                causes: Vec::new(),
                differing: Vec::new(),
            },
            status: ConditionStatus::Unknown,
            verdict: Value::Null,
            stands: conditions.observed().into_iter().chain(conditions.corrected()).cloned().collect(),
            deletion: Deletion::of(object, None),
            action: None,
            steps: Vec::new(),
            held: vec!["by what that text says; where you have it, -f FILE explains by it".to_owned()],
        }
    }

    /// Whether it drifted.
    #[must_use]
    pub const fn status(&self) -> ConditionStatus {
        self.status
    }

    /// For people; beside an earlier one only the paragraphs that say something else.
    #[must_use]
    pub fn text(&self, before: Option<&Self>) -> String {
        let known = before.map(Self::paragraphs).unwrap_or_default();
        let new = self.paragraphs().into_iter().filter(|paragraph| !known.contains(paragraph));
        let mut text = match before {
            None => format!("{} {} by target {} ({})\n", self.kind, self.object, self.target, self.place),
            Some(_) => String::new(),
        };
        for (head, lines) in new {
            for (number, line) in lines.iter().enumerate() {
                let head = if number == 0 { head } else { "" };
                text.push_str(&format!("{head:<INDENT$}{}\n", printable(line)));
            }
        }
        text
    }

    fn paragraphs(&self) -> Vec<Paragraph> {
        let asked = match (self.poll.asked.as_slice(), &self.poll.observed) {
            ([], Shown::Failed(why)) => vec![format!("nothing: {why}")],
            ([], _) => vec!["nothing: that is not needed".to_owned()],
            (asked, _) => asked.to_vec(),
        };
        let observed = match &self.poll.observed {
            Shown::Present(value) => format!("{value:#}").lines().map(str::to_owned).collect(),
            Shown::Absent => vec!["the external resource is not there".to_owned()],
            Shown::Failed(_) if self.poll.asked.is_empty() => Vec::new(),
            Shown::Failed(why) => {
                let causes = self.poll.causes.iter().filter(|cause| *cause != why);
                let causes = causes.map(|cause| format!("cause: {cause}"));
                std::iter::once(format!("nothing that can be told: {why}")).chain(causes).collect()
            }
        };
        let part = |field: &str| self.verdict.get(field).and_then(Value::as_str).unwrap_or_default();
        let verdict = || format!("driftObserved {}/{}: {}", part("status"), part("reason"), part("message"));
        let verdict = if self.verdict.is_null() { Vec::new() } else { vec![verdict()] };
        let stands = match self.stands.as_slice() {
            [] => vec!["nothing yet".to_owned()],
            stands => stands.iter().map(current).collect(),
        };
        let deleting = self.deletion.as_ref().map(Deletion::lines).unwrap_or_default();
        let mut paragraphs = vec![
            ("deleting", deleting),
            ("asked", asked),
            ("observed", observed),
            ("differs", self.poll.differing.clone()),
        ];
        paragraphs.extend([("verdict", verdict), ("stands", stands), ("would send", self.steps.clone())]);
        paragraphs.extend([("held", self.held.clone()), ("follows", self.outlook())]);
        paragraphs.retain(|(_, lines)| !lines.is_empty());
        paragraphs
    }

    /// What follows; of a deletion also where something holds it, since what becomes of the external resource is the question then.
    fn outlook(&self) -> Vec<String> {
        let is_held = !self.held.is_empty();
        if let Some(deletion) = &self.deletion {
            let mut lines = deletion.outlook();
            if let Some(first) = lines.first_mut().filter(|_| is_held) {
                *first = format!("once nothing holds it: {first}");
            }
            return lines;
        }
        if is_held {
            return Vec::new();
        }
        let follows = format!("a correction ({}), as far as this can be seen from here", self.action.unwrap_or("none"));
        let rest = "the controller's Lease lists no hold of it; /objects of the controller's admin port lists every held object";
        vec![follows, rest.to_owned()]
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let (observed, failure) = match &self.poll.observed {
            Shown::Present(value) => (value.clone(), None),
            Shown::Absent => (Value::Null, None),
            Shown::Failed(why) => (Value::Null, Some(why)),
        };
        json!({
            "kind": self.kind, "object": self.object, "target": self.target, "document": self.place,
            "asked": self.poll.asked, "observed": observed, "failure": failure, "causes": self.poll.causes, "differs": self.poll.differing,
            "verdict": self.verdict, "stands": self.stands.iter().map(Condition::to_json).collect::<Vec<_>>(),
            "deletion": self.deletion.as_ref().map(Deletion::json), "action": self.action, "steps": self.steps, "held": self.held,
        })
    }
}

/// What the poller would say. When it would be written is not told.
fn said(verdict: &Verdict) -> Value {
    let said = verdict.to_condition(None, "");
    json!({"status": said.status.as_str(), "reason": said.reason, "message": said.message.text()})
}

fn current(condition: &Condition) -> String {
    let Condition { kind, status, reason, message, last_transition_time, .. } = condition;
    let kind = kind.as_str();
    format!("{kind} {}/{reason}: {} (since {last_transition_time})", status.as_str(), message.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::condition::{ConditionKind, ObservedReason, Tag};
    use drift_api::printable::is_printable;
    use drift_language::fixtures::proxies::{TEXT, object, target};

    fn explanation(held: &[&str], observed: Shown) -> Explanation {
        let target = target(TEXT);
        let object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        let verdict = Verdict {
            reason: ObservedReason::FieldsDiffer,
            text: "x".into(),
            tag: Tag::default(),
            generation: Some(1),
        };
        let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
        let poll = Poll {
            asked: vec!["GET http://h/x".to_owned(), "accept: x".to_owned()],
            observed,
            causes: vec!["no connection: refused".to_owned()],
            differing: vec!["/a".to_owned()],
        };
        Explanation::new(
            facts,
            poll,
            (vec!["PUT http://h/x".to_owned()], held.iter().map(|held| (*held).to_owned()).collect()),
        )
    }

    #[test]
    fn all_is_told_once_and_then_what_changed() {
        let first = explanation(&["it is paused"], Shown::Present(json!({"a": 2})));
        let text = first.text(None);
        let expected = "Proxy u by target t (c/k)
asked       GET http://h/x
            accept: x
observed    {
              \"a\": 2
            }
differs     /a
verdict     driftObserved True/FieldsDiffer: x
stands      nothing yet
would send  PUT http://h/x
held        it is paused
";
        assert_eq!(text, expected);
        assert_eq!(first.text(Some(&first)), "");
        let second = explanation(&[], Shown::Failed("no answer".to_owned()));
        let changed = second.text(Some(&first));
        assert!(
            changed.starts_with("observed    nothing that can be told: no answer\n            cause: no connection: refused\nfollows     a correction (update)"),
            "{changed}"
        );
    }

    #[test]
    fn no_foreign_text_reaches_the_terminal_as_it_is() {
        let foreign = "a\u{1b}[2J\u{9b}2J\u{202e}b";
        let mut told = explanation(&[foreign], Shown::Present(json!({ foreign: foreign })));
        let stands = json!({"reason": foreign, "message": foreign, "lastTransitionTime": foreign});
        told.stands.push(Condition::from_json(ConditionKind::Observed, &stands));
        let text = told.text(None).replace('\n', "");
        assert!(text.chars().all(is_printable), "{text:?}");
    }

    #[test]
    fn what_is_being_deleted_has_no_verdict() {
        let (target, verdict) = (
            target(TEXT),
            Verdict { reason: ObservedReason::InSync, text: "x".into(), tag: Tag::default(), generation: Some(1) },
        );
        let mut object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        object.deleting = true;
        object.asked.get_or_insert_default().deletion = 1_767_225_600;
        let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
        let poll =
            Poll { asked: Vec::new(), observed: Shown::Absent, causes: Vec::new(), differing: vec!["/a".to_owned()] };
        let told = Explanation::new(facts, poll, (Vec::new(), Vec::new()));
        let expected = "Proxy u by target t (c/k)
deleting    since 2026-01-01T00:00:00Z
            no finalizer keeps it
            what is being deleted is neither polled nor corrected, so there is no verdict on it
asked       nothing: that is not needed
observed    the external resource is not there
stands      nothing yet
follows     nothing by these programs, which do not hold it: driftpoller.dev/external is not among its finalizers
";
        assert_eq!(told.text(None), expected);
        assert_eq!((told.status(), &told.json()["verdict"]), (ConditionStatus::Unknown, &Value::Null));
        assert_eq!(told.json()["deletion"]["requested"], "2026-01-01T00:00:00Z");
    }

    #[test]
    fn without_a_text_what_stands_is_told() {
        let target = target(TEXT);
        let object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        let trouble = "target t: the text is wrong".to_owned();
        let target = ByLastGood { name: "t".to_owned(), objects: Vec::new(), trouble, missing_map: None };
        let told = Explanation::unread(&target, "Proxy", &object);
        let expected = "Proxy u by target t (its last good text)
asked       nothing: target t: the text is wrong
stands      nothing yet
held        by what that text says; where you have it, -f FILE explains by it
";
        assert_eq!(told.text(None), expected);
        assert_eq!((told.status(), &told.json()["verdict"]), (ConditionStatus::Unknown, &Value::Null));
    }

    #[test]
    fn programs_are_told_the_same() {
        let told = explanation(&["it is paused"], Shown::Absent).json();
        assert_eq!((&told["verdict"]["reason"], &told["held"]), (&json!("FieldsDiffer"), &json!(["it is paused"])));
        assert_eq!(
            (&told["observed"], &told["action"], &told["steps"][0]),
            (&Value::Null, &json!("update"), &json!("PUT http://h/x"))
        );
    }
}
