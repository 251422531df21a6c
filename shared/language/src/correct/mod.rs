//! `correct`: how the controller corrects drift, for every kind of system.

mod windows;

use crate::section::{Section, duration, whole, words};
use crate::systems::Destination;
use crate::systems::actions::{Action, Actions};
use crate::systems::section::CorrectSection;
use crate::yaml::{Content, Fields, Node, Reader};
use drift_api::object::field_paths::FieldPaths;
use std::time::Duration;

pub use windows::Windows;
use windows::windows;

/// Maximum `settle`. With a longer one, drift would persist for more than an hour without a visible reason.
const MAX_SETTLE: Duration = Duration::from_hours(1);
/// Maximum concurrent corrections of one target.
const MAX_CONCURRENT: u32 = 1_000;
/// Maximum corrections started per minute for one target.
const MAX_PER_MINUTE: u32 = 60_000;
/// Maximum value of `attempts`.
const MAX_ATTEMPTS: u32 = 1_000;

/// The keys that control whether and when a correction starts. They do not change its requests.
pub(crate) const WHEN_KEYS: &[&str] = &["mode", "existing", "settle", "limits", "windows", "deletionWindows"];

/// The settings of the controller.
#[derive(Debug, Section)]
#[section(check = Self::complete)]
pub struct Correct {
    /// Default: Observe.
    #[key(words(MODES), default = Mode::Observe)]
    pub mode: Mode,
    /// For a resource that existed before. Default: Refuse.
    #[key(words(EXISTING), default = Existing::Refuse)]
    pub existing: Existing,
    /// Wait before the next poll. Up to 1h, default 0s, with nudge 30s.
    #[key(duration(Duration::ZERO..=MAX_SETTLE), default)]
    pub settle: Duration,
    /// Limits of all corrections of the target.
    #[key(default)]
    pub limits: CorrectLimits,
    /// Times at which corrections may begin. Default: always.
    #[key(windows(), default)]
    pub windows: Windows,
    /// The same for deletions.
    #[key(windows(), default)]
    pub deletion_windows: Windows,
    /// The way to correct. `None` if there is none, so that the target only observes.
    #[key(flatten = ())]
    pub destination: Option<Destination>,
}

/// The values of `mode`.
const MODES: &[(&str, Mode)] = &[
    (Mode::Observe.as_str(), Mode::Observe),
    (Mode::Approve.as_str(), Mode::Approve),
    (Mode::Correct.as_str(), Mode::Correct),
];
/// The values of `existing`.
const EXISTING: &[(&str, Existing)] = &[("Refuse", Existing::Refuse), ("Adopt", Existing::Adopt)];

impl Default for Correct {
    fn default() -> Self {
        Self {
            mode: Mode::Observe,
            existing: Existing::Refuse,
            settle: Duration::ZERO,
            limits: CorrectLimits::default(),
            windows: Windows::default(),
            deletion_windows: Windows::default(),
            destination: None,
        }
    }
}

/// The values of `correct.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Observe without correcting.
    Observe,
    /// Correct observed drift that a person approves.
    Approve,
    /// Correct observed drift.
    Correct,
}

impl Mode {
    /// Returns the value as targets write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "Observe",
            Self::Approve => "Approve",
            Self::Correct => "Correct",
        }
    }

    /// Returns true if drift is corrected, at once or after approval.
    #[must_use]
    pub const fn corrects(self) -> bool {
        matches!(self, Self::Approve | Self::Correct)
    }
}

/// The values of `correct.existing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Resources that already exist are never touched.
    Refuse,
    /// They become ours with the first update.
    Adopt,
}

/// The limits in `correct.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Section)]
pub struct CorrectLimits {
    /// Corrections at the same time. Default: 4.
    #[key(whole(1..=MAX_CONCURRENT), default = Self::default().concurrent)]
    pub concurrent: u32,
    /// Corrections that begin per minute. Default: 60.
    #[key(whole(1..=MAX_PER_MINUTE), default = Self::default().per_minute)]
    pub per_minute: u32,
    /// The breaker opens here. Default: 20. 100: never.
    #[key(whole::<u8>(1..=100), default = Self::default().max_drifted_percent)]
    pub max_drifted_percent: u8,
    /// Corrections in a row without effect. Default: 10.
    #[key(whole(1..=MAX_ATTEMPTS), default = Self::default().attempts)]
    pub attempts: u32,
}

impl Default for CorrectLimits {
    fn default() -> Self {
        Self { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 }
    }
}

