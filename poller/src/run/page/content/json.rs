//! The content as JSON, for programs.

use drift_api::held_corrections::Hold;
use serde_json::{Value, json};

use super::alarms::{Alarm, address, alarms};
use super::{Content, ShownObject, TargetLine};
use crate::engine::object::overview::{RowCondition, TargetOverview};

impl Content {
    /// The targets as JSON, the worst first.
    #[must_use]
    pub(in crate::run::page) fn targets_json(&self) -> Value {
        self.ranked().into_iter().map(target_json).collect()
    }

    /// One page of the objects as JSON.
    #[must_use]
    pub(in crate::run::page) fn objects_json(&self) -> Value {
        let page = self.objects();
        let alarms: Vec<Value> = alarms(self).iter().map(alarm_json).collect();
        let objects: Vec<Value> = page.items.into_iter().map(object_json).collect();
        json!({"matching": page.total, "page": page.number + 1, "pages": page.count, "alarms": alarms, "objects": objects})
    }
}

fn target_json(line: &TargetLine) -> Value {
    let counts = |overview: &TargetOverview| {
        json!({"inSync": overview.counts.in_sync, "drifted": overview.counts.drifted, "unknown": overview.counts.unknown,
            "deleting": overview.counts.deleting,
            "latenessSeconds": overview.lateness.as_secs_f64()})
    };
    let words = line.overview.iter().flat_map(|overview| &overview.words);
    let alarms: Vec<Value> = words.map(|(word, found)| json!({"reason": word, "count": found.count})).collect();
    json!({"name": line.name, "kind": format!("{} {}", line.api_version, line.kind),
        "intervalSeconds": line.interval.as_secs_f64(), "mode": line.mode, "attested": line.attested,
        "rank": line.trouble().as_str(), "alarms": alarms,
        "held": line.holds().map(Hold::json).collect::<Vec<_>>(), "objects": line.overview.as_ref().map(counts)})
}

fn alarm_json(alarm: &Alarm) -> Value {
    json!({"reason": alarm.word, "count": alarm.count, "of": alarm.unit, "text": alarm.text, "command": alarm.command})
}

fn object_json(object: ShownObject<'_>) -> Value {
    let ShownObject { target, row } = object;
    let condition = |condition: &RowCondition| {
        json!({"status": condition.status.as_str(), "reason": condition.reason, "text": condition.text,
            "since": condition.since})
    };
    json!({"target": target.name, "kind": target.kind, "object": row.id.to_string(),
        "address": address(target, &row.id).to_string(), "rank": row.rank().as_str(), "report": row.report,
        "driftObserved": row.verdict.as_ref().map(condition), "driftCorrected": row.correction.as_ref().map(condition),
        "held": row.holds.iter().map(Hold::json).collect::<Vec<_>>(), "marks": row.marks,
        "nextPollSeconds": row.next_poll.map(|next| next.as_secs_f64())})
}
