//! Reads from HTTP servers: requests one after the other, each with a slot at its host.
//!
//! Thin: the answers are judged in the core. It must not know what stands on the object.

use std::time::Duration;

use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::ObservedReason;
use drift_model::http_request::HttpRequest;
use drift_model::identity::Uid;
use drift_outside::{ExchangeProgress, Heard, HttpFailure, HttpOptions, HttpReply, Permit, heard};
use drift_target::{HttpRead, Source, Target};

use crate::core::finding::{Failure, Finding};
use crate::core::reading::Progress;
use crate::outside::{Outside, Postponed};

/// How often a poll that needs a credential looks whether the Secrets are listed: that takes a second at the start.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// A poll whose answer found no memory comes back after this long: what takes it is waited for no longer than a target's
/// timeout, and to ask again each second is no load.
const UNTIL_THERE_IS_MEMORY: Duration = Duration::from_secs(1);

/// Objects that a request counts for where its host is silent or asks to wait: as many as it takes for the host to be left
/// alone, since what one request for many objects hears concerns them all.
const OBJECTS_THAT_COUNT: usize = 3;

/// Requests of one read under way.
#[derive(Debug)]
pub(crate) struct HttpRequests<'r> {
    outside: &'r Outside,
    target: &'r Target,
    /// Some of the objects that the answers are for.
    uids: Vec<Uid>,
    /// Whether one was answered.
    answered: bool,
    /// Whether the log says already why there was no answer.
    told: bool,
    /// Of the deadline, which covers all requests, but not the wait for a slot at a host.
    left: Duration,
    progress: ExchangeProgress,
}

/// What the answers gave, and how long the objects are to be left alone.
pub(crate) type Heeded<T> = (Result<T, Failure>, Option<Duration>);

impl<'r> HttpRequests<'r> {
    /// None was sent yet; the answers are for these objects.
    pub(crate) fn new(outside: &'r Outside, target: &'r Target, uids: impl Iterator<Item = Uid>) -> Self {
        let uids = uids.take(OBJECTS_THAT_COUNT).collect();
        let left = target.timeout;
        Self { outside, target, uids, answered: false, told: false, left, progress: ExchangeProgress::default() }
    }

    /// Says in the log what became of it, where that was not said yet.
    pub(crate) fn tell(&self, finding: &Finding) {
        if !self.told {
            self.outside.troubles.note_finding(&self.target.name, finding, clock::now());
        }
    }

    /// How long the requests took so far.
    pub(crate) fn took(&self) -> Duration {
        self.target.timeout - self.left
    }

    /// Sends `first` and whatever `take` asks for on an answer, until it has what it wants.
    ///
    /// # Errors
    /// Nothing was found out, since a host is to be left alone, or the answer waited for memory.
    pub(crate) async fn run<T>(
        &mut self,
        first: HttpRequest,
        mut take: impl FnMut(&HttpReply) -> Progress<T>,
    ) -> Result<Heeded<T>, Postponed> {
        let mut request = first;
        let mut entered: Option<(String, Permit)> = None;
        loop {
            let host = request.host();
            let permit = match entered.take().filter(|(known, _)| *known == host) {
                Some((_, permit)) => permit,
                // What was sent already must not be sent again for the sake of a host that comes later.
                None => match self.enter(&host).await {
                    Err(postponed) if self.answered => return Ok((Err(postponed.cause), None)),
                    entered => entered?,
                },
            };
            let (answer, heard) = self.ask(&request).await?;
            if let Some(heard) = heard {
                self.uids.iter().for_each(|uid| self.outside.gate.note(&permit, uid, heard, clock::now()));
            }
            self.answered |= answer.is_ok();
            let pause = heard.and_then(Heard::asked_pause);
            match answer.map(|reply| take(&reply)) {
                Err(failure) => return Ok((Err(failure), pause)),
                Ok(Progress::Done(done)) => return Ok((done, pause)),
                Ok(Progress::Ask(next)) => request = *next,
            }
            entered = Some((host, permit));
        }
    }

    /// Whether the host may be asked is asked again once there is a slot: others may have been told to wait meanwhile.
    async fn enter(&self, host: &str) -> Result<Permit, Postponed> {
        let mut permit = self.outside.gate.enter(host, self.target.read.limits.concurrent).await;
        let now = clock::now();
        if !self.outside.sender.knows_secrets_of(&options_of(self.target)) {
            let cause = Failure::of(ObservedReason::Unauthorized);
            return Err(Postponed { until: now + UNTIL_SECRETS_ARE_LISTED, cause });
        }
        self.outside.gate.begin(&mut permit, now)?;
        Ok(permit)
    }

    /// The answer to one request, or why there is none, and what that says of the host.
    async fn ask(&mut self, request: &HttpRequest) -> Result<(Result<HttpReply, Failure>, Option<Heard>), Postponed> {
        let (target, troubles) = (self.target, &self.outside.troubles);
        let options = options_of(target);
        let began = clock::now();
        let sending = self.outside.sender.send(request, &options, &self.progress);
        reach(KillPoint::PollerBeforeRead);
        let answer = tokio::time::timeout(self.left, sending).await;
        reach(KillPoint::PollerAfterRead);
        self.left = self.left.saturating_sub(clock::now() - began);
        Ok(match answer {
            Err(_) if self.progress.has_waited() => {
                troubles.note(&target.name, "an answer waits for memory that other answers take", clock::now());
                let cause = Failure::of(ObservedReason::PollTimedOut);
                return Err(Postponed { until: clock::now() + UNTIL_THERE_IS_MEMORY, cause });
            }
            Err(_) => {
                self.told = true;
                troubles.note(&target.name, "no answer within the target's timeout", clock::now());
                (Err(Failure::of(ObservedReason::PollTimedOut)), self.progress.heard())
            }
            Ok(answer) => {
                let heard = heard(&answer, clock::wall());
                if let Err(failure) = &answer {
                    self.told = true;
                    troubles.note(&target.name, &failure.to_string(), clock::now());
                }
                (answer.map_err(|failure| failure_of(&failure)), heard)
            }
        })
    }
}

/// What people are told of an object whose request was not answered.
fn failure_of(failure: &HttpFailure) -> Failure {
    match failure {
        HttpFailure::Unreachable(_) => Failure::of(ObservedReason::ExternalUnreachable),
        HttpFailure::TokenUnavailable(_) => Failure::with(
            ObservedReason::ExternalUnreachable,
            "there is no token, since the token server does not give one",
        ),
        HttpFailure::CredentialUnavailable(_) | HttpFailure::TokenRefused(_) => {
            Failure::of(ObservedReason::Unauthorized)
        }
        HttpFailure::AddressRefused { .. } => {
            let text = "the host's address is in a network that the target does not allow";
            Failure { reason: ObservedReason::ExternalUnreachable, text: text.to_owned() }
        }
    }
}

/// How the target reads.
pub(crate) fn http_of(target: &Target) -> &HttpRead {
    let Source::Http(http) = &target.read.source;
    http
}

fn options_of(target: &Target) -> HttpOptions<'_> {
    let read = http_of(target);
    HttpOptions {
        auth: read.auth.as_ref(),
        tls: read.tls.as_ref(),
        allow_networks: &target.allow_networks,
        max_bytes: read.max_bytes,
    }
}
