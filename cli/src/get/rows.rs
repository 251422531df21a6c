//! Objects as rows, made from their conditions.

mod age;

use age::age;

use drift_api::condition::{ConditionStatus, Tag, named_fields};
use drift_api::held_corrections::Hold;
use drift_api::object::LeanObject;
use drift_api::object::report::report_name;
use drift_api::unwritten::Doubt;
use drift_language::{ObjectSelection, kind_and_group};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::ending::ExitStatus;
use crate::ownership::Dispute;
use crate::targets::known::KnownTarget;
use crate::targets::reports::is_unread;
use drift_api::printable::printable;
use drift_poller::engine::object::deletion::{DELETING, NO_VERDICT, verdict_of};
use drift_poller::engine::object::overview::Next;

/// The cell of a missing value.
const NOTHING: &str = "-";
/// The cell of a value in a report that cannot be read.
const UNREAD: &str = "?";
/// The message of an object whose report cannot be read.
const UNREAD_MESSAGE: &str = "its conditions are in a DriftReport, which cannot be read";
/// The reason of an object that the poller may not read, as of the Event on its target.
const RIGHTS_MISSING: &str = "RightsMissing";
/// NEXT of an object that was deleted during a watch.
const GONE: &str = "Gone";

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// `metadata.namespace`; `None` for a cluster-scoped kind.
    pub(crate) namespace: Option<String>,
    /// For example `Proxy`.
    pub(crate) kind: String,
    /// For example `demo.driftpoller.dev/v1`.
    pub(crate) api_version: String,
    /// `metadata.name`.
    pub(crate) name: String,
    /// The target that selects it.
    pub(crate) target: String,
    /// The poller's verdict; `None` before the first one, and if the object is being deleted.
    pub(crate) observed: Option<Observed>,
    /// The controller's condition.
    pub(crate) corrected: Option<Corrected>,
    /// The name of the DriftReport with its conditions; `None` without one, and if they are on the object.
    pub(crate) report: Option<String>,
    /// True if its conditions are in a report that could not be read.
    pub(crate) unread: bool,
    /// True if it is being deleted: nothing is said of such an object.
    pub(crate) deleting: bool,
    /// True if it is paused.
    pub(crate) paused: bool,
    /// The reason of the pause, where the annotation has one.
    pub(crate) pause_reason: Option<String>,
    /// True if its whole target is suspended; `None` if the target's text is not known.
    pub(crate) suspended: Option<bool>,
    /// True if it has no verdict because the poller lacks rights.
    pub(crate) lacks_rights: bool,
    /// The next step.
    pub(crate) next: Next,
    /// The hold of that step.
    pub(crate) hold: Option<Hold>,
    /// The contradiction of the verdict by the poller's Lease.
    pub(crate) doubt: Option<Doubt>,
    /// True if it was followed, and is gone now.
    pub(crate) gone: bool,
}

/// The poller's verdict on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Observed {
    /// True where it drifted.
    pub(crate) status: ConditionStatus,
    /// RFC 3339.
    pub(crate) since: String,
    /// For example `FieldsDiffer`.
    pub(crate) reason: String,
    /// The sentence without its tag.
    pub(crate) text: String,
    /// The paths that differ.
    pub(crate) fields: Vec<String>,
    /// True if it speaks of an older generation of the object than the one that is there.
    pub(crate) is_outdated: bool,
}

/// The controller's condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Corrected {
    /// The condition's status.
    pub(crate) status: ConditionStatus,
    /// For example `CorrectionApplied`.
    pub(crate) reason: String,
    /// The whole message.
    pub(crate) message: String,
    /// The number of the correction.
    pub(crate) correction: u64,
    /// The message without its record, where the correction is not in effect.
    failure: Option<String>,
    /// The cell of a dispute, in place of the reason.
    dispute: Option<String>,
}

impl Observed {
    /// The reason, with a mark where it is of an older spec.
    fn said_reason(&self) -> String {
        if self.is_outdated { format!("{} (of an older spec)", self.reason) } else { self.reason.clone() }
    }
}

impl Corrected {
    /// The reason, or who else has or claims the external resource.
    fn said_reason(&self) -> &str {
        self.dispute.as_deref().unwrap_or(&self.reason)
    }
}