impl Correct {
    /// Checks that the keys fit the way to correct, and takes its defaults and bounds.
    fn complete(mut self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Self> {
        let place = fields.own_place();
        if let Some(section) = self.destination.as_ref().map(Destination::section) {
            if fields.get("settle").is_none() {
                self.settle = section.default_settle();
            }
            self.limits.concurrent = self.limits.concurrent.min(section.most_concurrent());
            if let Some(node) = fields.get("existing").filter(|_| !section.writes_outside()) {
                let message = format!("{place}.existing: a nudge touches nothing outside, so it adopts nothing");
                return reader.refuse(node.at, message);
            }
        } else if self.mode.corrects() {
            let keys = Destination::names(()).join(", ");
            let message = format!("{place}: mode {:?} needs one of {keys}, which says how", self.mode);
            return reader.refuse(fields.at(), message);
        }
        Some(self)
    }

    pub(crate) fn section(&self) -> Option<&dyn CorrectSection> {
        self.destination.as_ref().map(Destination::section)
    }

    /// The actions that have steps.
    #[must_use]
    pub fn actions(&self) -> Actions {
        self.section().map(CorrectSection::actions).unwrap_or_default()
    }

    /// The key under `correct` of the way to correct.
    #[must_use]
    pub fn key(&self) -> Option<&'static str> {
        self.section().map(CorrectSection::key)
    }

    /// Returns true if it writes to the external system. A nudge does not.
    #[must_use]
    pub fn writes_outside(&self) -> bool {
        self.section().is_some_and(CorrectSection::writes_outside)
    }

    /// Returns true if Jobs do the work. They continue when the controller ends.
    #[must_use]
    pub fn runs_jobs(&self) -> bool {
        self.section().is_some_and(CorrectSection::runs_jobs)
    }

    /// Returns true if a replacement has its own steps, or if the way to correct has no replacements.
    #[must_use]
    pub fn replaces_by_own_steps(&self) -> bool {
        self.section().is_some_and(|section| section.replaces().unwrap_or(true))
    }

    /// The status fields that its steps store.
    pub fn stored(&self) -> impl Iterator<Item = &str> {
        self.section().into_iter().flat_map(CorrectSection::stored)
    }

    /// Returns true if a step of an action sends this secret. Look-ups count too.
    #[must_use]
    pub fn sends(&self, action: Action, secret: &str) -> bool {
        self.section().is_some_and(|section| section.sends(action, secret))
    }

    /// Returns true if a step reads which fields differ.
    pub(crate) fn reads_differs(&self) -> bool {
        self.section().is_some_and(|section| section.reads_differs())
    }

    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        self.section().map(|section| section.fields()).unwrap_or_default()
    }
}

/// Rejects replacement rules that no step can carry out, and replacement steps that no rule requests. Without
/// corrections the rules request nothing.
pub(crate) fn check_replacement(reader: &mut Reader<'_>, spec: &Node, correct: &Correct) {
    let Some(section) = correct.section() else { return };
    let (kind, own) = match section.replaces() {
        Ok(own) => (section.key(), own),
        Err(why) => return refuse(reader, spec, why),
    };
    let rules = rules_that_replace(spec);
    let actions = correct.actions();
    if !actions.replace {
        let missing = match (actions.create, actions.delete) {
            (true, _) => "delete",
            (false, true) => "create",
            (false, false) => "replace",
        };
        for (position, rule) in &rules {
            let message = format!(
                "compare.rules[{position}].change: what cannot be changed is deleted and created again, or replaced by steps \
                 of its own: add {missing} to correct.{kind}"
            );
            reader.refuse::<()>(rule.at, message);
        }
    }
    let steps = spec.get("correct").and_then(|correct| correct.get(kind)?.get("replace"));
    if let Some(steps) = steps.filter(|_| own && rules.is_empty()) {
        let message = format!("correct.{kind}.replace: no rule of compare says change: replace, so it would never run");
        reader.refuse::<()>(steps.at, message);
    }
}

fn refuse(reader: &mut Reader<'_>, spec: &Node, why: &str) {
    for (position, rule) in rules_that_replace(spec) {
        reader.refuse::<()>(rule.at, format!("compare.rules[{position}].change: {why}"));
    }
}

/// The values of `change` in the rules, each with the index of its rule.
fn rules_that_replace(spec: &Node) -> Vec<(usize, &Node)> {
    let rules = spec.get("compare").and_then(|compare| compare.get("rules"));
    let Some(Content::List(rules)) = rules.map(|rules| &rules.content) else { return Vec::new() };
    rules.iter().enumerate().filter_map(|(position, rule)| Some((position, rule.get("change")?))).collect()
}
