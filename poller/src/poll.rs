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
use drift_target::{HttpRead, Source, Target, Wished};
use serde_json::Value;

use crate::core::finding::{Failure, Finding};
use crate::core::reply::{compare, observe};
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

    /// Polls one object.
    pub async fn poll(&self, target: &Target, order: PollOrder) -> PollResult {
        let host = host_and_port(&order.request.url);
        let mut permit = self.gate.enter(&host, target.read.limits.concurrent).await;
        let began = clock::now();
        let outcome = match self.begin(target, &mut permit, began) {
            Err(postponed) => PollOutcome::Postponed(postponed),
            Ok(()) => {
                let (finding, heard) = self.find(target, &order).await;
                if let Some(heard) = heard {
                    self.gate.note(&permit, &order.uid, heard, clock::now());
                }
                let pause = heard.and_then(Heard::asked_pause);
                PollOutcome::Found { finding, pause }
            }
        };
        PollResult { uid: order.uid, begun: order.begun, outcome, took: clock::now() - began }
    }

    /// Asked once there is a slot at the host: others may have been told to wait meanwhile.
    fn begin(&self, target: &Target, permit: &mut Permit, now: Moment) -> Result<(), Postponed> {
        if !self.sender.knows_secrets_of(&options_of(target)) {
            let cause = Failure::of(ObservedReason::Unauthorized);
            return Err(Postponed { until: now + UNTIL_SECRETS_ARE_LISTED, cause });
        }
        Ok(self.gate.begin(permit, now)?)
    }

    /// What the request found out, and what it says of the host.
    async fn find(&self, target: &Target, order: &PollOrder) -> (Finding, Option<Heard>) {
        let options = options_of(target);
        let sending = self.sender.send(&order.request, &options);
        reach(KillPoint::PollerBeforeRead);
        let answer = tokio::time::timeout(target.timeout, sending).await;
        reach(KillPoint::PollerAfterRead);
        match answer {
            Err(_) => {
                self.troubles.note(&target.name, "no answer within the target's timeout", clock::now());
                (ObservedReason::PollTimedOut.into(), Some(Heard::TimedOut))
            }
            Ok(Err(failure)) => {
                self.troubles.note(&target.name, &failure.to_string(), clock::now());
                match failure {
                    HttpFailure::Unreachable(_) => {
                        (ObservedReason::ExternalUnreachable.into(), Some(Heard::Unreachable))
                    }
                    HttpFailure::CredentialUnavailable(_) => (ObservedReason::Unauthorized.into(), None),
                }
            }
            Ok(Ok(reply)) => {
                self.tell_of_answer(target, &reply);
                let pause = asked_pause(reply.status, &reply.headers, clock::wall());
                let finding = compare(target, &order.wished, observe(http_of(target), &order.view, &reply));
                (finding, Some(pause.map_or(Heard::Answer, Heard::AskedToWait)))
            }
        }
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

fn http_of(target: &Target) -> &HttpRead {
    let Source::Http(http) = &target.read.source;
    http
}

fn options_of(target: &Target) -> HttpOptions<'_> {
    let read = http_of(target);
    HttpOptions { auth: read.auth.as_ref(), tls: read.tls.as_ref(), max_bytes: read.max_bytes }
}

/// What a poll of the object would need; a template that cannot be evaluated is the finding at once.
///
/// # Errors
/// The failure, where a template cannot be evaluated for this object.
pub fn prepare(target: &Target, view: &Value) -> Result<(Wished, HttpRequest), Failure> {
    let wished = target.wish_of(view).map_err(|error| crate::core::rendered::rule_error(&error))?;
    let request = http_of(target).render(view).map_err(|error| crate::core::rendered::rule_error(&error))?;
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
