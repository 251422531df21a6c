//! One poll: a rendered request goes out, a finding comes back.
//!
//! Thin: the reply is judged in the core. Its deadline covers everything from the connection to the last byte, but
//! not the wait for a slot at the host, which is nobody's failure. It must not know what stands on the object.

use std::sync::Arc;
use std::time::Duration;

use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::ObservedReason;
use drift_model::http_request::{HttpRequest, host_and_port};
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_outside::{
    Heard, HostGate, HttpFailure, HttpOptions, HttpReply, HttpSender, Pause, PauseCause, Permit, asked_pause,
};
use drift_target::cel::EvaluationError;
use drift_target::{HttpRead, Source, Target, Wished};
use serde_json::Value;

use crate::core::finding::{Failure, Finding};
use crate::core::reading::{Progress, Reading};
use crate::core::rendered::rule_error;
use crate::core::reply::{Observation, compare};
use crate::core::track::BegunPoll;
use crate::troubles::Troubles;

/// How often a poll that needs a credential looks whether the Secrets are listed: that takes a second at the start.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// What one poll needs.
#[derive(Debug)]
pub struct PollOrder {
    /// The object's uid.
    pub uid: Uid,
    /// What the result will be held against.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: Arc<Value>,
    /// What it wishes for.
    pub wished: Wished,
    /// The request.
    pub request: HttpRequest,
}

/// What became of one poll.
#[derive(Debug)]
pub enum PollOutcome {
    /// It found something out, be it that nothing can be said.
    Found {
        /// What.
        finding: Finding,
        /// The object is to be left alone for so long: the answer asked for it.
        pause: Option<Duration>,
    },
    /// It was not begun.
    Postponed(Postponed),
}

/// A poll that was not begun is late, not failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// Until when.
    pub until: Moment,
    /// What is told of the object where that lasts too long.
    pub cause: Failure,
}

impl From<Pause> for Postponed {
    fn from(Pause { until, cause }: Pause) -> Self {
        let reason = match cause {
            PauseCause::AskedToWait => ObservedReason::RateLimited,
            PauseCause::TimedOut => ObservedReason::PollTimedOut,
            PauseCause::Unreachable => ObservedReason::ExternalUnreachable,
        };
        Self { until, cause: Failure::of(reason) }
    }
}

/// How one poll ended.
#[derive(Debug)]
pub struct PollResult {
    /// The object's uid.
    pub uid: Uid,
    /// What the result is held against.
    pub begun: BegunPoll,
    /// What became of it.
    pub outcome: PollOutcome,
    /// From the first attempt to connect to the finding.
    pub took: Duration,
}

/// The way out, shared by all targets.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Sends requests.
    pub sender: HttpSender,
    /// Bounds them for each host.
    pub gate: Arc<HostGate>,
    /// Says in the log why reads fail.
    pub troubles: Arc<Troubles>,
}

impl Outside {
    /// Whether a poll that would send this request has to wait.
    #[must_use]
    pub fn postponed(&self, request: &HttpRequest, now: Moment) -> Option<Postponed> {
        self.gate.paused(&host_and_port(&request.url), now).map(Postponed::from)
    }

    /// Polls one object. Its deadline covers all requests, but not the wait for a slot at a host.
    pub async fn poll(&self, target: &Target, order: PollOrder) -> PollResult {
        let PollOrder { uid, begun, view, wished, request } = order;
        let mut read = Read { outside: self, target, uid: &uid, left: target.timeout };
        let outcome = match read.run(&view, request).await {
            Err(postponed) => PollOutcome::Postponed(postponed),
            Ok((observation, pause)) => PollOutcome::Found { finding: compare(target, &wished, observation), pause },
        };
        let took = target.timeout - read.left;
        PollResult { uid, begun, outcome, took }
    }

    /// Asked once there is a slot at the host: others may have been told to wait meanwhile.
    fn begin(&self, target: &Target, permit: &mut Permit, now: Moment) -> Result<(), Postponed> {
        if !self.sender.knows_secrets_of(&options_of(target)) {
            let cause = Failure::of(ObservedReason::Unauthorized);
            return Err(Postponed { until: now + UNTIL_SECRETS_ARE_LISTED, cause });
        }
        Ok(self.gate.begin(permit, now)?)
    }

    fn tell_of_answer(&self, target: &Target, reply: &HttpReply) {
        match reply.status.as_u16() {
            status @ (401 | 403 | 407) => {
                let sentence = format!("the external system refuses the credential with status {status}");
                self.troubles.note(&target.name, &sentence, clock::now());
            }
            _ => self.troubles.note_success(&target.name),
        }
    }
}

/// One read under way.
struct Read<'r> {
    outside: &'r Outside,
    target: &'r Target,
    uid: &'r Uid,
    /// Of the deadline.
    left: Duration,
}

/// What a read found out, and how long the object is to be left alone.
type Observed = (Observation, Option<Duration>);

