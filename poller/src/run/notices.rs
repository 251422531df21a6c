//! Events and log lines: on objects, once for each transition, and on the ConfigMap of a target whose kind cannot be used.
//!
//! The engine decides which transition gets an Event.

use std::borrow::Cow;
use std::time::Duration;

use drift_api::condition::Condition;
use drift_api::held_corrections::{Held, Hold};
use drift_api::object::ObjectId;
use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::access::with_roles;
use drift_kube::events::config_map_reference;
use drift_kube::process::clock;
use drift_kube::{EventWriter, KindNews, Notice, NoticeKind, ResolvedKind, Right, RightsNews};
use drift_language::{ConditionsPlace, Target};

use crate::engine::WrittenVerdict;
use crate::engine::writes::announcement::Announcement;
use crate::run::context::Context;

/// INFO lines about written verdicts at once, for one target. An incident of a few objects is logged whole.
const LOG_BURST: u32 = 25;

/// Time after which one more INFO line is allowed. In a mass outage the metrics and the log of failed reads say as much.
const LOG_REFILL: Duration = Duration::from_secs(1);

/// Bytes of a verdict's message in the log: the reason and the first fields.
const LOGGED_BYTES: usize = 160;

/// The Events on objects of one target, and the log lines about them.
pub(crate) struct ObjectNotices {
    events: EventWriter,
    target: String,
    /// True if the target corrects. Otherwise the record of another owner is outdated.
    corrects: bool,
    /// Remedy for a verdict that others remove. `None` if it is kept in a report.
    against_removals: Option<&'static str>,
    kind: ResolvedKind,
    log_budget: TokenBucket,
}

impl ObjectNotices {
    /// Events on objects of this kind.
    pub(crate) fn new(events: &EventWriter, target: &Target, kind: &ResolvedKind) -> Self {
        let corrects = target.correct.mode.corrects();
        let log_budget = TokenBucket::full(LOG_BURST, LOG_REFILL, clock::now());
        let against_removals = against_removals(target, kind);
        Self {
            events: events.clone(),
            target: target.name.clone(),
            corrects,
            against_removals,
            kind: kind.clone(),
            log_budget,
        }
    }

    /// Reports that the API server refuses the verdict of an object, for the reason in this sentence.
    pub(crate) fn refusal(&self, object: &ObjectId, sentence: &str) {
        let note = format!("driftObserved cannot be written: {}", with_roles(sentence));
        let (target, kind, namespace) = (&self.target, &self.kind.resource.kind, object.namespace.as_deref());
        let (name, uid) = (&*object.name, &*object.uid);
        tracing::error!(target, kind, namespace, name, uid, cause = sentence, "driftObserved cannot be written");
        self.emit(object, NoticeKind::Warning, "WriteRefused", "Record", note);
    }

    /// Reports that the verdict of an object alternates.
    pub(crate) fn flapping(&self, object: &ObjectId) {
        let (target, kind, namespace) = (&self.target, &self.kind.resource.kind, object.namespace.as_deref());
        let (name, uid) = (&*object.name, &*object.uid);
        tracing::warn!(target, kind, namespace, name, uid, "the verdict alternates");
        let note = "the verdict changed its status after six other writes within minutes: the external system gives \
                    different answers in turn, another writer undoes corrections, or published fields keep changing; \
                    `kubectl drift explain` a few times in a row shows which";
        self.emit(object, NoticeKind::Warning, "VerdictFlapping", "Poll", note.to_owned());
    }

    /// Reports that other writers remove the verdict of an object again and again.
    pub(crate) fn removal(&self, object: &ObjectId) {
        let Some(step) = self.against_removals else { return };
        let (target, kind, namespace) = (&self.target, &self.kind.resource.kind, object.namespace.as_deref());
        let (name, uid) = (&*object.name, &*object.uid);
        tracing::warn!(target, kind, namespace, name, uid, "another writer removes driftObserved");
        let note = format!("another writer removed driftObserved six times within an hour: {step}");
        self.emit(object, NoticeKind::Warning, "VerdictRemoved", "Record", note);
    }

    /// Reports a written verdict: a log line, and an Event for a transition.
    pub(crate) fn verdict(&mut self, written: &WrittenVerdict) {
        let WrittenVerdict { before, condition, announcement } = written;
        self.log_verdict(&before.id, condition);
        let is_anothers = self.corrects && before.conditions.held_by_another().is_some();
        let Some(announcement) = announcement.filter(|_| !is_anothers) else { return };
        let kind = match announcement {
            Announcement::DriftObserved => NoticeKind::Warning,
            Announcement::DriftCleared => NoticeKind::Normal,
        };
        self.emit(&before.id, kind, announcement.reason(), "Poll", condition.message.to_string());
    }

