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
use drift_language::{Mode, Target};

use crate::engine::EndedWrite;
use crate::engine::writes::announcement::Announcement;
use crate::run::context::Context;

/// The Events on objects of one target.
pub(crate) struct ObjectNotices {
    events: EventWriter,
    target: String,
    /// The target corrects, so that what a record says of another object is of now.
    corrects: bool,
    kind: ResolvedKind,
}

impl ObjectNotices {
    /// Events on objects of this kind.
    pub(crate) fn new(events: &EventWriter, target: &Target, kind: &ResolvedKind) -> Self {
        let corrects = target.correct.mode == Mode::Correct;
        Self { events: events.clone(), target: target.name.clone(), corrects, kind: kind.clone() }
    }

    /// The verdict of the object cannot be written, for the reason in this sentence.
    pub(crate) fn tell_of_refusal(&self, object: &ObjectId, sentence: &str) {
        let note = format!("driftObserved cannot be written: {sentence}");
        tracing::error!(target_name = self.target, %object, "{note}");
        self.emit(object, NoticeKind::Warning, "WriteRefused", "Record", note);
    }

    /// The verdict of the object goes back and forth.
    pub(crate) fn tell_of_flapping(&self, object: &ObjectId) {
        tracing::warn!(target_name = self.target, %object, "the verdict goes back and forth");
        let note = "the verdict changed its status more than six times within minutes: either another writer undoes the \
                    corrections, or the external system comes and goes";
        self.emit(object, NoticeKind::Warning, "VerdictFlapping", "Poll", note.to_owned());
    }

    /// A verdict was written, which has an Event or none.
    pub(crate) fn tell_of_verdict(&self, write: &EndedWrite) {
        let is_anothers = self.corrects && write.before.conditions.held_by_another().is_some();
        let Some(announcement) = write.begun.announcement.filter(|_| !is_anothers) else { return };
        let kind = match announcement {
            Announcement::DriftObserved => NoticeKind::Warning,
            Announcement::DriftCleared => NoticeKind::Normal,
        };
        self.emit(&write.before.id, kind, announcement.reason(), "Poll", write.begun.condition.message.to_string());
    }

    /// Two targets select the object, and this one leaves it alone.
    pub(crate) fn tell_of_overlap(&self, object: &ObjectId) {
        let target = &self.target;
        tracing::warn!(target_name = target, %object, "another target, first by name, selects the object too");
        let note = format!("target {target} leaves the object to another target, first by name, that selects it");
        self.emit(object, NoticeKind::Warning, "ClaimedTwice", "Poll", note);
    }

    fn emit(&self, object: &ObjectId, kind: NoticeKind, reason: &'static str, action: &'static str, note: String) {
        let (target, regarding) = (self.target.clone(), self.kind.reference(object));
        self.events.emit(Notice { target, regarding, kind, reason, action, note });
    }
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
