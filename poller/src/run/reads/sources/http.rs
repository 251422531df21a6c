//! Reads from HTTP servers: sequential requests, each with a slot at its host.
//!
//! The engine judges the responses.

use std::borrow::Cow;
use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::ObservedReason;
use drift_api::identity::Uid;
use drift_api::object::object_view::OpenView;
use drift_kube::process::clock;
use drift_kube::process::kill_point::{KillPoint, reach};
use drift_language::{HttpRead, HttpRequest, ReadStep, Target};
use drift_systems::{
    ExchangeProgress, HostReply, HttpFailure, HttpOptions, HttpReply, Permit, Room, before_deadline, count_as_limited,
    heard,
};

use super::{NO_ANSWER, OBJECTS_THAT_COUNT, ReadResult, SourceOf, unlisted};
use crate::engine::Postponed;
use crate::engine::collection::entries::Entries;
use crate::engine::collection::traversal::Traversal;
use crate::engine::judgement::{Failure, Observation};
use crate::engine::poll::absence_answer::LastAnswer;
use crate::engine::poll::entity_tag::EntityTag;
use crate::engine::poll::http_reading::{Progress, Reading};
use crate::engine::poll::known_finding::KnownFinding;
use crate::run::rate_limit::SharedRate;

/// Delay of a poll whose response found no memory. Other responses hold memory no longer than a target's timeout, and
/// one retry a second is no load.
const UNTIL_THERE_IS_MEMORY: Duration = Duration::from_secs(1);

/// The same after answered requests, because these are sent again. So a host whose read has several requests gets them
/// a few times a minute, and not each second.
const UNTIL_ALL_IS_ASKED_AGAIN: Duration = Duration::from_secs(10);

/// Requests of one read in progress.
#[derive(Debug)]
struct HttpRequests<'r> {
    source: SourceOf<'r, HttpRead>,
    /// Some of the objects that the responses are for.
    uids: Vec<Uid>,
    /// Rate limit for each further request. A page is as much work as another read.
    rate: Option<&'r SharedRate>,
    /// Delay for the objects that the last response asked for.
    pause: Option<Duration>,
    /// True if the log already contains the reason for a missing response.
    told: bool,
    /// Rest of the deadline. It covers all requests, but not the wait for a slot at a host.
    left: Duration,
    progress: ExchangeProgress,
    /// Number of requests that were sent.
    asked: usize,
    /// True if some requests were answered and another one follows.
    goes_on: bool,
    /// Reserved memory for the kept responses.
    room: Option<Room>,
    /// The last request and the status of its answer, once the result is complete.
    last: Option<(Cow<'r, HttpRequest>, u16)>,
}

