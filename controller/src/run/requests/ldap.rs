//! Sends the changes of a correction to a directory, each in a session of its own.

use drift_language::ldap::Change;
use drift_language::{Destination, STEP_TIMEOUT};
use drift_systems::{DirectoryParameters, DirectoryServer, HostReply, WriteProgress};

use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::Reply;

pub(super) async fn send(mut context: SendContext<'_>, change: &Change) -> Event {
    let target = context.target;
    let Some(Destination::Ldap(ldap)) = &target.correct.destination else { return Event::NotSent };
    let Ok(own) = ldap.secret.of(context.object.namespace.as_deref()) else { return Event::NotSent };
    let parameters = DirectoryParameters::of(own, &context.sender.sender.secrets(), target.insecure);
    let Ok(parameters) = &parameters else { return Event::NotSent };
    let Some(place) = context.take_checked_place(&parameters.host_and_port()).await else { return Event::NotSent };
    let server = DirectoryServer { parameters, allow_networks: &target.allow_networks };
    let progress = WriteProgress::default();
    let running = tokio::time::timeout(STEP_TIMEOUT, server.change(change, &progress));
    let Some(done) = context.sender.while_leading(running).await else { return Event::CutOff };
    let is_sent = progress.has_begun();
    let Ok(ended) = done else {
        context.note(&place, HostReply::TimedOut);
        return Event::Replied(Reply::TimedOut { is_sent });
    };
    let heard = ended.as_ref().err().map_or(Some(HostReply::Answer), |failure| failure.heard());
    heard.into_iter().for_each(|heard| context.note(&place, heard));
    if let Err(cause) = &ended
        && cause.said().is_none()
    {
        let Subject { target, kind, namespace, name, uid, correction } = context.subject();
        tracing::warn!(target, kind, namespace, name, uid, correction, %cause, "a correction is not accepted");
    }
    Event::Replied(Reply::Change { ended, is_sent })
}