impl Row {
    /// Of an object that a target selects, as one of these.
    #[must_use]
    pub(crate) fn of((target, objects): (&KnownTarget, &ObjectSelection), object: &LeanObject) -> Self {
        let observed = verdict_of(object).map(|condition| {
            let (text, _) = Tag::split(condition.message.text());
            Observed {
                status: condition.status,
                since: condition.last_transition_time.to_string(),
                reason: condition.reason.to_string(),
                text: text.to_owned(),
                fields: named_fields(text).into_iter().map(str::to_owned).collect(),
                is_outdated: object.generation.is_some() && condition.observed_generation != object.generation,
            }
        });
        let record = object.conditions.correction_status();
        let corrected = object.conditions.corrected().map(|condition| Corrected {
            status: condition.status,
            reason: condition.reason.to_string(),
            message: condition.message.to_string(),
            correction: record.correction,
            failure: (condition.status == ConditionStatus::False).then(|| record.text.to_string()),
            dispute: Dispute::of(&record).map(|dispute| dispute.cell()),
        });
        Self {
            namespace: object.id.namespace.as_deref().map(str::to_owned),
            kind: objects.kind.clone(),
            api_version: objects.api_version.clone(),
            name: object.id.name.to_string(),
            target: target.name().to_owned(),
            observed,
            corrected,
            report: report_of(objects, object),
            unread: is_unread(objects, object),
            deleting: object.deleting,
            paused: object.paused,
            pause_reason: object.pause_reason().map(str::to_owned),
            suspended: target.text().map(|target| target.suspend),
            lacks_rights: false,
            next: Next::of(target.text(), object),
            hold: None,
            doubt: None,
            gone: false,
        }
    }

    /// The status: Unknown without a verdict on the current spec that the poller stands by, and `None` if the object is
    /// being deleted.
    #[must_use]
    pub(crate) fn status(&self) -> Option<ConditionStatus> {
        let present = self.observed.as_ref().filter(|observed| !observed.is_outdated && self.doubt.is_none());
        (!self.deleting).then(|| present.map_or(ConditionStatus::Unknown, |observed| observed.status))
    }

    /// `proxy.demo.driftpoller.dev/web`, as kubectl takes it beside a namespace.
    #[must_use]
    pub(crate) fn qualified_name(&self) -> String {
        format!("{}/{}", kind_and_group(&self.kind, &self.api_version).to_lowercase(), self.name)
    }

    /// Its cells: NAMESPACE NAME DRIFT SINCE REASON FIELDS CORRECTED NEXT, and where `wide` TARGET and MESSAGE.
    #[must_use]
    pub(crate) fn cells(&self, now: Timestamp, wide: bool) -> Vec<String> {
        let observed = self.observed.as_ref();
        let cell = |part: Option<String>, is_unread: bool| {
            let missing = if is_unread { UNREAD } else { NOTHING };
            part.filter(|text| !text.is_empty()).unwrap_or_else(|| missing.to_owned())
        };
        let text = |part| cell(part, false);
        // An object that is being deleted has no verdict.
        let of_verdict = |part| cell(part, self.unread && !self.deleting);
        let of_correction = |part| cell(part, self.unread);
        let mut cells = vec![
            text(self.namespace.clone()),
            format!("{}/{}", self.kind, self.name),
            of_verdict(observed.and_then(|_| self.status()).map(|status| status.as_str().to_owned())),
            of_verdict(observed.and_then(|observed| age(&observed.since, now))),
            of_verdict(observed.map(|observed| self.said_reason(observed)).or_else(|| self.reason_without_verdict())),
            of_verdict(observed.map(|observed| observed.fields.join(","))),
            of_correction(self.corrected.as_ref().map(|corrected| corrected.said_reason().to_owned())),
            of_correction(self.next_cell(now)),
        ];
        if wide {
            cells.extend([self.target.clone(), text(Some(self.message()))]);
        }
        cells.iter().map(|cell| printable(cell)).collect()
    }

    /// The reason of the verdict, in brackets if the poller does not stand by it.
    fn said_reason(&self, observed: &Observed) -> String {
        let reason = observed.said_reason();
        self.doubt.map_or(reason.clone(), |doubt| format!("{} ({reason})", doubt.as_str()))
    }

