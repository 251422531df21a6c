//! Tells people what happened: Events on the object, once for each transition, and on the ConfigMap of a target whose
//! kind cannot be used.
//!
//! Which transition is worth an Event is the engine's business.

use drift_api::object::ObjectId;
use drift_kube::access::Right;
use drift_kube::access::missing::RightsNews;
use drift_kube::client::ResolvedKind;
use drift_kube::events::{EventWriter, Notice, NoticeKind, config_map_reference};
use drift_kube::kinds::KindNews;
use drift_language::Target;

use crate::engine::EndedWrite;
use crate::engine::writes::announcement::Announcement;
use crate::run::context::Context;

/// Says on an object that its verdict cannot be written, and why.
pub(crate) fn tell_of_refusal(
    events: &EventWriter,
    target: &Target,
    kind: &ResolvedKind,
    (object, sentence): (&ObjectId, &str),
) {
    tracing::error!(target_name = target.name, %object, "driftObserved cannot be written: {sentence}");
    events.emit(Notice {
        target: target.name.clone(),
        regarding: kind.reference(object),
        kind: NoticeKind::Warning,
        reason: "WriteRefused",
        action: "Record",
        note: format!("driftObserved cannot be written: {sentence}"),
    });
}

/// Says on an object that its verdict goes back and forth.
pub(crate) fn tell_of_flapping(events: &EventWriter, target: &Target, kind: &ResolvedKind, object: &ObjectId) {
    tracing::warn!(target_name = target.name, %object, "the verdict goes back and forth");
    let note = "the verdict changed its status more than six times within minutes: either another writer undoes the \
                corrections, or the external system comes and goes";
    events.emit(Notice {
        target: target.name.clone(),
        regarding: kind.reference(object),
        kind: NoticeKind::Warning,
        reason: "VerdictFlapping",
        action: "Poll",
        note: note.to_owned(),
    });
}

/// Sends the Event of a verdict that was written, if it has one.
pub(crate) fn tell(events: &EventWriter, target: &Target, kind: &ResolvedKind, result: &EndedWrite) {
    let Some(announcement) = result.begun.announcement else { return };
    events.emit(Notice {
        target: target.name.clone(),
        regarding: kind.reference(&result.before.id),
        kind: match announcement {
            Announcement::DriftObserved => NoticeKind::Warning,
            Announcement::DriftCleared => NoticeKind::Normal,
        },
        reason: announcement.reason(),
        action: "Poll",
        note: result.begun.condition.message.to_string(),
    });
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

/// Says on the target's ConfigMap that its kind cannot be used and what to do, or that it can be used again.
pub(crate) fn tell_of_kind(events: &EventWriter, target: &Target, home: &str, news: KindNews) {
    let (kind, reason, note) = match news {
        KindNews::Unusable(sentence) => {
            tracing::error!(target_name = target.name, "{sentence}");
            (NoticeKind::Warning, "KindUnusable", format!("target {} is not polled: {sentence}", target.name))
        }
        KindNews::Usable => {
            tracing::info!(target_name = target.name, "the kind can be used");
            (NoticeKind::Normal, "KindUsable", format!("the kind of target {} can be used now", target.name))
        }
    };
    let regarding = config_map_reference(home, &target.document.config_map);
    events.emit(Notice { target: target.name.clone(), regarding, kind, reason, action: "Load", note });
}

/// Notes that these rights are needed for as long as it is polled, and tells which are missing. Never ends.
pub(crate) async fn follow_rights(context: &Context, target: &Target, needed: Vec<Right>) {
    let mut missing = context.rights.follow_missing(needed.clone());
    let _needed = context.rights.need(needed);
    loop {
        tell_of_rights(&context.events, target, &context.home, &missing.next().await);
    }
}

/// Says on the target's ConfigMap which rules it needs, or that they are there.
fn tell_of_rights(events: &EventWriter, target: &Target, home: &str, news: &RightsNews) {
    let (kind, reason, note) = news.words("drift-poller", &target.name);
    let regarding = config_map_reference(home, &target.document.config_map);
    events.emit(Notice { target: target.name.clone(), regarding, kind, reason, action: "Load", note });
}
