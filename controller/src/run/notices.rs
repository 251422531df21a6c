//! Events and log lines: on objects, once for each transition, and on the ConfigMap of a target.
//!
//! The texts hold nothing of an external system's answer. That of a held deletion may have words of people: the `else` of a
//! requirement, errors of templates, the reason of a pause. The caller decides if something is a transition.

use drift_api::condition::{CorrectedReason, CorrectionStatus};
use drift_api::held_corrections::{BreakerCounts, Held, Hold, TargetHold};
use drift_api::object::LeanObject;
use drift_kube::access::with_roles;
use drift_kube::events::config_map_reference;
use drift_kube::{EventWriter, KindNews, Notice, NoticeKind, ResolvedKind, RightsNews, Selection};
use drift_language::Target;
use k8s_openapi::api::core::v1::ObjectReference;

use crate::engine::corrections::correction::STILL_FOUND;
use crate::engine::decide::mass_drift_breaker::Transition;

/// The Events and log lines of one target.
#[derive(Clone, Debug)]
pub struct Announcer {
    /// The writer of Events.
    pub events: EventWriter,
    /// The target's name.
    pub target: String,
    /// The target's ConfigMap in `home`.
    pub config_map: String,
    /// The namespace of the controller.
    pub home: String,
}

impl Announcer {
    /// An announcer for an active target.
    #[must_use]
    pub fn new(events: EventWriter, target: &Target, home: &str) -> Self {
        let config_map = target.document.config_map.clone();
        Self { events, target: target.name.clone(), config_map, home: home.to_owned() }
    }

    /// An announcer for a target that may be gone: as it is noted, with its ConfigMap.
    #[must_use]
    pub fn of_noted(events: EventWriter, (selection, config_map): (&Selection, &str), home: &str) -> Self {
        Self { events, target: selection.target.clone(), config_map: config_map.to_owned(), home: home.to_owned() }
    }

    /// Reports a written status.
    pub fn status(&self, kind: &ResolvedKind, object: &LeanObject, status: &CorrectionStatus) {
        let Some(reason) = status.reason else { return };
        let (news, reason) = match reason {
            // What a deletion did not find is reported once a poll has judged it.
            CorrectedReason::CorrectionStarted | CorrectedReason::IdentityFree | CorrectedReason::DeletionUnclear => {
                return;
            }
            CorrectedReason::CorrectionApplied => (NoticeKind::Normal, "DriftCorrected"),
            CorrectedReason::CorrectionFailed => (NoticeKind::Warning, "CorrectionFailed"),
            CorrectedReason::AttemptsExhausted => (NoticeKind::Warning, "AttemptsExhausted"),
            CorrectedReason::CreationInDoubt => (NoticeKind::Warning, "CreationInDoubt"),
            CorrectedReason::StoredIdChanged => (NoticeKind::Warning, "StoredIdChanged"),
            CorrectedReason::AwaitingApproval => (NoticeKind::Normal, "AwaitingApproval"),
            CorrectedReason::NotOurs => (NoticeKind::Warning, "NotOurs"),
            CorrectedReason::IdentityChanged => (NoticeKind::Warning, "IdentityChanged"),
            CorrectedReason::IdentityTaken => (NoticeKind::Warning, "IdentityTaken"),
            CorrectedReason::IdentityContested => (NoticeKind::Warning, "IdentityContested"),
        };
        self.on_object(kind, object, (news, reason, "Correct"), status.message());
    }

    /// Reports that the finalizer was removed without a deletion outside.
    pub fn left_behind(&self, kind: &ResolvedKind, object: &LeanObject) {
        let note = "the finalizer is removed; the external resource of the object stays as it is".to_owned();
        self.on_object(kind, object, (NoticeKind::Warning, "ExternalLeftBehind", "Release"), note);
    }

    /// Reports a deletion that waits for a decision.
    pub fn deletion_held(&self, kind: &ResolvedKind, object: &LeanObject, hold: &Hold) {
        let note = format!("not deleted outside: {}", hold.sentence);
        self.on_object(kind, object, (NoticeKind::Warning, "DeletionHeld", "Delete"), note);
    }

    /// Reports a correction or a deletion that waits for other targets of its scope.
    pub fn scope_incomplete(&self, kind: &ResolvedKind, object: &LeanObject, awaited: &str) {
        let (reason, action, what) = match object.deleting {
            true => ("DeletionHeld", "Delete", "not deleted outside"),
            false => ("CorrectionHeld", "Correct", "not corrected"),
        };
        let hold = Hold::by(Held::ScopeIncomplete, Held::ScopeIncomplete.cause(), awaited);
        self.on_object(kind, object, (NoticeKind::Warning, reason, action), format!("{what}: {}", hold.sentence));
    }