    /// The reason for which it has no verdict, where one is known.
    fn reason_without_verdict(&self) -> Option<String> {
        let reason = || self.lacks_rights.then_some(RIGHTS_MISSING).or(self.doubt.map(Doubt::as_str));
        if self.deleting { Some(DELETING.to_owned()) } else { reason().map(str::to_owned) }
    }

    /// The poller's message, why the last correction is not in effect, and what holds the next one.
    fn message(&self) -> String {
        let observed = self.observed.as_ref().map(|observed| observed.text.as_str());
        let observed = observed.or_else(|| self.deleting.then_some(NO_VERDICT));
        let failed = self.corrected.as_ref().and_then(|corrected| {
            let why = corrected.failure.as_ref().filter(|why| !why.is_empty())?;
            Some(format!("{}: {why}", corrected.reason))
        });
        let held = self.hold.as_ref().map(|hold| format!("held: {}", hold.sentence));
        let paused = self.pause_reason.as_ref().map(|reason| format!("paused: {reason}"));
        let observed = observed.or_else(|| self.unread.then_some(UNREAD_MESSAGE));
        let said = observed.map(str::to_owned).into_iter().chain(failed).chain(paused).chain(held);
        said.collect::<Vec<_>>().join("; ")
    }

    /// The NEXT column: the next step, or the hold of it.
    fn next_cell(&self, now: Timestamp) -> Option<String> {
        let shown = || self.hold.as_ref().map(|hold| hold.cell(now)).or_else(|| self.next_word().map(str::to_owned));
        if self.gone { Some(GONE.to_owned()) } else { shown() }
    }

    /// The next step, which follows from the conditions.
    fn next_word(&self) -> Option<&'static str> {
        self.next.as_str().filter(|_| !self.unread)
    }

    /// The same for programs.
    #[must_use]
    pub(crate) fn json(&self) -> Value {
        let observed = self.observed.as_ref().map(|observed| {
            json!({
                "status": observed.status.as_str(), "since": observed.since, "reason": observed.reason,
                "message": observed.text, "fields": observed.fields, "outdated": observed.is_outdated,
            })
        });
        let corrected = self.corrected.as_ref().map(|corrected| {
            json!({
                "status": corrected.status.as_str(), "reason": corrected.reason, "message": corrected.message,
                "correction": corrected.correction,
            })
        });
        let next = self.hold.as_ref().map(|hold| hold.word).or_else(|| self.next_word());
        json!({
            "apiVersion": self.api_version, "kind": self.kind, "namespace": self.namespace, "name": self.name,
            "target": self.target, "deleting": self.deleting, "paused": self.paused,
            "pauseReason": self.pause_reason, "suspended": self.suspended, "next": next,
            "held": self.hold.as_ref().map(Hold::json), "gone": self.gone, "lacksRights": self.lacks_rights, "doubt": self.doubt.map(Doubt::as_str),
            "report": self.report, "reportUnread": self.unread, "driftObserved": observed, "driftCorrected": corrected,
        })
    }
}

/// The name of the report that is about this object.
fn report_of(objects: &ObjectSelection, object: &LeanObject) -> Option<String> {
    object.report.as_ref()?.about(&object.id.uid)?;
    Some(report_name(objects.group(), &objects.kind, &object.id.name))
}

/// The heads of [`Row::cells`].
#[must_use]
pub(crate) fn heads(wide: bool) -> Vec<&'static str> {
    let mut heads = vec!["NAMESPACE", "NAME", "DRIFT", "SINCE", "REASON", "FIELDS", "CORRECTED", "NEXT"];
    if wide {
        heads.extend(["TARGET", "MESSAGE"]);
    }
    heads
}

/// The exit status of a list.
#[must_use]
pub(crate) fn summarise(rows: &[Row]) -> ExitStatus {
    let any = |status| rows.iter().any(|row| row.status() == Some(status));
    match (any(ConditionStatus::True), any(ConditionStatus::Unknown)) {
        (true, _) => ExitStatus::Drifted,
        (false, true) => ExitStatus::Unknown,
        (false, false) => ExitStatus::Success,
    }
}

#[cfg(test)]
pub(super) mod fixtures;
#[cfg(test)]
mod tests;
