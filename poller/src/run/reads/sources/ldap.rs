//! Reads from directories: one search in a session of its own, with a slot at its host.
//!
//! The engine judges entries and failures.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_kube::process::clock;
use drift_language::LdapRead;
use drift_language::ldap::Search;
use drift_systems::{DirectoryParameters, DirectoryServer, HostReply, LdapFailure, SentCredentials};
use serde_json::Value;

use super::{ReadResult, SourceOf, unlisted};
use crate::engine::Postponed;
use crate::engine::judgement::observation::Observation;
use crate::engine::poll::ldap_entry::{failure_of, observe_answer};

/// Reads the entry of one object.
pub(super) async fn look_at_one(
    source: &SourceOf<'_, LdapRead>,
    uid: &Uid,
    view: &Value,
    search: &Search,
) -> Result<ReadResult<Observation>, Postponed> {
    let SourceOf { outside, target, read } = source;
    let secrets = outside.sender.secrets();
    if !secrets.are_listed() {
        return Err(unlisted());
    }
    let failed = |failure: &LdapFailure, took| source.failed(&failure.to_string(), failure_of(failure), took);
    let secret = search.secret.as_ref().map_err(Clone::clone);
    let parameters = match secret.and_then(|secret| DirectoryParameters::of(secret, &secrets, target.insecure)) {
        Ok(parameters) => parameters,
        Err(error) => return Ok(failed(&error.into(), Duration::ZERO)),
    };
    let permit = source.enter(&parameters.host_and_port()).await?;
    let server = DirectoryServer { parameters: &parameters, allow_networks: &target.allow_networks };
    let (answer, took) = source.run(server.search(search, target.timeout)).await;
    let heard = match &answer {
        Err(_) => Some(HostReply::TimedOut),
        Ok(Ok(_)) => Some(HostReply::Answer),
        Ok(Err(failure)) => failure.heard(),
    };
    heard.into_iter().for_each(|heard| outside.gate.note(&permit, uid, heard, clock::now()));
    Ok(match answer {
        Ok(Ok(found)) => {
            let sent = SentCredentials::of(secrets);
            ReadResult { sent, ..ReadResult::new(Ok(observe_answer(read, view, &found)), took) }
        }
        Ok(Err(failure)) => ReadResult { pause: heard.and_then(HostReply::asked_pause), ..failed(&failure, took) },
        Err(_) => source.timed_out(took),
    })
}
