//! One poll: a rendered request goes out, a finding comes back.
//!
//! Thin: the reply is judged in the core. Its deadline covers everything from the connection to the last byte, but
//! not the wait for a place in the host's queue, which is nobody's failure. It must not know what stands on the object.

use std::sync::Arc;
use std::time::Duration;

use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::ObservedReason;
use drift_model::http_request::{HttpRequest, host_and_port};
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_outside::{HostGate, HttpFailure, HttpOptions, HttpReply, HttpSender, asked_pause};
use drift_target::{Target, Wished};
use serde_json::Value;

use crate::core::finding::{Failure, Finding};
use crate::core::reply::{compare, observe};
use crate::core::track::BegunPoll;
use crate::troubles::Troubles;

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
    Found(Finding),
    /// It was not begun: its host asked to be left alone until then.
    Postponed(Moment),
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
    /// Polls one object.
    pub async fn poll(&self, target: &Target, order: PollOrder) -> PollResult {
        let host = host_and_port(&order.request.url);
        let _permit = self.gate.enter(&host).await;
        let began = clock::now();
        // Others may have been told to wait while this one stood in line.
        let outcome = match self.gate.paused(&host, began) {
            Some(until) => PollOutcome::Postponed(until),
            None => PollOutcome::Found(self.find(target, &order).await),
        };
        PollResult { uid: order.uid, begun: order.begun, outcome, took: clock::now() - began }
    }

    async fn find(&self, target: &Target, order: &PollOrder) -> Finding {
        let read = &target.read.http;
        let options = HttpOptions { auth: read.auth.as_ref(), tls: read.tls.as_ref(), max_bytes: read.max_bytes };
        let sending = self.sender.send(&order.request, &options);
        reach(KillPoint::PollerBeforeRead);
        let answer = tokio::time::timeout(target.timeout, sending).await;
        reach(KillPoint::PollerAfterRead);
        match answer {
            Err(_) => {
                self.troubles.note(&target.name, "no answer within the target's timeout", clock::now());
                ObservedReason::PollTimedOut.into()
            }
            Ok(Err(failure)) => {
                self.troubles.note(&target.name, &failure.to_string(), clock::now());
                match failure {
                    HttpFailure::Unreachable(_) => ObservedReason::ExternalUnreachable.into(),
                    HttpFailure::CredentialUnavailable(_) => ObservedReason::Unauthorized.into(),
                }
            }
            Ok(Ok(reply)) => {
                self.tell_of_answer(target, &reply);
                self.obey_pause(&host_and_port(&order.request.url), &reply);
                compare(target, &order.wished, observe(read, &order.view, &reply))
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

    /// A host that asks for a pause gets it from all targets.
    fn obey_pause(&self, host: &str, reply: &HttpReply) {
        if let Some(pause) = asked_pause(reply.status, &reply.headers, clock::wall()) {
            self.gate.pause(host, clock::now() + pause);
        }
    }
}

/// What a poll of the object would need; a template that cannot be evaluated is the finding at once.
///
/// # Errors
/// The failure, where a template cannot be evaluated for this object.
pub fn prepare(target: &Target, view: &Value) -> Result<(Wished, HttpRequest), Failure> {
    let wished = target.wish_of(view).map_err(|error| crate::core::rendered::rule_error(&error))?;
    let request = target.read.http.render(view).map_err(|error| crate::core::rendered::rule_error(&error))?;
    Ok((wished, request))
}
