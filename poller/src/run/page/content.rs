//! The content of the status page and of its JSON.

mod json;
mod query;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::condition::ObservedReason;
use drift_api::held_corrections::{HeldCorrections, HeldObject, Hold, TargetHolds};
use drift_language::{Mode, Target};
use jiff::Timestamp;

use super::controller_holds::ControllerHolds;
use crate::engine::object::overview::{
    MOST_ROWS, ObjectRow, Question, Rank, TargetOverview, VerdictCounts, compare_names,
};
use crate::run::attestation::Attestations;
pub(super) use query::{link, parse};

/// The modes of a target whose drift is corrected.
const CORRECTING: [&str; 2] = ["Approve", "Correct"];

/// The whole content.
#[derive(Debug)]
pub(super) struct Content {
    /// The query.
    pub(super) question: Question,
    /// The wall time of the answer.
    pub(super) now: Timestamp,
    /// The command that finds the leader, if another replica leads.
    pub(super) leader_elsewhere: Option<String>,
    /// The errors of documents that are not active.
    pub(super) problems: Vec<String>,
    /// The sentence for a controller's Lease that cannot be read.
    pub(super) unread_holds: Option<String>,
    /// Every active target.
    pub(super) targets: Vec<TargetLine>,
}

/// One target.
#[derive(Debug)]
pub(super) struct TargetLine {
    /// Its name.
    pub(super) name: String,
    /// The `apiVersion` of its objects.
    pub(super) api_version: String,
    /// The kind of its objects.
    pub(super) kind: String,
    /// Time between polls.
    pub(super) interval: Duration,
    /// The mode: `Observe`, `Correct`, or `suspended`.
    pub(super) mode: &'static str,
    /// Its entry on the poller's Lease; `None` while the Lease does not list it.
    pub(super) attestation: Option<Attestation>,
    /// The reasons why none of its objects is corrected.
    pub(super) held: Vec<Hold>,
    /// The holds that the controller lists.
    pub(super) listed_holds: TargetHolds,
    /// The overview of its objects; `None` while it has no kind, is busy, or another replica leads.
    pub(super) overview: Option<TargetOverview>,
}

/// One object with its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShownObject<'c> {
    /// Its target.
    pub(super) target: &'c TargetLine,
    /// Its conditions.
    pub(super) row: &'c ObjectRow,
}

/// The state of the poller in a word, shown as the icon of the browser's tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// At least one object drifted.
    Drifted,
    /// No object drifted, and at least one is Unknown.
    Unknown,
    /// Every object is in sync.
    InSync,
    /// There are no counts, for example because another replica leads.
    NoCounts,
}

impl Signal {
    /// Every signal.
    pub(super) const ALL: [Self; 4] = [Self::Drifted, Self::Unknown, Self::InSync, Self::NoCounts];

    /// The word for it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
            Self::InSync => "in-sync",
            Self::NoCounts => "no-counts",
        }
    }
}

impl TargetLine {
    /// Describes a target.
    pub(super) fn new(target: &Target, attestation: Option<Attestation>, overview: Option<TargetOverview>) -> Self {
        let is_held = attestation.is_none() && overview.is_some() && target.correct.mode.corrects();
        Self {
            name: target.name.clone(),
            api_version: target.objects.api_version.clone(),
            kind: target.objects.kind.clone(),
            interval: target.interval,
            mode: match target.correct.mode {
                _ if target.suspend => "suspended",
                Mode::Observe => "Observe",
                Mode::Approve => "Approve",
                Mode::Correct => "Correct",
            },
            attestation,
            held: is_held.then(Hold::target_not_attested).into_iter().collect(),
            listed_holds: TargetHolds::default(),
            overview,
        }
    }

    /// Takes up what the controller holds; `None` if no controller works.
    fn take_up(&mut self, held: Option<&HeldCorrections>) {
        match held {
            Some(held) => self.listed_holds = held.of_target(&self.name),
            None if CORRECTING.contains(&self.mode) => self.held.push(Hold::no_controller()),
            None => {}
        }
    }

    /// The reasons that the controller lists for the whole target.
    pub(super) fn listed(&self) -> impl Iterator<Item = Hold> {
        self.listed_holds.whole.iter().map(|hold| hold.shown(&self.name))
    }

    /// The API group of its objects; empty for the core group.
    fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl ShownObject<'_> {
    /// The reasons why the object is not corrected, or its deletion does not proceed. Without drift only a dispute is one.
    pub(super) fn held(&self, now: Timestamp) -> Vec<Hold> {
        let Self { target, row } = self;
        let is_drifted = row.rank() == Rank::Drifted;
        let matters = is_drifted || row.next.is_dispute() || row.awaits_controller || row.deleting;
        let own = row.hold.clone().filter(|_| matters);
        let is_excepted = target.attestation.as_ref().is_some_and(|attestation| attestation.except.has(&row.id));
        let not_renewed = is_excepted.then(Hold::object_not_attested);
        let of_target = not_renewed.into_iter().chain(target.held.iter().cloned()).filter(|_| is_drifted);
        own.into_iter().chain(of_target).chain(self.listed(now)).collect()
    }