    fn log_verdict(&mut self, object: &ObjectId, condition: &Condition) {
        let (target, kind) = (&self.target, &self.kind.resource.kind);
        let (namespace, name, uid) = (object.namespace.as_deref(), &*object.name, &*object.uid);
        let (status, reason) = (condition.status.as_str(), &*condition.reason);
        let text = &*beginning(condition.message.sentence());
        let correction = condition.message.tag().map_or(0, |tag| tag.correction);
        macro_rules! wrote {
            ($level:ident) => {
                tracing::$level!(
                    target,
                    kind,
                    namespace,
                    name,
                    uid,
                    status,
                    reason,
                    correction,
                    text,
                    "wrote driftObserved"
                )
            };
        }
        if self.log_budget.take(clock::now()).is_ok() { wrote!(info) } else { wrote!(debug) }
    }

    /// Reports that another target owns the object (the first by name wins).
    pub(crate) fn overlap(&self, object: &ObjectId) {
        let (target, kind, namespace) = (&self.target, &self.kind.resource.kind, object.namespace.as_deref());
        tracing::warn!(
            target,
            kind,
            namespace,
            name = &*object.name,
            uid = &*object.uid,
            "another target, first by name, selects the object too"
        );
        let note = format!("target {target}: {}", Hold::from(Held::ClaimedTwice).sentence);
        self.emit(object, NoticeKind::Warning, "ClaimedTwice", "Poll", note);
    }

    fn emit(&self, object: &ObjectId, kind: NoticeKind, reason: &'static str, action: &'static str, note: String) {
        let (target, regarding) = (self.target.clone(), self.kind.reference(object));
        self.events.emit(Notice { target, regarding, kind, reason, action, note });
    }
}

/// Returns the step against writers that remove the verdict. `None` if it is kept in a report.
fn against_removals(target: &Target, kind: &ResolvedKind) -> Option<&'static str> {
    let may_report = target.may_keep_reports() && kind.namespaced;
    match target.objects.conditions {
        ConditionsPlace::Report => None,
        ConditionsPlace::Object if may_report => {
            Some("keep the conditions beside the objects with objects.conditions: Report in the target")
        }
        ConditionsPlace::Object => {
            Some("its operator has to keep conditions of others when it writes .status.conditions")
        }
    }
}

/// Returns the beginning of a message, cut at a character.
fn beginning(message: &str) -> Cow<'_, str> {
    match message.get(..message.floor_char_boundary(LOGGED_BYTES)) {
        Some(start) if start.len() < message.len() => format!("{start}…").into(),
        _ => message.into(),
    }
}

/// Reports on the target's ConfigMap that its kind cannot be used and what to do, or that it can be used again.
pub(crate) fn tell_of_kind(events: &EventWriter, target: &Target, home: &str, news: KindNews) {
    let (kind, reason, note) = match news {
        KindNews::Unusable(sentence) => {
            tracing::error!(target = target.name, cause = sentence, "the kind cannot be used");
            (NoticeKind::Warning, "KindUnusable", format!("target {} is not polled: {sentence}", target.name))
        }
        KindNews::Usable => {
            tracing::info!(target = target.name, "the kind can be used");
            (NoticeKind::Normal, "KindUsable", format!("the kind of target {} can be used now", target.name))
        }
    };
    let regarding = config_map_reference(home, &target.document.config_map);
    events.emit(Notice { target: target.name.clone(), regarding, kind, reason, action: "Load", note });
}

/// Registers rights as needed for as long as this is polled, and reports which are missing. Never ends.
pub(crate) async fn follow_rights(context: &Context, target: &Target, needed: Vec<Right>) {
    let mut missing = context.rights.follow_missing(needed.clone());
    let _needed = context.rights.need(needed);
    loop {
        tell_of_rights(&context.events, target, &context.home, &missing.next().await);
    }
}

/// Reports on the target's ConfigMap which rules it needs, or that they exist.
fn tell_of_rights(events: &EventWriter, target: &Target, home: &str, news: &RightsNews) {
    let (kind, reason, note) = news.words("drift-poller", &target.name);
    let regarding = config_map_reference(home, &target.document.config_map);
    events.emit(Notice { target: target.name.clone(), regarding, kind, reason, action: "Load", note });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_the_beginning_of_a_message() {
        assert_eq!(beginning("1 field differs"), "1 field differs");
        let long = "ü".repeat(LOGGED_BYTES);
        assert_eq!(beginning(&long), format!("{}…", "ü".repeat(LOGGED_BYTES / 2)));
        let whole = "x".repeat(LOGGED_BYTES);
        assert_eq!(beginning(&whole), whole);
    }
}
