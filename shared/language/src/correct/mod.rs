//! `correct`: what the controller does about drift, one file for each kind of destination.

pub(crate) mod made_of;
mod replacement;

use std::time::Duration;

use crate::yaml::Node;
use crate::yaml::durations::duration;
use crate::yaml::raw::{Fields, Reader};
use drift_api::object::field_paths::FieldPaths;

use self::made_of::MadeOf;
pub(crate) use self::replacement::check_replacement;
use crate::systems::http::correct::{HttpCorrect, read_http};
use crate::systems::job::{JobCorrect, read_job};
use crate::systems::kubernetes::correct::{KubernetesCorrect, read_kubernetes};
use crate::systems::nudge::{NudgeCorrect, read_nudge};
use crate::systems::postgres::correct::{PostgresCorrect, read_postgres};

/// Default of `settle` where an operator is nudged: it needs its time to correct, and a poll that comes before asks for a second
/// nudge. As long as the default interval of many operators' own work queues, far above what one object takes.
const SETTLE_OF_A_NUDGE: Duration = Duration::from_secs(30);

/// Longest `settle`: beyond, drift would stand for an hour and nobody would see why.
const MAX_SETTLE: Duration = Duration::from_hours(1);
/// Most corrections of one target under way at once.
const MAX_CONCURRENT: u32 = 1_000;
/// One connection for each target: a second correction would only wait for it, and be decided before it waits.
const CONNECTIONS_TO_A_DATABASE: u32 = 1;
/// Most corrections of one target begun per minute.
const MAX_PER_MINUTE: u32 = 60_000;
/// Most `attempts`.
const MAX_ATTEMPTS: u32 = 1_000;

/// What says when is corrected, and whether.
pub(crate) const WHEN_KEYS: &[&str] = &["mode", "existing", "settle", "limits"];
/// The ways to correct, of which a target has one.
pub(crate) const DESTINATIONS: &[&str] = &["http", "postgres", "kubernetes", "job", "nudge"];

/// What the controller does.
#[derive(Debug)]
pub struct Correct {
    /// Whether it acts at all.
    pub mode: Mode,
    /// Whether it touches what was there before.
    pub existing: Existing,
    /// How long the external system needs until a read shows a correction.
    pub settle: Duration,
    /// Rates and bounds.
    pub limits: CorrectLimits,
    /// By what means; `None` where the target only observes.
    pub destination: Option<Destination>,
}

impl Default for Correct {
    fn default() -> Self {
        Self {
            mode: Mode::Observe,
            existing: Existing::Refuse,
            settle: Duration::ZERO,
            limits: CorrectLimits::default(),
            destination: None,
        }
    }
}

/// `correct.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only look.
    Observe,
    /// Correct drift.
    Correct,
}

/// `correct.existing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// What was there before is never touched.
    Refuse,
    /// It becomes ours with the first update.
    Adopt,
}

/// `correct.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrectLimits {
    /// Corrections under way at once; default 4.
    pub concurrent: u32,
    /// Corrections begun per minute; default 60.
    pub per_minute: u32,
    /// Share of drifted objects at which the breaker opens; default 20.
    pub max_drifted_percent: u8,
    /// Ineffective corrections in a row before only one an hour is tried; default 10.
    pub attempts: u32,
}

impl Default for CorrectLimits {
    fn default() -> Self {
        Self { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 }
    }
}

/// By what means drift is corrected.
#[derive(Debug)]
pub enum Destination {
    /// Requests to an HTTP server.
    Http(HttpCorrect),
    /// Statements to a PostgreSQL server.
    Postgres(PostgresCorrect),
    /// Jobs in the object's namespace.
    Job(JobCorrect),
    /// A manifest of an object of the cluster.
    Kubernetes(KubernetesCorrect),
    /// A change of the object's metadata that wakes the operator that owns it.
    Nudge(NudgeCorrect),
}

/// The keys of actions that are written out step by step.
pub(crate) const ACTIONS: [&str; 4] = ["create", "update", "delete", "replace"];

/// Which actions a target has steps for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// What is missing can be made.
    pub create: bool,
    /// What differs can be changed.
    pub update: bool,
    /// What is ours can be taken away.
    pub delete: bool,
    /// Another can be put in place of what cannot be changed.
    pub replace: bool,
    /// Whatever has drifted is another operator's to correct, and that is woken.
    pub nudge: bool,
}

impl Correct {
    /// Which actions the target has steps for.
    #[must_use]
    pub fn actions(&self) -> Actions {
        match &self.destination {
            None => Actions::default(),
            Some(Destination::Postgres(postgres)) => postgres.actions(),
            Some(Destination::Kubernetes(kubernetes)) => kubernetes.actions(),
            Some(Destination::Http(http)) => Actions {
                create: !http.create.is_empty(),
                update: !http.update.is_empty(),
                delete: !http.delete.is_empty(),
                replace: !http.replace.is_empty() || !http.create.is_empty() && !http.delete.is_empty(),
                nudge: false,
            },
            Some(Destination::Job(job)) => job.actions(),
            Some(Destination::Nudge(_)) => Actions { nudge: true, ..Actions::default() },
        }
    }

