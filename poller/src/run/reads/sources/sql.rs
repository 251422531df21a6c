//! Reads from database servers: one query over the target's connection, with a slot at its host.
//!
//! The engine judges rows and failures.

use std::time::Duration;

use drift_api::{ObservedReason, SqlQuery, Uid};
use drift_kube::process::clock;
use drift_kube::process::kill_point::{KillPoint, reach};
use drift_language::{SqlRead, Target};
use drift_systems::{HostReply, QueryOptions, SentCredentials, SqlFailure, Way};
use serde_json::Value;

use super::{OBJECTS_THAT_COUNT, ReadResult, UNTIL_SECRETS_ARE_LISTED};
use crate::engine::Postponed;
use crate::engine::judgement::finding::Failure;
use crate::engine::poll::rows::failure_of;
use crate::run::reads::outside::Outside;

/// Sends a query with a row limit and passes on its rows. The result is for these objects.
pub(crate) async fn ask(
    outside: &Outside,
    (target, read): (&Target, &SqlRead),
    uids: Vec<Uid>,
    (query, max_rows): (&SqlQuery, Option<usize>),
    mut take: impl FnMut(Value) + Send,
) -> ReadResult<()> {
    let postponed = |postponed| ReadResult::new(Err(postponed), Duration::ZERO);
    if !outside.databases.knows_secrets() {
        let cause = Failure::of(ObservedReason::Unauthorized);
        return postponed(Postponed { until: clock::now() + UNTIL_SECRETS_ARE_LISTED, cause });
    }
    let sent = SentCredentials::of(outside.sender.secrets());
    let parameters = match outside.databases.parameters(&read.connection, target.insecure) {
        Ok(parameters) => parameters,
        Err(error) => return failed(outside, target, &error.into(), Duration::ZERO),
    };
    // The target's own connection comes first, so that a wait for it holds no slot of other targets.
    let mut place = outside.databases.enter(&target.name).await;
    let mut permit = outside.gate.enter(&parameters.host_and_port(), target.read.limits.concurrent).await;
    if let Err(pause) = outside.gate.begin(&mut permit, clock::now()) {
        return postponed(pause.into());
    }
    let options = QueryOptions { timeout: target.timeout, max_bytes: read.max_bytes, max_rows };
    let way = Way { parameters: &parameters, allow_networks: &target.allow_networks };
    let began = clock::now();
    let asking = outside.databases.query(&mut place, way, query, &options, &mut take);
    reach(KillPoint::PollerBeforeRead);
    let answer = tokio::time::timeout(target.timeout, asking).await;
    reach(KillPoint::PollerAfterRead);
    let took = clock::now() - began;
    let heard = match &answer {
        Err(_) => Some(HostReply::TimedOut),
        Ok(Ok(())) => Some(HostReply::Answer),
        Ok(Err(failure)) => failure.heard(),
    };
    if let Some(heard) = heard {
        uids.iter().take(OBJECTS_THAT_COUNT).for_each(|uid| outside.gate.note(&permit, uid, heard, clock::now()));
    }
    match answer {
        Ok(Ok(())) => ReadResult { sent, ..ReadResult::new(Ok(Ok(())), took) },
        Ok(Err(failure)) => failed(outside, target, &failure, took),
        Err(_) => {
            outside.troubles.note(&target.name, "no answer within the target's timeout", clock::now());
            ReadResult::failed(Failure::of(ObservedReason::PollTimedOut), took)
        }
    }
}

fn failed(outside: &Outside, target: &Target, failure: &SqlFailure, took: Duration) -> ReadResult<()> {
    outside.troubles.note(&target.name, &failure.to_string(), clock::now());
    ReadResult::failed(failure_of(failure), took)
}
