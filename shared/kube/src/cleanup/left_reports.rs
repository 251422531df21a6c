//! The DriftReports that no target keeps: their target was removed or keeps its conditions on the objects, their object
//! is no longer selected, or it was deleted without its dependents.
//!
//! The sweep lists the reports where noted targets keep or kept some, and deletes those that two looks with the
//! patience between them found left. So a target that returns keeps its reports. The notes of removed targets go once
//! complete lists show that nothing is left. A namespace that refuses its list is skipped, and its notes stay. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::is_made_by;
use drift_api::timing::moment::Moment;
use serde_json::Value;

use crate::cleanup::kind_notes::NoteUse;
use crate::cleanup::known::{Judgement, KnownTargets};
use crate::cleanup::selections::Selection;
use crate::client::{FORBIDDEN, KindName};
use crate::subscriptions::dispatch::Dispatch;

/// Time between two looks without a cause: objects that were deleted without their dependents cause none.
const BETWEEN_LOOKS: Duration = Duration::from_hours(1);

/// Time after a change in which the targets begin and end, so that the look finds what they leave.
const AFTER_CHANGE: Duration = Duration::from_secs(10);

/// Minimum time between two looks, unless the patience is shorter. Each object that leaves its target causes one, and a
/// look lists all reports. Also the time after which an unanswered list is repeated.
const MIN_BETWEEN_LOOKS: Duration = Duration::from_secs(60);

/// Minimum patience, which keeps two looks apart.
const MIN_PATIENCE: Duration = Duration::from_secs(1);

/// A namespace, or `None` for all.
pub(super) type Place = Option<String>;

/// The next step of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepStep {
    /// Nothing is due before this moment.
    Wait(Moment),
    /// Read the next page of the reports in this namespace (`None`: in all), decoded with `report_fields`.
    Read(Option<String>),
    /// Delete this report in its version.
    Delete(LeanObject),
    /// Remove these notes: no report of their targets is left.
    Forget(Vec<Selection>),
}

/// The sweep over reports, for one term of leadership.
#[derive(Debug)]
pub struct ReportSweep {
    installation: String,
    patience: Duration,
    /// The next look without a change.
    due: Moment,
    /// The first change since the last look began.
    changed: Option<Moment>,
    /// The beginning of the last look.
    looked: Option<Moment>,
    suspects: Suspects,
    look: Option<Look>,
    /// Places whose list failed, each with the cause that was told.
    troubles: BTreeMap<Place, String>,
}

/// What a look found left, each with the first of consecutive looks that did.
#[derive(Debug, Default)]
struct Suspects {
    reports: HashMap<Uid, Moment>,
    notes: BTreeMap<Selection, Moment>,
}

/// A look in progress.
#[derive(Debug)]
struct Look {
    began: Moment,
    /// The places to list. The first is in progress.
    places: VecDeque<Place>,
    /// The rest of the last page.
    page: VecDeque<LeanObject>,
    found: Suspects,
    /// Notes whose reports are not all known, or not all gone.
    needed: BTreeSet<Selection>,
    /// True if the API server did not answer a list.
    is_interrupted: bool,
    /// The report that is being deleted.
    deleting: Option<LeanObject>,
}

impl ReportSweep {
    /// Creates the sweep of a new term, in which nothing was looked at yet.
    #[must_use]
    pub fn new(installation: &str, patience: Duration, now: Moment) -> Self {
        Self {
            installation: installation.to_owned(),
            patience: patience.max(MIN_PATIENCE),
            // Until then, the targets may not be listed.
            due: now + patience,
            changed: None,
            looked: None,
            suspects: Suspects::default(),
            look: None,
            troubles: BTreeMap::new(),
        }
    }

    /// Takes in that the targets changed, or that one of them lost an object.
    pub fn note_change(&mut self, now: Moment) {
        self.changed.get_or_insert(now);
    }

    /// Returns the next step. `judge` judges a report by the watches.
    pub fn step(
        &mut self,
        known: KnownTargets<'_>,
        judge: impl Fn(&LeanObject) -> Judgement,
        now: Moment,
    ) -> SweepStep {
        loop {
            let Some(look) = &mut self.look else {
                let due = self.next_look();
                if now < due {
                    return SweepStep::Wait(due);
                }
                self.begin_look(known, now);
                continue;
            };
            while let Some(report) = look.page.pop_front() {
                let is_ours = is_made_by(&report, &self.installation);
                let judgement = if is_ours { judge(&report) } else { Judgement::Foreign };
                let uid = report.id.uid.clone();
                if judgement == Judgement::Left {
                    let since = self.suspects.reports.get(&uid).copied().unwrap_or(look.began);
                    look.found.reports.insert(uid, since);
                    if since < look.began && look.began.is_past(since, self.patience) {
                        look.deleting = Some(report.clone());
                        return SweepStep::Delete(report);
                    }
                }
                look.keep(&report, judgement);
            }
            if let Some(place) = look.places.front() {
                return SweepStep::Read(place.clone());
            }
            if let Some(unused) = self.end_look(now) {
                return SweepStep::Forget(unused);
            }
        }
    }

    /// Returns true if the report of the last step is still to be deleted. The caller may have waited since.
    pub fn confirms(&self, judge: impl Fn(&LeanObject) -> Judgement) -> bool {
        let deleting = self.look.as_ref().and_then(|look| look.deleting.as_ref());
        deleting.is_some_and(|report| judge(report) == Judgement::Left)
    }

