//! The content of the status page and of its JSON.

pub(super) mod alarms;
mod json;
mod query;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::held_corrections::{Held, Hold};
use drift_language::Target;
use jiff::Timestamp;

use crate::engine::object::overview::order::{Page, Trouble, needs_a_person, page_of_groups, page_of_objects};
use crate::engine::object::overview::{
    Group, LeaseHolds, ObjectRow, Question, TargetOverview, UNKNOWN, VerdictCounts, compare_names,
};
pub(super) use query::{Link, parse};

/// The whole content.
#[derive(Debug)]
pub(super) struct Content {
    /// The query.
    pub(super) question: Question,
    /// The wall time of the answer.
    pub(super) now: Timestamp,
    /// The command that finds the leader, if another replica leads.
    pub(super) leader_elsewhere: Option<String>,
    /// The names and commands of this installation.
    pub(super) site: SiteNames,
    /// The parts of this program that are not ready, each with its cause.
    pub(super) unready: Vec<(String, String)>,
    /// The errors of documents that are not active.
    pub(super) problems: Vec<String>,
    /// The sentence for a controller's Lease that cannot be read.
    pub(super) unread_holds: Option<String>,
    /// Every active target.
    pub(super) targets: Vec<TargetLine>,
}

/// The names of this installation, and the commands that need them.
#[derive(Clone, Debug, Default)]
pub struct SiteNames {
    /// The name of the cluster, if the command line gives one.
    pub cluster: Option<String>,
    /// The namespace of the programs.
    pub namespace: String,
    /// The command that shows who leads the controllers.
    pub controller_command: String,
}

impl SiteNames {
    /// The cluster and the namespace, for example `prod-eu/drift-system`.
    pub(super) fn place(&self) -> String {
        let cluster = self.cluster.iter().map(String::as_str);
        cluster.chain([self.namespace.as_str()]).collect::<Vec<_>>().join("/")
    }

    /// A command of the plugin about the targets of this namespace.
    fn command(&self, words: &str) -> String {
        format!("kubectl drift {words} --targets-namespace {}", self.namespace)
    }
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
    /// True if the poller's Lease lists it.
    pub(super) attested: bool,
    /// The reasons why none of its objects is corrected.
    pub(super) held: Vec<Hold>,
    /// The reasons that the controller lists for it.
    pub(super) listed: Vec<Hold>,
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
    pub(super) fn new(target: &Target, holds: &LeaseHolds, overview: Option<TargetOverview>) -> Self {
        let known = holds.of_target(target);
        // A target without an answer is silent, and nothing is known of its attestation either.
        let held = if overview.is_some() { known.whole() } else { Vec::new() };
        Self {
            name: target.name.clone(),
            api_version: target.objects.api_version.clone(),
            kind: target.objects.kind.clone(),
            interval: target.interval,
            mode: if target.suspend { "suspended" } else { target.correct.mode.as_str() },
            attested: holds.is_attested(&target.name),
            held,
            listed: known.listed(),
            overview,
        }
    }

    /// The holds of the whole target.
    pub(super) fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.held.iter().chain(&self.listed)
    }

    /// True if a poll is late by more than the interval.
    pub(super) fn is_late(&self) -> bool {
        self.overview.as_ref().is_some_and(|overview| overview.lateness > self.interval)
    }

    /// Its trouble.
    pub(super) fn trouble(&self) -> Trouble {
        let Some(overview) = &self.overview else { return Trouble::Held };
        let needs = |word: &&'static str| needs_a_person(word);
        match overview.counts {
            _ if self.holds().any(|hold| hold.word != Held::Limited.as_str()) => Trouble::Held,
            _ if overview.words.keys().any(needs) => Trouble::Person,
            counts if counts.drifted > 0 => Trouble::Drifted,
            counts if counts.unknown > 0 => Trouble::Unknown,
            _ if self.is_late() => Trouble::Late,
            _ => Trouble::None,
        }
    }

    /// The number of objects that need attention.
    fn troubled(&self) -> usize {
        self.overview.as_ref().map_or(0, |overview| overview.counts.drifted + overview.counts.unknown)
    }
}

impl Content {
    /// Returns the content for a query, without notices.
    pub(super) fn new<'t>(
        (question, now): (Question, Timestamp),
        targets: impl Iterator<Item = &'t Arc<Target>>,
        answers: &BTreeMap<String, TargetOverview>,
    ) -> Self {
        let line = |target: &Arc<Target>| TargetLine::new(target, &question.holds, answers.get(&target.name).cloned());
        let mut targets: Vec<_> = targets.map(line).collect();
        targets.sort_by(|one, other| compare_names(&one.name, &other.name));
        Self {
            question,
            now,
            leader_elsewhere: None,
            site: SiteNames::default(),
            unready: Vec::new(),
            problems: Vec::new(),
            unread_holds: None,
            targets,
        }
    }

    /// The chosen target, or all, by name.
    pub(super) fn chosen(&self) -> impl Iterator<Item = &TargetLine> {
        let asked = self.question.target.as_ref();
        self.targets.iter().filter(move |line| asked.is_none_or(|asked| *asked == line.name))
    }

    /// The chosen targets, the worst first.
    pub(super) fn ranked(&self) -> Vec<&TargetLine> {
        let mut lines: Vec<&TargetLine> = self.chosen().collect();
        lines.sort_by_key(|line| (line.trouble(), std::cmp::Reverse(line.troubled())));
        lines
    }

    /// The overviews of the targets that answered.
    fn overviews(&self) -> impl Iterator<Item = (&TargetLine, &TargetOverview)> {
        self.targets.iter().filter_map(|target| Some((target, target.overview.as_ref()?)))
    }

    /// The groups of this page, the worst first.
    pub(super) fn groups(&self) -> Page<&Group> {
        let total = self.overviews().map(|(_, overview)| overview.group_count).sum();
        page_of_groups(self.overviews().flat_map(|(_, overview)| &overview.groups), total, &self.question)
    }

    /// The single objects of this page.
    pub(super) fn objects(&self) -> Page<ShownObject<'_>> {
        let skipped = self.overviews().map(|(_, overview)| overview.skipped).sum();
        let objects = self.overviews().flat_map(|(target, overview)| {
            overview.rows.iter().map(move |row| (target.name.as_str(), row, ShownObject { target, row }))
        });
        page_of_objects(objects, (skipped, self.matching()), &self.question)
    }

    /// The words of objects by which a filter finds some, in order.
    pub(super) fn words(&self) -> BTreeMap<&'static str, usize> {
        let mut words = BTreeMap::new();
        for (word, found) in self.overviews().flat_map(|(_, overview)| &overview.words) {
            *words.entry(*word).or_default() += found.count;
        }
        words.remove(UNKNOWN);
        words
    }

    /// The number of objects that match the query.
    pub(super) fn matching(&self) -> usize {
        self.targets.iter().filter_map(|line| line.overview.as_ref()).map(|overview| overview.matching).sum()
    }

    /// The counts of the chosen target, or of all; `None` if no target has any.
    pub(super) fn counts(&self) -> Option<VerdictCounts> {
        self.chosen()
            .filter_map(|line| line.overview.as_ref())
            .map(|overview| overview.counts)
            .reduce(|sum, one| sum + one)
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

    /// The target with this name.
    pub(super) fn line(&self, name: &str) -> Option<&TargetLine> {
        self.targets.iter().find(|line| line.name == name)
    }
}
