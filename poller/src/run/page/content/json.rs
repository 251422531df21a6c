//! The content as JSON, for programs.

use drift_api::held_corrections::Hold;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Content, ShownObject, TargetLine};
use crate::engine::object::overview::{RowCondition, TargetOverview};

impl Content {
    /// The targets as JSON.
    #[must_use]
    pub(in crate::run::page) fn targets_json(&self) -> Value {
        self.targets.iter().map(target_json).collect()
    }

    /// The objects as JSON.
    #[must_use]
    pub(in crate::run::page) fn objects_json(&self) -> Value {
        let objects: Vec<Value> = self.objects().into_iter().map(|object| object_json(object, self.now)).collect();
        json!({"matching": self.matching(), "objects": objects})
    }
}

fn target_json(line: &TargetLine) -> Value {
    let counts = |overview: &TargetOverview| {
        json!({"inSync": overview.counts.in_sync, "drifted": overview.counts.drifted, "unknown": overview.counts.unknown,
            "deleting": overview.counts.deleting,
            "latenessSeconds": overview.lateness.as_secs_f64()})
    };
    json!({"name": line.name, "kind": format!("{} {}", line.api_version, line.kind),
        "intervalSeconds": line.interval.as_secs_f64(), "mode": line.mode, "attested": line.attestation.is_some(),
        "held": line.held.iter().cloned().chain(line.listed()).map(|hold| hold.json()).collect::<Vec<_>>(), "objects": line.overview.as_ref().map(counts)})
}

fn object_json(object: ShownObject<'_>, now: Timestamp) -> Value {
    let ShownObject { target, row } = object;
    let condition = |condition: &RowCondition| {
        json!({"status": condition.status.as_str(), "reason": condition.reason, "text": condition.text,
            "since": condition.since})
    };
    json!({"target": target.name, "kind": target.kind, "object": row.id.to_string(),
        "driftObserved": row.verdict.as_ref().map(condition), "driftCorrected": row.correction.as_ref().map(condition),
        "held": object.held(now).iter().map(Hold::json).collect::<Vec<_>>(), "marks": row.marks, "nextPollSeconds": row.next_poll.map(|next| next.as_secs_f64())})
}
