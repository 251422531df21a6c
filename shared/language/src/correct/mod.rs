//! `correct`: how the controller corrects drift, for every kind of system.

mod windows;

use crate::systems::actions::{Action, Actions};
use crate::systems::section::CorrectSection;
use crate::systems::{DESTINATIONS, Destination, read_destination};
use crate::yaml::{Content, Node, Reader, duration};
use drift_api::object::field_paths::FieldPaths;
use std::time::Duration;

pub use windows::Windows;
use windows::read_windows;

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
#[derive(Debug)]
pub struct Correct {
    /// Enables or disables corrections.
    pub mode: Mode,
    /// The treatment of resources that already exist.
    pub existing: Existing,
    /// The time until a read of the external system reflects a correction.
    pub settle: Duration,
    /// Rates and limits.
    pub limits: CorrectLimits,
    /// The times at which creates, updates, replacements and nudges may begin.
    pub windows: Windows,
    /// The times at which deletions may begin.
    pub deletion_windows: Windows,
    /// The way to correct. `None` if the target only observes.
    pub destination: Option<Destination>,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrectLimits {
    /// Concurrent corrections; default 4.
    pub concurrent: u32,
    /// Corrections started per minute; default 60.
    pub per_minute: u32,
    /// Percentage of drifted objects at which the breaker opens; default 20.
    pub max_drifted_percent: u8,
    /// Ineffective corrections in a row after which only one per hour is tried; default 10.
    pub attempts: u32,
}

impl Default for CorrectLimits {
    fn default() -> Self {
        Self { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 }
    }
}

impl Correct {
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

pub(crate) fn read_correct(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Correct> {
    let fields = reader.fields(node, place, &[WHEN_KEYS, DESTINATIONS].concat())?;
    let default = Correct::default();
    let mode = reader.or(&fields, "mode", default.mode, |reader, node, place| {
        let modes = [("Observe", Mode::Observe), ("Approve", Mode::Approve), ("Correct", Mode::Correct)];
        reader.choice(node, place, &modes)
    });
    let existing = reader.or(&fields, "existing", default.existing, |reader, node, place| {
        reader.choice(node, place, &[("Refuse", Existing::Refuse), ("Adopt", Existing::Adopt)])
    });
    let settle = reader.or(&fields, "settle", default.settle, |reader, node, place| {
        duration(reader, node, place, Duration::ZERO..=MAX_SETTLE)
    });
    let limits = reader.or(&fields, "limits", default.limits, read_limits);
    let windows = reader.or(&fields, "windows", Windows::default(), read_windows);
    let deletion_windows = reader.or(&fields, "deletionWindows", Windows::default(), read_windows);
    let destination = read_destination(reader, &fields);
    let (destination, mut limits) = (destination?, limits?);
    let (windows, deletion_windows) = (windows?, deletion_windows?);
    let mut settle = settle;
    if let Some(section) = destination.as_ref().map(Destination::section) {
        if fields.get("settle").is_none() {
            settle = Some(section.default_settle());
        }
        limits.concurrent = limits.concurrent.min(section.most_concurrent());
        if let Some(node) = fields.get("existing").filter(|_| !section.writes_outside()) {
            let message = format!("{place}.existing: a nudge touches nothing outside, so it adopts nothing");
            return reader.refuse(node.at, message);
        }
    }
    let correct =
        Correct { mode: mode?, existing: existing?, settle: settle?, limits, windows, deletion_windows, destination };
    if correct.mode.corrects() && correct.destination.is_none() {
        return reader.refuse(
            fields.at(),
            format!("{place}: mode {:?} needs one of {}, which says how", correct.mode, DESTINATIONS.join(", ")),
        );
    }
    Some(correct)
}

fn read_limits(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<CorrectLimits> {
    let fields = reader.fields(node, place, &["concurrent", "perMinute", "maxDriftedPercent", "attempts"])?;
    let default = CorrectLimits::default();
    let concurrent = reader.or(&fields, "concurrent", default.concurrent, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_CONCURRENT)
    });
    let per_minute = reader.or(&fields, "perMinute", default.per_minute, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_PER_MINUTE)
    });
    let max_drifted_percent =
        reader.or(&fields, "maxDriftedPercent", default.max_drifted_percent, |reader, node, place| {
            reader.whole(node, place, 1..=100)
        });
    let attempts = reader
        .or(&fields, "attempts", default.attempts, |reader, node, place| reader.whole(node, place, 1..=MAX_ATTEMPTS));
    Some(CorrectLimits {
        concurrent: concurrent?,
        per_minute: per_minute?,
        max_drifted_percent: max_drifted_percent?,
        attempts: attempts?,
    })
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
