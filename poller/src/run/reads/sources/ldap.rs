//! Reads from directories: one search in a session of its own, with a slot at its host.
//!
//! The engine judges entries and failures.

use std::time::Duration;

use drift_api::{ObservedReason, Search, Uid};
use drift_kube::process::clock;
use drift_kube::process::kill_point::{KillPoint, reach};
use drift_language::{LdapRead, Target};
use drift_systems::{DirectoryParameters, DirectoryServer, HostReply, LdapFailure, SentCredentials};
use serde_json::Value;

use super::{ReadResult, UNTIL_SECRETS_ARE_LISTED};
use crate::engine::Postponed;
use crate::engine::judgement::finding::Failure;
use crate::engine::judgement::observation::Observation;
use crate::engine::poll::ldap_entry::{failure_of, observe_answer};
use crate::run::reads::outside::Outside;

/// Reads the entry of one object.
pub(super) async fn look_at_one(
    outside: &Outside,
    (target, read): (&Target, &LdapRead),
    (uid, view): (&Uid, &Value),
    search: &Search,
) -> ReadResult<Observation> {
    let postponed = |postponed| ReadResult::new(Err(postponed), Duration::ZERO);
    let secrets = outside.sender.secrets();
    if !secrets.are_listed() {
        let cause = Failure::of(ObservedReason::Unauthorized);
        return postponed(Postponed { until: clock::now() + UNTIL_SECRETS_ARE_LISTED, cause });
    }
    let parameters = match DirectoryParameters::of(&search.secret, &secrets, target.insecure) {
        Ok(parameters) => parameters,
        Err(error) => return failed(outside, target, &error.into(), Duration::ZERO),
    };
    let mut permit = outside.gate.enter(&parameters.host_and_port(), target.read.limits.concurrent).await;
    if let Err(pause) = outside.gate.begin(&mut permit, clock::now()) {
        return postponed(pause.into());
    }
    let server = DirectoryServer { parameters: &parameters, allow_networks: &target.allow_networks };
    let began = clock::now();
    reach(KillPoint::PollerBeforeRead);
    let answer = tokio::time::timeout(target.timeout, server.search(search, target.timeout)).await;
    reach(KillPoint::PollerAfterRead);
    let took = clock::now() - began;
    let heard = match &answer {
        Err(_) => Some(HostReply::TimedOut),
        Ok(Ok(_)) => Some(HostReply::Answer),
        Ok(Err(failure)) => failure.heard(),
    };
    heard.into_iter().for_each(|heard| outside.gate.note(&permit, uid, heard, clock::now()));
    match answer {
        Ok(Ok(found)) => {
            let sent = SentCredentials::of(secrets);
            ReadResult { sent, ..ReadResult::new(Ok(observe_answer(read, view, &found)), took) }
        }
        Ok(Err(failure)) => {
            let pause = heard.and_then(HostReply::asked_pause);
            ReadResult { pause, ..failed(outside, target, &failure, took) }
        }
        Err(_) => {
            outside.troubles.note(&target.name, "no answer within the target's timeout", clock::now());
            ReadResult::failed(Failure::of(ObservedReason::PollTimedOut), took)
        }
    }
}

fn failed(outside: &Outside, target: &Target, failure: &LdapFailure, took: Duration) -> ReadResult<Observation> {
    outside.troubles.note(&target.name, &failure.to_string(), clock::now());
    ReadResult::failed(failure_of(failure), took)
}