    /// The reasons that the controller lists, if the next step is the controller's.
    fn listed(&self, now: Timestamp) -> Vec<Hold> {
        let Self { target, row } = self;
        if !row.awaits_controller {
            return Vec::new();
        }
        let reason = row.verdict.as_ref().and_then(|verdict| ObservedReason::parse(&verdict.reason));
        let is_incident = !row.deleting && reason.is_some_and(ObservedReason::is_incident);
        let object = HeldObject { uid: &row.id.uid, is_incident, is_deleting: row.deleting };
        target.listed_holds.applying(&target.name, object, now)
    }
}

impl Content {
    /// Returns the content for a query, without notices.
    pub(super) fn new<'t>(
        (question, now): (Question, Timestamp),
        targets: impl Iterator<Item = &'t Arc<Target>>,
        attestations: &Attestations,
        answers: &BTreeMap<String, TargetOverview>,
    ) -> Self {
        let line = |target: &Arc<Target>| {
            TargetLine::new(
                target,
                attestations.get(&target.name).map(|listed| listed.attestation.clone()),
                answers.get(&target.name).cloned(),
            )
        };
        let mut targets: Vec<_> = targets.map(line).collect();
        targets.sort_by(|one, other| compare_names(&one.name, &other.name));
        Self { question, now, leader_elsewhere: None, problems: Vec::new(), unread_holds: None, targets }
    }

    /// Adds the controller's holds as last read.
    pub(super) fn with_holds(mut self, holds: &ControllerHolds) -> Self {
        self.unread_holds = holds.notice();
        if let Some(held) = &holds.held {
            self.targets.iter_mut().for_each(|line| line.take_up(held.as_ref()));
        }
        self
    }

    /// The shown objects, the worst first.
    pub(super) fn objects(&self) -> Vec<ShownObject<'_>> {
        let lists = self.targets.iter().filter_map(|target| Some((target, &target.overview.as_ref()?.rows)));
        let mut objects: Vec<_> =
            lists.flat_map(|(target, rows)| rows.iter().map(move |row| ShownObject { target, row })).collect();
        objects.sort_by_key(|object| object.row.rank());
        objects.truncate(MOST_ROWS);
        objects
    }

    /// The number of objects that match the query.
    pub(super) fn matching(&self) -> usize {
        self.targets.iter().filter_map(|line| line.overview.as_ref()).map(|overview| overview.matching).sum()
    }

    /// The counts of the chosen target, or of all; `None` if no target has any.
    pub(super) fn counts(&self) -> Option<VerdictCounts> {
        let asked = self.question.target.as_ref();
        let chosen = self.targets.iter().filter(|line| asked.is_none_or(|asked| *asked == line.name));
        chosen.filter_map(|line| line.overview.as_ref()).map(|overview| overview.counts).reduce(|sum, one| sum + one)
    }

    /// The signal of these counts.
    pub(super) fn signal(&self) -> Signal {
        match self.counts() {
            None => Signal::NoCounts,
            Some(counts) if counts.drifted > 0 => Signal::Drifted,
            Some(counts) if counts.unknown > 0 => Signal::Unknown,
            Some(_) => Signal::InSync,
        }
    }

    /// The counts as a sentence, for example `2 drifted · 12 unknown · 29 in sync`.
    pub(super) fn headline(&self) -> String {
        let Some(counts) = self.counts() else {
            return if self.leader_elsewhere.is_some() { "standby replica" } else { "no counts" }.to_owned();
        };
        let deleting = if counts.deleting > 0 { format!(" · {} deleting", counts.deleting) } else { String::new() };
        format!("{} drifted · {} unknown · {} in sync{deleting}", counts.drifted, counts.unknown, counts.in_sync)
    }

    /// The chosen target's name, if no such target is active.
    pub(super) fn unknown_target(&self) -> Option<&str> {
        let asked = self.question.target.as_deref();
        asked.filter(|asked| self.targets.iter().all(|line| line.name != *asked))
    }

    /// The active targets without an answer, if this replica leads.
    pub(super) fn silent_targets(&self) -> Vec<&str> {
        let leads = self.leader_elsewhere.is_none();
        let silent = self.targets.iter().filter(|line| leads && line.overview.is_none());
        silent.map(|line| line.name.as_str()).collect()
    }

    /// The command that explains an object. The kind has its group where another target has the same kind in another group.
    pub(super) fn explain_command(&self, object: ShownObject<'_>) -> String {
        let ShownObject { target, row } = object;
        let is_other = |line: &TargetLine| line.kind == target.kind && line.group() != target.group();
        let group = if self.targets.iter().any(is_other) { format!(".{}", target.group()) } else { String::new() };
        let kind = format!("{}{}", target.kind.to_ascii_lowercase(), group.trim_end_matches('.'));
        format!("kubectl drift explain {}", row.id.as_arguments(&kind))
    }
}