    /// Reports that the deletion finds nothing where a poll still finds the resource.
    pub fn deletion_found_nothing(&self, kind: &ResolvedKind, object: &LeanObject) {
        let note = STILL_FOUND.to_owned();
        let (target, kind_name, namespace) = (&self.target, &kind.resource.kind, object.id.namespace.as_deref());
        let (name, uid) = (&*object.id.name, &*object.id.uid);
        let correction = object.conditions.correction_status().correction;
        tracing::warn!(target, kind = kind_name, namespace, name, uid, correction, note, "a deletion finds nothing");
        self.on_object(kind, object, (NoticeKind::Warning, "DeletionFoundNothing", "Delete"), note);
    }

    /// Reports that two targets select the object.
    pub fn claimed_twice(&self, kind: &ResolvedKind, object: &LeanObject) {
        let hold = Hold::from(Held::ClaimedTwice);
        let note = format!("target {}: {}", self.target, hold.sentence);
        self.on_object(kind, object, (NoticeKind::Warning, "ClaimedTwice", "Correct"), note);
    }

    /// Reports that the API server refuses a write to the object, of the correction with this number.
    pub fn write_refused(&self, kind: &ResolvedKind, object: &LeanObject, (correction, sentence): (u64, &str)) {
        let note = format!("the object cannot be written: {}", with_roles(sentence));
        let (target, kind_name, namespace) = (&self.target, &kind.resource.kind, object.id.namespace.as_deref());
        let (name, uid) = (&*object.id.name, &*object.id.uid);
        tracing::error!(
            target,
            kind = kind_name,
            namespace,
            name,
            uid,
            correction,
            cause = sentence,
            "an object cannot be written"
        );
        self.on_object(kind, object, (NoticeKind::Warning, "WriteRefused", "Record"), note);
    }

    /// Reports that the breaker opened, closed, or stays open although its limit was raised.
    pub fn breaker(&self, transition: Transition) {
        let target = &self.target;
        let (news, reason, note) = match transition {
            Transition::Opened(counts) => {
                (NoticeKind::Warning, "BreakerOpened", TargetHold::BreakerOpen(counts).sentence(target))
            }
            Transition::StaysOpen(counts, limit) => {
                (NoticeKind::Warning, "BreakerStaysOpen", stays_open(target, counts, limit))
            }
            Transition::Closed => (NoticeKind::Normal, "BreakerClosed", format!("target {target} is corrected again")),
        };
        match transition {
            Transition::Opened(_) => tracing::warn!(target, reason, note, "the breaker opened"),
            Transition::StaysOpen(..) => tracing::warn!(target, reason, note, "the breaker stays open"),
            Transition::Closed => tracing::info!(target, reason, "the breaker closed"),
        }
        self.on_config_map((news, reason, "Correct"), note);
    }

    /// Reports that the target's kind cannot be used, or can be used again.
    pub fn kind(&self, news: KindNews) {
        let target = &self.target;
        let (news, reason, note) = match news {
            KindNews::Unusable(sentence) => {
                tracing::error!(target = target, cause = sentence, "the kind cannot be used");
                (NoticeKind::Warning, "KindUnusable", format!("target {target} is not corrected: {sentence}"))
            }
            KindNews::Usable => {
                tracing::info!(target = target, "the kind can be used");
                (NoticeKind::Normal, "KindUsable", format!("the kind of target {target} can be used now"))
            }
        };
        self.on_config_map((news, reason, "Load"), note);
    }

    /// Reports that rights which the target's kind needs are missing, or exist again.
    pub fn rights(&self, news: &RightsNews) {
        let (news, reason, note) = news.words("drift-controller", &self.target);
        self.on_config_map((news, reason, "Load"), note);
    }

    fn on_object(
        &self,
        kind: &ResolvedKind,
        object: &LeanObject,
        news: (NoticeKind, &'static str, &'static str),
        note: String,
    ) {
        self.emit(kind.reference(&object.id), news, note);
    }

    fn on_config_map(&self, news: (NoticeKind, &'static str, &'static str), note: String) {
        self.emit(config_map_reference(&self.home, &self.config_map), news, note);
    }

    fn emit(&self, regarding: ObjectReference, news: (NoticeKind, &'static str, &'static str), note: String) {
        let (kind, reason, action) = news;
        self.events.emit(Notice { target: self.target.clone(), regarding, kind, reason, action, note });
    }
}

/// The note about a limit that was raised too little. The share may be below the new limit, because objects came since.
fn stays_open(target: &str, counts: BreakerCounts, raised_to: u8) -> String {
    let BreakerCounts { drifted, judged, limit } = counts;
    let remedy = counts.remedy();
    format!(
        "the breaker of target {target} stays open at the new maxDriftedPercent of {raised_to}: it opened at {limit}, and \
         {drifted} of {judged} objects drifted; {remedy}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raise_below_the_old_limit_is_explained() {
        let counts = BreakerCounts { drifted: 10, judged: 200, limit: 20 };
        let note = stays_open("flags", counts, 20);
        let expected = "the breaker of target flags stays open at the new maxDriftedPercent of 20: it opened at 20, and 10 of 200 \
                        objects drifted; ";
        assert!(note.starts_with(expected) && note.contains("maxDriftedPercent` of 21 or more"), "{note}");
    }
}