    /// Takes in the end of a deletion. `is_gone` if the report does not exist any more.
    pub fn end_deletion(&mut self, is_gone: bool) {
        let Some((look, report)) = self.look.as_mut().and_then(|look| look.deleting.take().map(|one| (look, one)))
        else {
            return;
        };
        if is_gone {
            look.found.reports.remove(&report.id.uid);
        } else {
            look.keep(&report, Judgement::Left);
        }
    }

    /// Takes in a page of the place that was asked for.
    pub fn take_page(&mut self, page: Vec<LeanObject>) {
        if let Some(look) = &mut self.look {
            look.page.extend(page);
        }
    }

    /// Takes in that the place has no more pages. A cluster without the kind has none.
    pub fn end_list(&mut self) {
        if let Some(place) = self.look.as_mut().and_then(|look| look.places.pop_front()) {
            self.troubles.remove(&place);
        }
    }

    /// Takes in that the list of the place failed with this HTTP code, if any. The others follow: with rights in
    /// namespaces only, those that notes name. Returns true if the cause was not told yet.
    pub fn fail_list(&mut self, known: KnownTargets<'_>, code: Option<u16>, cause: &str) -> bool {
        let Some(look) = &mut self.look else { return false };
        let Some(place) = look.places.pop_front() else { return false };
        let is_forbidden = code == Some(FORBIDDEN);
        let is_unknown = |selection: &&Selection| match &place {
            Some(namespace) => selection.namespaces.contains(namespace),
            // Those that name namespaces are looked for there.
            None => !is_forbidden || selection.namespaces.is_empty(),
        };
        look.needed.extend(known.with_reports().map(|(selection, _)| selection).filter(is_unknown).cloned());
        look.page.clear();
        look.is_interrupted |= !is_forbidden;
        if place.is_none() && is_forbidden {
            look.places = named_places(known);
        }
        self.troubles.insert(place, cause.to_owned()).as_deref() != Some(cause)
    }

    /// Returns the time of the next look.
    fn next_look(&self) -> Moment {
        // A new term waits for its targets.
        let Some((looked, changed)) = self.looked.zip(self.changed) else { return self.due };
        self.due.min((changed + AFTER_CHANGE).max(looked + MIN_BETWEEN_LOOKS.min(self.patience)))
    }

    fn begin_look(&mut self, known: KnownTargets<'_>, now: Moment) {
        let mut found = Suspects::default();
        for (selection, state) in known.with_reports() {
            if matches!(state.needed, NoteUse::Finished | NoteUse::Missing) {
                let since = self.suspects.notes.get(selection).copied().unwrap_or(now);
                found.notes.insert(selection.clone(), since);
            }
        }
        let is_everywhere = known.with_reports().any(|(selection, _)| selection.namespaces.is_empty());
        let places = if is_everywhere { VecDeque::from([None]) } else { named_places(known) };
        (self.looked, self.changed) = (Some(now), None);
        let (page, needed) = (VecDeque::new(), BTreeSet::new());
        self.look = Some(Look { began: now, places, page, found, needed, is_interrupted: false, deleting: None });
    }

    /// Ends the look. Returns the notes of which nothing is left.
    fn end_look(&mut self, now: Moment) -> Option<Vec<Selection>> {
        let Look { began, mut found, needed, is_interrupted, .. } = self.look.take()?;
        let is_unused = |since: Moment| since < began && began.is_past(since, self.patience);
        let unused: Vec<Selection> = found
            .notes
            .extract_if(.., |selection, since| is_unused(*since) && !needed.contains(selection))
            .map(|(selection, _)| selection)
            .collect();
        let waiting = found.reports.values().chain(found.notes.values()).map(|since| *since + self.patience);
        let ripe = waiting.filter(|ripe| *ripe > began).min();
        let at_last = began + if is_interrupted { MIN_BETWEEN_LOOKS } else { BETWEEN_LOOKS };
        self.due = ripe.map_or(at_last, |ripe| ripe.min(at_last)).max(now);
        self.suspects = found;
        (!unused.is_empty()).then_some(unused)
    }
}

impl Look {
    /// Keeps the notes that cover a report which is there after this look, unless a target certainly has it.
    fn keep(&mut self, report: &LeanObject, judgement: Judgement) {
        if matches!(judgement, Judgement::Selected | Judgement::Foreign) {
            return;
        }
        let Some((kind, _)) = object_of(report) else { return };
        let covering = self.found.notes.keys().filter(|note| note.covers(&kind, report.id.namespace.as_deref()));
        self.needed.extend(covering.cloned());
    }
}

/// Judges a report by the notes, the targets and the watches. A report without its object is not ours.
#[must_use]
pub fn judge_report(report: &LeanObject, known: KnownTargets<'_>, dispatch: &Dispatch) -> Judgement {
    let Some((kind, uid)) = object_of(report) else { return Judgement::Foreign };
    let told: Vec<Arc<str>> = dispatch.told(&uid).cloned().collect();
    known.judge_report(&kind, report.id.namespace.as_deref(), &told, |target| dispatch.is_listed(target))
}

/// Returns kind and uid of the object that a report is about.
fn object_of(report: &LeanObject) -> Option<(KindName, Uid)> {
    let view = report.view.open();
    let object = |field: &str| view.pointer("/object").and_then(|object| object.get(field)).and_then(Value::as_str);
    Some((KindName::new(object("apiVersion")?, object("kind")?), object("uid")?.into()))
}

/// Returns the namespaces that notes name.
fn named_places(known: KnownTargets<'_>) -> VecDeque<Place> {
    let named: BTreeSet<&String> = known.with_reports().flat_map(|(selection, _)| &selection.namespaces).collect();
    named.into_iter().cloned().map(Some).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