impl Read<'_> {
    /// Sends one request after the other, each with a slot at its host.
    async fn run(&mut self, view: &Value, first: HttpRequest) -> Result<Observed, Postponed> {
        let mut reading = Reading::new(http_of(self.target), view);
        let mut request = first;
        let mut entered: Option<(String, Permit)> = None;
        loop {
            let host = host_and_port(&request.url);
            let permit = match entered.take().filter(|(known, _)| *known == host) {
                Some((_, permit)) => permit,
                None => self.enter(&host).await?,
            };
            let (answer, heard) = self.ask(&request).await;
            if let Some(heard) = heard {
                self.outside.gate.note(&permit, self.uid, heard, clock::now());
            }
            let pause = heard.and_then(Heard::asked_pause);
            match answer.map(|reply| reading.take(&reply)) {
                Err(failure) => return Ok((Observation::Failed(failure), pause)),
                Ok(Progress::Done(observation)) => return Ok((observation, pause)),
                Ok(Progress::Ask(next)) => request = *next,
            }
            entered = Some((host, permit));
        }
    }

    async fn enter(&self, host: &str) -> Result<Permit, Postponed> {
        let mut permit = self.outside.gate.enter(host, self.target.read.limits.concurrent).await;
        self.outside.begin(self.target, &mut permit, clock::now())?;
        Ok(permit)
    }

    /// The answer to one request, or why there is none, and what that says of the host.
    async fn ask(&mut self, request: &HttpRequest) -> (Result<HttpReply, Failure>, Option<Heard>) {
        let (target, troubles) = (self.target, &self.outside.troubles);
        let options = options_of(target);
        let began = clock::now();
        let sending = self.outside.sender.send(request, &options);
        reach(KillPoint::PollerBeforeRead);
        let answer = tokio::time::timeout(self.left, sending).await;
        reach(KillPoint::PollerAfterRead);
        self.left = self.left.saturating_sub(clock::now() - began);
        match answer {
            Err(_) => {
                troubles.note(&target.name, "no answer within the target's timeout", clock::now());
                (Err(Failure::of(ObservedReason::PollTimedOut)), Some(Heard::TimedOut))
            }
            Ok(Err(failure)) => {
                troubles.note(&target.name, &failure.to_string(), clock::now());
                let heard = matches!(failure, HttpFailure::Unreachable(_)).then_some(Heard::Unreachable);
                (Err(failure_of(&failure)), heard)
            }
            Ok(Ok(reply)) => {
                self.outside.tell_of_answer(target, &reply);
                let pause = asked_pause(reply.status, &reply.headers, clock::wall());
                (Ok(reply), Some(pause.map_or(Heard::Answer, Heard::AskedToWait)))
            }
        }
    }
}

/// What people are told of an object whose request was not answered.
fn failure_of(failure: &HttpFailure) -> Failure {
    match failure {
        HttpFailure::Unreachable(_) => Failure::of(ObservedReason::ExternalUnreachable),
        HttpFailure::CredentialUnavailable(_) => Failure::of(ObservedReason::Unauthorized),
        HttpFailure::AddressRefused { .. } => {
            let text = "the host's address is in a network that the target does not allow";
            Failure { reason: ObservedReason::ExternalUnreachable, text: text.to_owned() }
        }
    }
}

fn http_of(target: &Target) -> &HttpRead {
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

/// What a poll of the object would need; what can be said without a request is the finding at once.
///
/// # Errors
/// The finding: a template cannot be evaluated for this object, or the resource cannot exist yet.
pub fn prepare(target: &Target, view: &Value) -> Result<(Wished, HttpRequest), Finding> {
    let failed = |error: &EvaluationError| Finding::Failed(rule_error(error));
    let wished = target.wish_of(view).map_err(|error| failed(&error))?;
    let read = http_of(target);
    match read.may_exist(view) {
        Ok(true) => {}
        Ok(false) => return Err(Finding::Absent),
        Err(error) => return Err(failed(&error)),
    }
    let request = read.render(view).map_err(|error| failed(&error))?;
    Ok((wished, request))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arc_swap::ArcSwap;
    use drift_model::labelled_secrets::LabelledSecrets;
    use serde_json::json;

    use super::*;
    use crate::core::fixtures::{TEXT, at, object, target};
    use crate::core::roster::Roster;

    #[tokio::test]
    async fn a_poll_waits_until_the_secrets_are_listed() {
        let secrets = Arc::new(ArcSwap::<LabelledSecrets>::default());
        let sender = HttpSender::new(secrets.clone(), "test");
        let outside = Outside { sender, gate: Arc::default(), troubles: Arc::default() };
        let target = target(&TEXT.replace(
            r#"url: "http://h/${self.spec.id}""#,
            r#"url: "http://127.0.0.1:1/${self.spec.id}", auth: {bearer: {secretRef: {name: s, key: k}}}"#,
        ));
        let poll = async || {
            let mut roster = Roster::new(target.clone());
            let object = object(&target, "u", &json!({"id": "x", "a": 1}), &json!({}));
            let (uid, view) = (object.id.uid.clone(), object.view.clone());
            roster.see(object, at(0), |_| true);
            let begun = roster.update(&uid, at(0).moment, |track| track.begin_poll(at(0))).unwrap();
            let (wished, request) = prepare(&target, &view).unwrap();
            outside.poll(&target, PollOrder { uid, begun, view, wished, request }).await.outcome
        };
        assert!(matches!(poll().await, PollOutcome::Postponed(_)), "a Secret that was not listed yet is missed");
        secrets.store(Arc::new(std::iter::empty().collect()));
        let unauthorized = Finding::from(ObservedReason::Unauthorized);
        let outcome = poll().await;
        assert!(matches!(&outcome, PollOutcome::Found { finding, .. } if *finding == unauthorized), "{outcome:?}");
    }
}