    /// Whether a step depends on which fields differ.
    pub(crate) fn reads_differs(&self) -> bool {
        match &self.destination {
            None => false,
            Some(Destination::Http(http)) => http.reads_differs(),
            Some(Destination::Postgres(postgres)) => postgres.reads_differs(),
            Some(Destination::Job(job)) => job.reads_differs(),
            Some(Destination::Kubernetes(kubernetes)) => kubernetes.reads_differs(),
            Some(Destination::Nudge(nudge)) => nudge.reads_differs(),
        }
    }

    /// Whether an update certainly sends nothing where this is the only key of the desired state that differs.
    pub(crate) fn leaves(&self, key: &str) -> bool {
        match &self.destination {
            Some(Destination::Http(http)) => http.leaves(key),
            Some(Destination::Postgres(postgres)) => postgres.leaves(key),
            Some(Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_)) | None => false,
        }
    }

    /// Whether no request of an update carries a key of the desired state, which is made of these fields, though one carries others.
    pub(crate) fn lacks(&self, key: &str, fields: &FieldPaths) -> bool {
        matches!(&self.destination, Some(Destination::Http(http)) if http.lacks(key, fields))
    }

    /// The key of the destination, and what the requests of each of [`ACTIONS`] are made of; `None` where they are bound to their object
    /// by other means.
    pub(crate) fn made_of(&self) -> Option<(&'static str, [Option<MadeOf>; 4])> {
        match self.destination.as_ref()? {
            Destination::Http(http) => Some(("http", http.made_of())),
            Destination::Postgres(postgres) => Some(("postgres", postgres.made_of())),
            Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_) => None,
        }
    }

    /// The fields of the status that its steps store.
    pub fn stored(&self) -> impl Iterator<Item = &str> {
        let http = self.destination.iter().filter_map(|destination| match destination {
            Destination::Http(http) => Some(http),
            Destination::Postgres(_) | Destination::Kubernetes(_) | Destination::Job(_) | Destination::Nudge(_) => None,
        });
        let steps = http.flat_map(HttpCorrect::steps);
        steps.flat_map(|step| step.store.names())
    }

    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        match &self.destination {
            None => FieldPaths::default(),
            Some(Destination::Http(http)) => http.fields(),
            Some(Destination::Postgres(postgres)) => postgres.fields(),
            Some(Destination::Job(job)) => job.fields(),
            Some(Destination::Kubernetes(kubernetes)) => kubernetes.fields(),
            Some(Destination::Nudge(nudge)) => nudge.fields(),
        }
    }
}

pub(crate) fn read_correct(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Correct> {
    let fields = reader.fields(node, place, &[WHEN_KEYS, DESTINATIONS].concat())?;
    let default = Correct::default();
    let mode = reader.or(&fields, "mode", default.mode, |reader, node, place| {
        reader.choice(node, place, &[("Observe", Mode::Observe), ("Correct", Mode::Correct)])
    });
    let existing = reader.or(&fields, "existing", default.existing, |reader, node, place| {
        reader.choice(node, place, &[("Refuse", Existing::Refuse), ("Adopt", Existing::Adopt)])
    });
    let settle = reader.or(&fields, "settle", default.settle, |reader, node, place| {
        duration(reader, node, place, Duration::ZERO..=MAX_SETTLE)
    });
    let limits = reader.or(&fields, "limits", default.limits, read_limits);
    let destination = read_destination(reader, &fields);
    let (destination, mut limits) = (destination?, limits?);
    let is_nudge = matches!(destination, Some(Destination::Nudge(_)));
    let settle = if is_nudge && fields.get("settle").is_none() { Some(SETTLE_OF_A_NUDGE) } else { settle };
    if let Some(Destination::Postgres(_)) = destination {
        limits.concurrent = limits.concurrent.min(CONNECTIONS_TO_A_DATABASE);
    }
    if let (Some(Destination::Nudge(_)), Some(node)) = (&destination, fields.get("existing")) {
        let message = format!("{place}.existing: a nudge touches nothing outside, so it adopts nothing");
        return reader.refuse(node.at, message);
    }
    let correct = Correct { mode: mode?, existing: existing?, settle: settle?, limits, destination };
    if correct.mode == Mode::Correct && correct.destination.is_none() {
        return reader.refuse(
            fields.at(),
            format!("{place}: mode Correct needs one of {}, which says how", DESTINATIONS.join(", ")),
        );
    }
    Some(correct)
}

/// The one destination that is there, if any.
fn read_destination(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<Destination>> {
    let mut written = DESTINATIONS.iter().filter_map(|key| Some((*key, fields.get(key)?)));
    let Some((key, node)) = written.next() else { return Some(None) };
    if let Some((second, node)) = written.next() {
        let message = format!("{}: only one of {} may stand here", fields.place(second), DESTINATIONS.join(", "));
        return reader.refuse(node.at, message);
    }
    let place = fields.place(key);
    match key {
        "http" => read_http(reader, node, &place).map(Destination::Http),
        "postgres" => read_postgres(reader, node, &place).map(Destination::Postgres),
        "job" => read_job(reader, node, &place).map(Destination::Job),
        "kubernetes" => read_kubernetes(reader, node, &place).map(Destination::Kubernetes),
        _ => read_nudge(reader, node, &place).map(Destination::Nudge),
    }
    .map(Some)
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
