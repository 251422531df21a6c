//! The explanation as a value, as text and as JSON.

use drift_api::condition::{Condition, ConditionKind, ConditionStatus, Conditions, GenerationPlace, Placed, Tag};
use drift_api::object::LeanObject;
use drift_api::unwritten::Doubt;
use drift_language::ConditionsPlace;
use serde_json::{Value, json};

use super::answers::Answer;
use super::deleting::Deletion;
use super::facts::{Facts, action};
use crate::targets::known::UNKNOWN_TARGET;
use crate::targets::status_writes::StatusWrites;
use drift_api::printable::printable;
use drift_poller::engine::object::deletion::ending_of;

/// The widest word at the beginning of a paragraph, and what parts it from the text.
const INDENT: usize = 12;

/// The observation as it may be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// The external resource as the target maps it, masked.
    Present(Value),
    /// It is not there.
    Absent,
    /// The reason of a failure.
    Failed(String),
}

/// The result of one poll.
#[derive(Clone, Debug, PartialEq)]
pub struct Poll {
    /// The request, line by line.
    pub asked: Vec<String>,
    /// The observation.
    pub observed: Shown,
    /// Causes of a failed read that a condition does not show.
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
    stands: Vec<Placed>,
    /// The contradiction of its condition by the poller's Lease.
    doubt: Option<Doubt>,
    /// The name of the DriftReport that has its conditions.
    report: Option<String>,
    written: StatusWrites,
    /// The deletion, if one was requested; then there is no verdict.
    deletion: Option<Deletion>,
    action: Option<&'static str>,
    steps: Vec<String>,
    held: Vec<String>,
    /// The sentence about a trial, on which no program acts.
    tried: Option<&'static str>,
    /// The answers of the read, where they were asked for.
    answers: Vec<Answer>,
    /// The last warnings about it in Events.
    warnings: Vec<String>,
}

/// The text of a condition that says what the verdict says.
const THE_SAME: &str = "the same";

/// The text of a failed read whose reason is the verdict's sentence.
const IN_THE_VERDICT: &str = "the verdict says why";

