//! Reads from external systems, with one module for each kind.
//!
//! The engine judges the results.

pub(crate) mod http;
pub(crate) mod kubernetes;
pub(crate) mod ldap;
pub(crate) mod sql;

use std::collections::HashSet;
use std::time::Duration;

use drift_api::condition::ObservedReason;
use drift_api::identity::Uid;
use drift_api::object::object_view::OpenView;
use drift_kube::KillPoint;
use drift_kube::process::clock;
use drift_kube::process::kill_point::reach;
use drift_language::{Source, Target};
use drift_systems::{Permit, SentCredentials};
use serde_json::Value;
use tokio::time::error::Elapsed;

use crate::engine::Postponed;
use crate::engine::collection::entries::{Entries, Gathering};
use crate::engine::collection::traversal::observe_item;
use crate::engine::judgement::{Failure, Found, Observation};
use crate::engine::poll::absence_answer::LastAnswer;
use crate::engine::poll::cluster_resource::observe_resource;
use crate::engine::poll::entity_tag::{EntityTag, Tagged};
use crate::engine::poll::known_finding::{Fingerprint, KnownFinding};
use crate::engine::poll::ldap_entry::observe_entry as observe_entry_of_directory;
use crate::engine::poll::request::{Prepared, Request};
use crate::engine::poll::rows::{self, observe_one, observe_row};
use crate::run::rate_limit::SharedRate;
use crate::run::reads::outside::Outside;

/// Number of objects that a request counts for if its host is silent or asks for a delay. It is the number that
/// triggers a pause, because one request for many objects affects them all.
const OBJECTS_THAT_COUNT: usize = 3;

/// Interval of checks if the Secrets are listed, which takes a second at the start.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// Log text of a missed deadline.
const NO_ANSWER: &str = "no answer within the target's timeout";

/// Result of a read.
#[derive(Debug)]
pub struct ReadResult<T> {
    /// Result of the responses; the outer `Err` if the read was postponed because of a host's pause.
    pub read: Result<Result<T, Failure>, Postponed>,
    /// Delay for the objects that a response asked for.
    pub pause: Option<Duration>,
    /// True if the log already contains the reason for a missing response.
    pub told: bool,
    /// Duration without the wait for a slot.
    pub took: Duration,
    /// Entity tag for a later conditional request.
    pub tagged: Option<Tagged>,
    /// Fingerprint of the judged responses, if available.
    pub judged: Option<Fingerprint>,
    /// Credentials that the read was sent with.
    pub sent: SentCredentials,
    /// The last answer, if it was one over HTTP and means an absence.
    pub absent_by: Option<LastAnswer>,
}

/// The source of one target, with the clients to read it.
#[derive(Debug)]
struct SourceOf<'r, R> {
    outside: &'r Outside,
    target: &'r Target,
    read: &'r R,
}

impl<R> SourceOf<'_, R> {
    /// Waits for a slot at the host, then checks the host's pause again, because it may have begun meanwhile.
    async fn enter(&self, host: &str) -> Result<Permit, Postponed> {
        let mut permit = self.outside.gate.enter(host, self.target.read.limits.concurrent).await;
        self.outside.gate.begin(&mut permit, clock::now())?;
        Ok(permit)
    }

    /// Runs a request within the target's timeout. Returns its answer and its duration.
    async fn run<T>(&self, asking: impl Future<Output = T>) -> (Result<T, Elapsed>, Duration) {
        let began = clock::now();
        reach(KillPoint::PollerBeforeRead);
        let answer = tokio::time::timeout(self.target.timeout, asking).await;
        reach(KillPoint::PollerAfterRead);
        (answer, clock::now() - began)
    }

    /// Logs why no answer came.
    fn failed<T>(&self, why: &str, failure: Failure, took: Duration) -> ReadResult<T> {
        self.outside.troubles.note(self.target, why, clock::now());
        ReadResult { told: true, ..ReadResult::new(Ok(Err(failure)), took) }
    }

    fn timed_out<T>(&self, took: Duration) -> ReadResult<T> {
        self.failed(NO_ANSWER, Failure::of(ObservedReason::PollTimedOut), took)
    }
}

/// Postpones a read until the Secrets are listed.
fn unlisted() -> Postponed {
    let cause = Failure::with(ObservedReason::CredentialUnusable, "the Secrets are not listed yet");
    Postponed { until: clock::now() + UNTIL_SECRETS_ARE_LISTED, cause }
}