/// Reads the external resource of one object.
pub(super) async fn look_at_one(
    source: SourceOf<'_, HttpRead>,
    (uid, view): (&Uid, &OpenView<'_>),
    request: &HttpRequest,
    (tag, known): (Option<EntityTag>, Option<&KnownFinding>),
) -> ReadResult<Observation> {
    let mut request = Cow::Borrowed(request);
    tag.iter().for_each(|tag| tag.put_into(Arc::make_mut(&mut request.to_mut().headers)));
    let mut reading = Reading::new(source.read, view).unless(tag).knowing(known);
    let mut requests = HttpRequests::new(source, vec![uid.clone()]);
    let read = requests.run(request, |reply| (reading.take(reply), reading.kept())).await;
    let absent_by = match &read {
        Ok(Ok(Observation::Absent)) => requests.last_answer(),
        _ => None,
    };
    ReadResult { judged: reading.judged(), tagged: reading.into_tagged(), absent_by, ..requests.end(read) }
}

/// Traverses a collection once.
pub(super) async fn look_at_all(
    source: SourceOf<'_, HttpRead>,
    (uids, wanted): (Vec<Uid>, HashSet<String>),
    request: HttpRequest,
    rate: &SharedRate,
) -> ReadResult<Entries> {
    let read = source.read;
    let mut requests = HttpRequests { rate: Some(rate), ..HttpRequests::new(source, uids) };
    let entries = match &read.collection {
        None => return super::unasked(),
        Some(collection) => {
            let mut traversal = Traversal::new(read, collection, request.clone(), wanted);
            // The traversal itself limits the memory of its pages.
            requests.run(Cow::Owned(request), |reply| (traversal.take(reply), 0)).await
        }
    };
    ReadResult { absent_by: requests.last_answer(), ..requests.end(entries) }
}

impl<'r> HttpRequests<'r> {
    /// Creates the unsent requests; the responses are for these objects.
    fn new(source: SourceOf<'r, HttpRead>, mut uids: Vec<Uid>) -> Self {
        uids.truncate(OBJECTS_THAT_COUNT);
        Self {
            left: source.target.timeout,
            source,
            uids,
            rate: None,
            pause: None,
            told: false,
            progress: ExchangeProgress::default(),
            asked: 0,
            goes_on: false,
            room: None,
            last: None,
        }
    }

    fn last_answer(&self) -> Option<LastAnswer> {
        self.last.as_ref().map(|(request, status)| LastAnswer::new(request, *status))
    }

    fn end<T>(&self, read: Result<Result<T, Failure>, Postponed>) -> ReadResult<T> {
        let (pause, told, sent) = (self.pause, self.told, self.progress.sent());
        ReadResult { pause, told, sent, ..ReadResult::new(read, self.source.target.timeout - self.left) }
    }

    /// Sends `first` and each request that `take` returns for a response, until the result is complete. `take` also
    /// returns the memory of the responses so far.
    ///
    /// # Errors
    /// Postpones the read because a host is paused, or because a response waited for memory.
    async fn run<T>(
        &mut self,
        first: Cow<'r, HttpRequest>,
        mut take: impl FnMut(&HttpReply) -> (Progress<T>, usize),
    ) -> Result<Result<T, Failure>, Postponed> {
        let mut request = first;
        let mut permit = self.enter(&request).await?;
        loop {
            let (answer, heard) = self.ask(&request).await?;
            if let Some(heard) = heard {
                self.uids.iter().for_each(|uid| self.source.outside.gate.note(&permit, uid, heard, clock::now()));
            }
            self.pause = heard.and_then(HostReply::asked_pause);
            match answer.map(|reply| (reply.status.as_u16(), take(&reply))) {
                Err(failure) => return Ok(Err(failure)),
                Ok((status, (Progress::Done(done), _))) => {
                    self.last = Some((request, status));
                    return Ok(done);
                }
                Ok((_, (Progress::Ask(next), kept))) => {
                    self.goes_on = true;
                    self.keep(permit.host(), kept)?;
                    request = Cow::Owned(*next);
                }
            }
            let moves_on = permit.host() != request.host();
            permit = match self.go_on(permit, &request).await {
                // Earlier requests must not be repeated because of a later host.
                Err(postponed) if moves_on => {
                    self.pause = None;
                    return Ok(Err(postponed.cause));
                }
                entered => entered?,
            };
        }
    }

    /// Reserves memory for the responses so far. The earlier reservation is released first, so that no waiting
    /// read holds memory.
    fn keep(&mut self, host: &str, bytes: usize) -> Result<(), Postponed> {
        self.room = None;
        self.room = self.source.outside.sender.try_keep(host, bytes).ok_or_else(|| self.lacks_memory())?;
        Ok(())
    }

    fn lacks_memory(&self) -> Postponed {
        let now = clock::now();
        self.source.outside.troubles.note(
            self.source.target,
            "an answer waits for memory that other answers take",
            now,
        );
        let pause = if self.goes_on { UNTIL_ALL_IS_ASKED_AGAIN } else { UNTIL_THERE_IS_MEMORY };
        Postponed { until: now + pause, cause: Failure::of(ObservedReason::PollTimedOut) }
    }

    /// Acquires a slot for the next request. A waiting read holds no slot, and respects the pause of a host like
    /// a new read.
    async fn go_on(&self, mut permit: Permit, request: &HttpRequest) -> Result<Permit, Postponed> {
        let is_late = self.rate.is_some_and(|rate| rate.take(clock::now()).is_err());
        if permit.host() == request.host() && !is_late {
            self.source.outside.gate.begin(&mut permit, clock::now())?;
            return Ok(permit);
        }
        drop(permit);
        if let Some(rate) = self.rate.filter(|_| is_late) {
            rate.wait().await;
        }
        self.enter(request).await
    }

    /// Waits for a slot, then checks the host's pause again, because it may have begun meanwhile.
    async fn enter(&self, request: &HttpRequest) -> Result<Permit, Postponed> {
        let SourceOf { outside, target, read } = self.source;
        let mut permit = outside.gate.enter(&request.host(), target.read.limits.concurrent).await;
        let now = clock::now();
        if !outside.sender.knows_secrets_of(&options_of(target, read, request, &read.first)) {
            return Err(unlisted());
        }
        outside.gate.begin(&mut permit, now)?;
        Ok(permit)
    }

    /// Sends one request. Returns its response or failure, and the report about the host.
    async fn ask(
        &mut self,
        request: &HttpRequest,
    ) -> Result<(Result<HttpReply, Failure>, Option<HostReply>), Postponed> {
        let (target, troubles) = (self.source.target, &self.source.outside.troubles);
        // All pages of a collection are responses to its one step.
        let step = self.source.read.steps().nth(self.asked).unwrap_or(&self.source.read.first);
        let options = options_of(target, self.source.read, request, step);
        let began = clock::now();
        let sending = pin!(self.source.outside.sender.send(request, &options, &self.progress));
        reach(KillPoint::PollerBeforeRead);
        let token_wait = self.progress.token_wait();
        let answer = before_deadline(self.left, &self.progress, sending).await;
        reach(KillPoint::PollerAfterRead);
        let of_tokens = self.progress.token_wait() - token_wait;
        self.left = self.left.saturating_sub((clock::now() - began).saturating_sub(of_tokens));
        self.asked += 1;
        let counted = |reply| count_as_limited(reply, self.source.read.limited_when.as_ref(), &step.format);
        Ok(match answer.map(|answer| answer.map(counted)) {
            None if self.progress.has_waited() => return Err(self.lacks_memory()),
            Some(Err(failure @ HttpFailure::TokenPaused { wait, .. })) => {
                return Err(Postponed { until: clock::now() + wait, cause: failure_of(&failure) });
            }
            None => {
                self.told = true;
                troubles.note(target, NO_ANSWER, clock::now());
                (Err(Failure::of(ObservedReason::PollTimedOut)), self.progress.heard())
            }
            Some(answer) => {
                let heard = heard(&answer, clock::wall());
                if let Err(failure) = &answer {
                    self.told = true;
                    troubles.note(target, &failure.to_string(), clock::now());
                }
                (answer.map_err(|failure| failure_of(&failure)), heard)
            }
        })
    }
}

/// Converts a failed request to a failure.
fn failure_of(failure: &HttpFailure) -> Failure {
    match failure {
        HttpFailure::NotConnected(_) => Failure::of(ObservedReason::ExternalUnreachable),
        HttpFailure::ProxyFailed(cause) => Failure::with(ObservedReason::ExternalUnreachable, cause),
        HttpFailure::NotThroughProxy(cause) => Failure::with(ObservedReason::ExternalUnreachable, cause),
        HttpFailure::System(failure) => Failure::of_system(failure),
        HttpFailure::TokenUnavailable(_) | HttpFailure::TokenPaused { .. } => Failure::with(
            ObservedReason::ExternalUnreachable,
            "there is no token, since the token server does not give one",
        ),
        HttpFailure::TokenRefused(cause, _) => Failure::with(ObservedReason::Unauthorized, cause),
    }
}

fn options_of<'a>(
    target: &'a Target,
    read: &'a HttpRead,
    request: &'a HttpRequest,
    step: &'a ReadStep,
) -> HttpOptions<'a> {
    HttpOptions {
        auth: request.auth.as_deref(),
        unauthorized_when: read.unauthorized_when.as_ref().map(|rule| (rule, &step.format)),
        tls: read.tls.as_ref(),
        proxy: read.proxy.as_ref(),
        has_open_host: read.has_open_host(),
        allow_networks: &target.allow_networks,
        max_bytes: read.max_bytes,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