/// The head of a paragraph, and its lines.
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
            None => (facts.verdict.status(), said(facts), poll, facts.is_drifted().then(|| action(facts).as_str())),
        };
        Self {
            kind: target.objects.kind.clone(),
            object: object.id.to_string(),
            target: target.name.clone(),
            place: format!("{}/{}", target.document.config_map, target.document.key),
            poll,
            status,
            verdict,
            stands: stands(conditions),
            doubt: None,
            report: None,
            written: StatusWrites::default(),
            deletion,
            action,
            steps,
            held,
            tried: None,
            answers: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Explains an object of a target whose active text is not known, by its conditions alone.
    #[must_use]
    pub(crate) fn unread(doubt: String, kind: &str, object: &LeanObject) -> Self {
        let conditions = &object.conditions;
        Self {
            kind: kind.to_owned(),
            object: object.id.to_string(),
            target: UNKNOWN_TARGET.to_owned(),
            place: "no known text selects it".to_owned(),
            poll: Poll { asked: Vec::new(), observed: Shown::Failed(doubt), causes: Vec::new(), differing: Vec::new() },
            status: ConditionStatus::Unknown,
            verdict: Value::Null,
            stands: stands(conditions),
            doubt: None,
            report: None,
            written: StatusWrites::default(),
            deletion: Deletion::of(object, None),
            action: None,
            steps: Vec::new(),
            held: vec!["by what its text says; where you have it, -f FILE explains by it".to_owned()],
            tried: None,
            answers: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The same with what the poller's Lease says against its condition.
    #[must_use]
    pub(crate) fn with_doubt(self, doubt: Option<Doubt>) -> Self {
        Self { doubt, ..self }
    }

    /// The same with the programs' last writes on the object's status.
    #[must_use]
    pub(crate) fn with_writes(self, written: StatusWrites) -> Self {
        Self { written, ..self }
    }

    /// The same with the name of the report that has its conditions.
    #[must_use]
    pub(crate) fn with_report(self, report: Option<String>) -> Self {
        Self { report, ..self }
    }

    /// The same as a trial, with the sentence about it.
    #[must_use]
    pub(crate) fn with_trial(self, tried: &'static str) -> Self {
        Self { tried: Some(tried), ..self }
    }

    /// The same with the answers of the read.
    #[must_use]
    pub(crate) fn with_answers(self, answers: Vec<Answer>) -> Self {
        Self { answers, ..self }
    }

    /// The same with the last warnings about it in Events.
    #[must_use]
    pub(crate) fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// The status of the drift.
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
                let why = if self.is_said_by_verdict(why) { IN_THE_VERDICT } else { why };
                std::iter::once(format!("nothing that can be told: {why}")).chain(causes).collect()
            }
        };
        let part = |field: &str| self.verdict.get(field).and_then(Value::as_str).unwrap_or_default();
        let verdict = || format!("driftObserved {}/{}: {}", part("status"), part("reason"), part("message"));
        let verdict = if self.verdict.is_null() { Vec::new() } else { vec![verdict()] };
        let stands = match self.stands.as_slice() {
            [] => vec!["nothing yet".to_owned()],
            stands => {
                let place = self.report.as_ref().map(|name| format!("in DriftReport {name}"));
                stands.iter().map(|placed| self.said_by(placed)).chain(place).collect()
            }
        };
        let paused = self.written.pause();
        let paused = paused.map(|write| format!("paused with {} at {}", write.manager, write.time));
        let stands = stands.into_iter().chain(paused).collect();
        let deleting = self.deletion.as_ref().map(Deletion::lines).unwrap_or_default();
        let mut paragraphs = vec![
            ("deleting", deleting),
            ("asked", asked),
            ("answered", self.answers.iter().flat_map(Answer::lines).collect()),
            ("observed", observed),
            ("differs", self.poll.differing.clone()),
        ];
        paragraphs.extend([("verdict", verdict), ("stands", stands), ("warned", self.warnings.clone())]);
        paragraphs.push(("would send", self.steps.clone()));
        paragraphs.extend([("held", self.held.clone()), ("follows", self.outlook())]);
        paragraphs.push(("tried", self.tried.map(str::to_owned).into_iter().collect()));
        paragraphs.retain(|(_, lines)| !lines.is_empty());
        paragraphs
    }

    /// Returns true if the verdict has this sentence.
    fn is_said_by_verdict(&self, why: &str) -> bool {
        let message = self.verdict.get("message").and_then(Value::as_str).unwrap_or_default();
        Tag::split(message).0 == why
    }

    /// A condition, in brackets if the poller does not stand by it. A verdict that equals it is not printed twice.
    fn said_by(&self, placed: &Placed) -> String {
        let Condition { kind, status, reason, .. } = &placed.condition;
        let stored = placed.stored_message();
        let part = |field: &str| self.verdict.get(field).and_then(Value::as_str).unwrap_or_default();
        let is_same = *kind == ConditionKind::Observed
            && (part("status"), part("reason"), part("message")) == (status.as_str(), &**reason, &*stored);
        let said = current(&placed.condition, if is_same { THE_SAME } else { &stored }, &self.written);
        match self.doubt.filter(|_| *kind == ConditionKind::Observed) {
            Some(doubt) => format!("{} ({said})", doubt.as_str()),
            None => said,
        }
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
        let action = self.action.unwrap_or("none");
        if self.tried.is_some() {
            return self
                .action
                .map(|action| format!("a correction ({action}), once the target is active"))
                .into_iter()
                .collect();
        }
        let follows = format!("a correction ({action}), as far as this can be seen from here");
        vec![follows, "the controller's Lease lists no hold of it".to_owned()]
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
            "asked": self.poll.asked, "answers": self.answers.iter().map(Answer::json).collect::<Vec<_>>(), "observed": observed, "failure": failure, "causes": self.poll.causes, "differs": self.poll.differing,
            "verdict": self.verdict, "stands": self.stands.iter().map(|placed| placed.condition.to_json()).collect::<Vec<_>>(),
            "report": self.report, "doubt": self.doubt.map(Doubt::as_str),
            "written": {
                "driftObserved": self.written.of_condition(ConditionKind::Observed),
                "driftCorrected": self.written.of_condition(ConditionKind::Corrected),
            },
            "paused": self.written.pause().map(|write| json!({"by": write.manager, "at": write.time})),
            "deletion": self.deletion.as_ref().map(Deletion::json), "action": self.action, "steps": self.steps, "held": self.held, "tried": self.tried,
            "warnings": self.warnings,
        })
    }
}

/// The conditions of both programs.
fn stands(conditions: &Conditions) -> Vec<Placed> {
    let of = |kind| conditions.placed(kind).cloned();
    [ConditionKind::Observed, ConditionKind::Corrected].into_iter().filter_map(of).collect()
}

/// The poller's condition without its time, as it is stored where the present one is.
fn said(facts: Facts<'_>) -> Value {
    let Facts { target, object, verdict, .. } = facts;
    let present = object.conditions.placed(ConditionKind::Observed).map(|placed| placed.generation_place);
    let place = match target.objects.conditions {
        ConditionsPlace::Object => present.unwrap_or_default(),
        ConditionsPlace::Report => GenerationPlace::Tag,
    };
    let said = verdict.to_condition(None, "");
    json!({"status": said.status.as_str(), "reason": said.reason, "message": said.stored_message(place)})
}

fn current(condition: &Condition, text: &str, written: &StatusWrites) -> String {
    let Condition { kind, status, reason, last_transition_time, .. } = condition;
    let written = written.of_condition(*kind).map(|time| format!(", last written {time}")).unwrap_or_default();
    let (kind, status) = (kind.as_str(), status.as_str());
    format!("{kind} {status}/{reason}: {text} (status since {last_transition_time}{written})")
}

#[cfg(test)]
mod tests;
