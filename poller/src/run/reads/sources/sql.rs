//! Reads from database servers: one query over the target's connection, with a slot at its host.
//!
//! The engine judges rows and failures.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_kube::process::clock;
use drift_language::{SqlQuery, SqlRead};
use drift_systems::{HostReply, QueryOptions, SentCredentials, SqlFailure, Way};
use serde_json::Value;

use super::{OBJECTS_THAT_COUNT, ReadResult, SourceOf, unlisted};
use crate::engine::Postponed;
use crate::engine::poll::rows::failure_of;

/// Sends a query with a row limit and passes on its rows. The result is for these objects.
pub(super) async fn ask(
    source: &SourceOf<'_, SqlRead>,
    uids: Vec<Uid>,
    query: &SqlQuery,
    max_rows: Option<usize>,
    mut take: impl FnMut(Value) + Send,
) -> Result<ReadResult<()>, Postponed> {
    let SourceOf { outside, target, read } = source;
    if !outside.databases.knows_secrets() {
        return Err(unlisted());
    }
    let failed = |failure: &SqlFailure, took| source.failed(&failure.to_string(), failure_of(failure), took);
    let sent = SentCredentials::of(outside.sender.secrets());
    let connected = query
        .connection
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|connection| Ok((connection, outside.databases.parameters(connection, target.insecure)?)));
    let (connection, parameters) = match connected {
        Ok(connected) => connected,
        Err(error) => return Ok(failed(&error.into(), Duration::ZERO)),
    };
    // The target's own connection comes first, so that a wait for it holds no slot of other targets.
    let mut place = outside.databases.enter(&target.name, &connection.secret).await;
    let permit = source.enter(&parameters.host_and_port()).await?;
    let options = QueryOptions { timeout: target.timeout, max_bytes: read.max_bytes, max_rows };
    let way = Way { parameters: &parameters, allow_networks: &target.allow_networks };
    let (answer, took) = source.run(outside.databases.query(&mut place, way, query, &options, &mut take)).await;
    let heard = match &answer {
        Err(_) => Some(HostReply::TimedOut),
        Ok(Ok(())) => Some(HostReply::Answer),
        Ok(Err(failure)) => failure.heard(),
    };
    if let Some(heard) = heard {
        uids.iter().take(OBJECTS_THAT_COUNT).for_each(|uid| outside.gate.note(&permit, uid, heard, clock::now()));
    }
    Ok(match answer {
        Ok(Ok(())) => ReadResult { sent, ..ReadResult::new(Ok(Ok(())), took) },
        Ok(Err(failure)) => failed(&failure, took),
        Err(_) => source.timed_out(took),
    })
}
