//! The content of the status page and of its JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_kube::config::Configuration;
use drift_language::{Mode, Target};
use serde_json::{Value, json};

use crate::engine::object::overview::{MOST_ROWS, ObjectRow, Question, RowCondition, Shown, TargetOverview};
use crate::run::attestation::AttestationList;

/// All that is shown.
#[derive(Debug)]
pub(super) struct Content {
    /// The query.
    pub(super) question: Question,
    /// The command that finds the leader, if it is another replica.
    pub(super) leader_elsewhere: Option<String>,
    /// The mistakes of documents that are not active.
    pub(super) problems: Vec<String>,
    /// Every active target.
    pub(super) targets: Vec<TargetLine>,
}

/// One target.
#[derive(Debug)]
pub(super) struct TargetLine {
    /// Its name.
    pub(super) name: String,
    /// `apiVersion kind` of its objects.
    pub(super) kind: String,
    /// Time between polls.
    pub(super) interval: Duration,
    /// The mode: `Observe`, `Correct`, or `suspended`.
    pub(super) mode: &'static str,
    /// True if it is listed on our Lease.
    pub(super) attested: bool,
    /// The overview of its objects; `None` while it has no kind, is busy, or another replica leads.
    pub(super) overview: Option<TargetOverview>,
}

/// Parses the query of a URL. Unknown parameters are ignored.
#[must_use]
pub(super) fn parse(query: &str) -> Question {
    let mut asked = Question { with_rows: true, ..Question::default() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "target" if !value.is_empty() => asked.target = Some(value.into_owned()),
            "search" => value.trim().clone_into(&mut asked.search),
            "shown" => asked.shown = Shown::parse(&value),
            _ => {}
        }
    }
    asked
}

impl Content {
    /// Returns the content for a query.
    #[must_use]
    pub(super) fn new(
        question: Question,
        configuration: &Configuration,
        attestations: &AttestationList,
        answers: &BTreeMap<String, TargetOverview>,
    ) -> Self {
        let line = |(name, target): (&String, &std::sync::Arc<Target>)| TargetLine {
            name: name.clone(),
            kind: format!("{} {}", target.objects.api_version, target.objects.kind),
            interval: target.interval,
            mode: mode(target),
            attested: attestations.is_written(name),
            overview: answers.get(name).cloned(),
        };
        let targets = configuration.targets.iter().map(line).collect();
        let problems = configuration.problems.iter().map(ToString::to_string).collect();
        Self { question, leader_elsewhere: None, problems, targets }
    }

    /// The objects that are shown, with the target of each.
    pub(super) fn rows(&self) -> Vec<(&str, &ObjectRow)> {
        let with_rows = self.targets.iter().filter_map(|line| Some((line.name.as_str(), line.overview.as_ref()?)));
        let rows = with_rows.flat_map(|(target, overview)| overview.rows.iter().map(move |row| (target, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|(_, row)| row.rank());
        rows.truncate(MOST_ROWS);
        rows
    }

    /// Returns the number of objects that are asked for.
    #[must_use]
    pub(super) fn matching(&self) -> usize {
        self.targets.iter().filter_map(|line| line.overview.as_ref()).map(|overview| overview.matching).sum()
    }

    /// The targets as JSON.
    #[must_use]
    pub(super) fn targets_json(&self) -> Value {
        self.targets.iter().map(target_json).collect()
    }

    /// The objects as JSON.
    #[must_use]
    pub(super) fn objects_json(&self) -> Value {
        let objects: Vec<Value> = self.rows().into_iter().map(|(target, row)| row_json(target, row)).collect();
        json!({"matching": self.matching(), "objects": objects})
    }
}

const fn mode(target: &Target) -> &'static str {
    match target.correct.mode {
        _ if target.suspend => "suspended",
        Mode::Observe => "Observe",
        Mode::Correct => "Correct",
    }
}

fn target_json(line: &TargetLine) -> Value {
    let counts = |overview: &TargetOverview| {
        json!({"inSync": overview.counts.in_sync, "drifted": overview.counts.drifted, "unknown": overview.counts.unknown,
            "deleting": overview.counts.deleting,
            "latenessSeconds": overview.lateness.as_secs_f64()})
    };
    json!({"name": line.name, "kind": line.kind, "intervalSeconds": line.interval.as_secs_f64(), "mode": line.mode,
        "attested": line.attested, "objects": line.overview.as_ref().map(counts)})
}

fn row_json(target: &str, row: &ObjectRow) -> Value {
    let condition = |condition: &RowCondition| {
        json!({"status": condition.status.as_str(), "reason": condition.reason, "text": condition.text,
            "since": condition.since})
    };
    json!({"target": target, "object": row.object, "driftObserved": row.verdict.as_ref().map(condition),
        "driftCorrected": row.correction.as_ref().map(condition), "marks": row.marks,
        "nextPollSeconds": row.next_poll.map(|next| next.as_secs_f64())})
}