/// Logs the result of a read. If `told`, the reason for a missing response is already in the log.
pub(crate) fn tell(told: bool, outside: &Outside, target: &Target, found: &Found) {
    let now = clock::now();
    if !told {
        outside.troubles.note_finding(target, &found.finding, now);
    }
    outside.troubles.note_withheld(target, &found.withheld, now);
}

/// Reads the external resource of one object.
pub async fn look_at_one(
    outside: &Outside,
    target: &Target,
    (uid, prepared, view): (&Uid, &Prepared, &OpenView<'_>),
    (tag, known): (Option<EntityTag>, Option<&KnownFinding>),
) -> ReadResult<Observation> {
    // The larger futures are boxed, because every running poll would reserve memory for them.
    match (&target.read.source, prepared.first()) {
        (Source::Sql(read), Ok(Request::Sql(query))) => {
            let mut found = Vec::new();
            let bounds = Some(rows::ENOUGH_ROWS);
            let source = SourceOf { outside, target, read };
            let asking = sql::ask(&source, vec![uid.clone()], query, bounds, |row| found.push(row));
            Box::pin(asking).await.unwrap_or_else(ReadResult::postponed).and_then(|()| observe_one(read, view, &found))
        }
        (Source::Http(read), Ok(Request::Http(request))) => {
            http::look_at_one(SourceOf { outside, target, read }, (uid, view), request, (tag, known)).await
        }
        (Source::Ldap(read), Ok(Request::Ldap(search))) => {
            let source = SourceOf { outside, target, read };
            Box::pin(ldap::look_at_one(&source, uid, view, search)).await.unwrap_or_else(ReadResult::postponed)
        }
        (Source::Kubernetes(read), Ok(Request::Kubernetes(resource))) => {
            let source = SourceOf { outside, target, read };
            Box::pin(kubernetes::look_at_one(&source, uid, view, resource)).await.unwrap_or_else(ReadResult::postponed)
        }
        _ => unasked(),
    }
}

/// Traverses a collection once and keeps the values of these entries.
pub async fn look_at_all(
    outside: &Outside,
    target: &Target,
    (uids, wanted): (Vec<Uid>, HashSet<String>),
    (request, rate): (Request, &SharedRate),
) -> ReadResult<Entries> {
    match (&target.read.source, request) {
        (Source::Sql(read), Request::Sql(query)) => {
            let Some(keys) = &read.keys else { return unasked() };
            let mut gathering = Gathering::new(keys, wanted);
            // After an invalid row, the remaining rows are skipped.
            let mut gathered = Ok(());
            let take = |row| {
                if gathered.is_ok() {
                    gathered = gathering.take(row);
                }
            };
            let asked = sql::ask(&SourceOf { outside, target, read }, uids, &query, None, take).await;
            asked.unwrap_or_else(ReadResult::postponed).and_then(|()| gathered.map(|()| gathering.finish()))
        }
        (Source::Http(read), Request::Http(request)) => {
            http::look_at_all(SourceOf { outside, target, read }, (uids, wanted), request, rate).await
        }
        _ => unasked(),
    }
}

/// Returns the observation of one object's entry by the target's rules.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_entry(target: &Target, view: &Value, entry: &Value) -> Result<Observation, Failure> {
    match &target.read.source {
        Source::Http(read) => observe_item(read, view, entry),
        Source::Sql(read) => observe_row(read, view, entry),
        // These kinds of reads have no entries, so these cases do not occur.
        Source::Ldap(read) => observe_entry_of_directory(read, view, entry),
        Source::Kubernetes(read) => observe_resource(read, view, Some(entry)),
    }
}

impl<T> ReadResult<T> {
    fn new(read: Result<Result<T, Failure>, Postponed>, took: Duration) -> Self {
        let sent = SentCredentials::default();
        Self { read, pause: None, told: false, took, tagged: None, judged: None, sent, absent_by: None }
    }

    fn postponed(postponed: Postponed) -> Self {
        Self::new(Err(postponed), Duration::ZERO)
    }

    /// Continues with the value that was read.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Result<U, Failure>) -> ReadResult<U> {
        let Self { read, pause, told, took, tagged, judged, sent, absent_by } = self;
        let read = read.map(|read| read.and_then(next));
        ReadResult { read, pause, told, took, tagged, judged, sent, absent_by }
    }
}

/// Returns a failure for a request of another kind than the target's, which does not occur.
fn unasked<T>() -> ReadResult<T> {
    ReadResult::new(Ok(Err(Failure::of(ObservedReason::RuleError))), Duration::ZERO)
}
