//! Reads from external systems, one file for each kind.
//!
//! Thin: what comes back is judged in the engine.

pub(crate) mod http;
pub(crate) mod kubernetes;
pub(crate) mod postgres;

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::object_view::OpenView;
use drift_kube::process::clock;
use drift_language::{Source, Target};
use drift_systems::SentCredentials;
use serde_json::Value;

use crate::engine::Postponed;
use crate::engine::collection::entries::{Entries, Gathering};
use crate::engine::collection::traversal::observe_item;
use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::judgement::observation::Observation;
use crate::engine::poll::cluster_resource::observe_resource;
use crate::engine::poll::entity_tag::{EntityTag, Tagged};
use crate::engine::poll::known_finding::{Fingerprint, KnownFinding};
use crate::engine::poll::request::{Prepared, Request};
use crate::engine::poll::rows::{self, observe_one, observe_row};
use crate::run::rate_limit::SharedRate;
use crate::run::reads::outside::Outside;

/// Objects that a request counts for where its host is silent or asks to wait: as many as it takes for the host to be left
/// alone, since what one request for many objects hears concerns them all.
const OBJECTS_THAT_COUNT: usize = 3;

/// Interval of looks whether the Secrets are listed, which takes a second at the start.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// The result of a read.
#[derive(Debug)]
pub struct ReadResult<T> {
    /// The result of the answers; the outer `Err` if the read was postponed because of a host's pause.
    pub read: Result<Result<T, Failure>, Postponed>,
    /// The time that the objects are to be left alone, as an answer asked.
    pub pause: Option<Duration>,
    /// True if the log says already why there was no answer.
    pub told: bool,
    /// The time that it took, without the wait for a place.
    pub took: Duration,
    /// The entity tag by which the state can be asked for again.
    pub tagged: Option<Tagged>,
    /// The answers that were judged, where they can be told apart.
    pub judged: Option<Fingerprint>,
    /// The credentials that it went out with.
    pub sent: SentCredentials,
}

/// Says in the log what became of a read, unless why there was no answer was `told` already.
pub(crate) fn tell(told: bool, outside: &Outside, target: &Target, found: &Found) {
    let now = clock::now();
    if !told {
        outside.troubles.note_finding(&target.name, &found.finding, now);
    }
    outside.troubles.note_withheld(&target.name, &found.withheld, now);
}

/// Reads the external resource of one object.
pub async fn look_at_one(
    outside: &Outside,
    target: &Target,
    (uid, prepared, view): (&Uid, &Prepared, &OpenView<'_>),
    (tag, known): (Option<EntityTag>, Option<&KnownFinding>),
) -> ReadResult<Observation> {
    // The larger ones are boxed: every poll that is under way would have room for them.
    match (&target.read.source, prepared.first()) {
        (Source::Postgres(read), Ok(Request::Sql(query))) => {
            let mut found = Vec::new();
            let bounds = Some(rows::ENOUGH_ROWS);
            let uids = vec![uid.clone()];
            let asking = postgres::ask(outside, (target, read), uids, (query, bounds), |row| found.push(row));
            Box::pin(asking).await.and_then(|()| observe_one(read, view, &found))
        }
        (Source::Http(read), Ok(Request::Http(request))) => {
            http::look_at_one(outside, (target, read), (uid, view), (request, tag, known)).await
        }
        (Source::Kubernetes(read), Ok(Request::Kubernetes(resource))) => {
            Box::pin(kubernetes::look_at_one(outside, (target, read), (uid, view), resource)).await
        }
        _ => unasked(),
    }
}

/// Goes through a collection once; the values of these entries are kept.
pub async fn look_at_all(
    outside: &Outside,
    target: &Target,
    (uids, wanted): (Vec<Uid>, HashSet<String>),
    (request, rate): (Request, &SharedRate),
) -> ReadResult<Entries> {
    match (&target.read.source, request) {
        (Source::Postgres(read), Request::Sql(query)) => {
            let Some(keys) = &read.keys else { return unasked() };
            let mut gathering = Gathering::new(keys, wanted);
            // After a row that spoils all there is nothing more to take.
            let mut gathered = Ok(());
            let take = |row| {
                if gathered.is_ok() {
                    gathered = gathering.take(row);
                }
            };
            let asked = postgres::ask(outside, (target, read), uids, (&query, None), take).await;
            asked.and_then(|()| gathered.map(|()| gathering.finish()))
        }
        (Source::Http(read), Request::Http(request)) => {
            http::look_at_all(outside, (target, read), (uids, wanted), (request, rate)).await
        }
        _ => unasked(),
    }
}

/// Returns the observation of one object's entry by the target's rules.
///
/// # Errors
/// Why nothing can be said.
pub fn observe_entry(target: &Target, view: &Value, entry: &Value) -> Result<Observation, Failure> {
    match &target.read.source {
        Source::Http(read) => observe_item(read, view, entry),
        Source::Postgres(read) => observe_row(read, view, entry),
        // It has no entries, so this does not occur.
        Source::Kubernetes(read) => observe_resource(read, view, Some(entry)),
    }
}

impl<T> ReadResult<T> {
    fn new(read: Result<Result<T, Failure>, Postponed>, took: Duration) -> Self {
        Self { read, pause: None, told: false, took, tagged: None, judged: None, sent: SentCredentials::default() }
    }

    /// Of a read that failed for this reason, which the log says already.
    fn failed(failure: Failure, took: Duration) -> Self {
        Self { told: true, ..Self::new(Ok(Err(failure)), took) }
    }

    /// Continues with what was read.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Result<U, Failure>) -> ReadResult<U> {
        let Self { read, pause, told, took, tagged, judged, sent } = self;
        ReadResult { read: read.map(|read| read.and_then(next)), pause, told, took, tagged, judged, sent }
    }
}

/// A target's requests are of its own kind, so this does not occur.
fn unasked<T>() -> ReadResult<T> {
    ReadResult::new(Ok(Err(Failure::of(drift_api::condition::ObservedReason::RuleError))), Duration::ZERO)
}
