//! Tells people what happened: Events on the object, once for each transition, and on the ConfigMap of a target whose
//! kind cannot be used.
//!
//! Which transition is worth an Event is the core's business.

use drift_shared::object::ObjectId;
use drift_shared::runtime::{EventWriter, Notice, NoticeKind, ResolvedKind, config_map_reference};
use drift_shared::target::Target;

use crate::core::announcement::{Announcement, announce};
use crate::core::write_attempts::WriteOutcome;
use crate::record::WriteResult;

/// Sends the Event that belongs to a write, if any.
pub(crate) fn tell(events: &EventWriter, target: &Target, kind: &ResolvedKind, result: &WriteResult) {
    let notice = |kind_of_news, reason, action, note: &str| Notice {
        target: target.name.clone(),
        regarding: kind.reference(&result.before.id),
        kind: kind_of_news,
        reason,
        action,
        note: note.to_owned(),
    };
    if let Some(sentence) = &result.refusal {
        tracing::error!(target_name = target.name, object = %result.before.id, "driftObserved cannot be written: {sentence}");
        let note = format!("driftObserved cannot be written: {sentence}");
        events.emit(notice(NoticeKind::Warning, "WriteRefused", "Record", &note));
    }
    if result.outcome != WriteOutcome::Written {
        return;
    }
    match announce(result.before.conditions.observed(), &result.condition) {
        Some(Announcement::DriftObserved) => {
            events.emit(notice(NoticeKind::Warning, "DriftObserved", "Poll", &result.condition.message));
        }
        Some(Announcement::DriftCleared) => {
            events.emit(notice(NoticeKind::Normal, "DriftCleared", "Poll", &result.condition.message));
        }
        None => {}
    }
}

/// Says on an object that two targets select it, and which leaves it alone.
pub(crate) fn tell_of_overlap(events: &EventWriter, target: &Target, kind: &ResolvedKind, object: &ObjectId) {
    tracing::warn!(target_name = target.name, %object, "another target, first by name, selects the object too");
    let note = format!("target {} leaves the object to another target, first by name, that selects it", target.name);
    events.emit(Notice {
        target: target.name.clone(),
        regarding: kind.reference(object),
        kind: NoticeKind::Warning,
        reason: "ClaimedTwice",
        action: "Poll",
        note,
    });
}

/// Says on the target's ConfigMap that its kind cannot be used, and what to do.
pub(crate) fn tell_of_kind(events: &EventWriter, target: &Target, home: &str, sentence: &str) {
    events.emit(Notice {
        target: target.name.clone(),
        regarding: config_map_reference(home, &target.document.config_map),
        kind: NoticeKind::Warning,
        reason: "KindUnusable",
        action: "Load",
        note: format!("target {} is not polled: {sentence}", target.name),
    });
}
