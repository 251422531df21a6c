//! The deletions of replacements, and the conditions under which one is allowed.

use drift_api::names::DRIFT_CORRECTED;
use drift_controller::engine::corrections::claim::Action;
use http::Method;

use crate::api_server::ApiServer;
use crate::ledger::{Sent, entry};
use crate::outside::Outside;
use crate::watch::uid_of;

/// Checks the deletion of a replacement when it is sent. An error describes the violation.
pub(crate) fn check(sent: &Sent<'_>, outside: &Outside, api: &ApiServer) -> Result<(), String> {
    let Sent { asked, request, resource, .. } = *sent;
    if asked.correction.action != Action::Replace || request.method != Method::DELETE {
        return Ok(());
    }
    let uid = &asked.object.id.uid;
    if outside.resources.get(resource).is_some_and(|resource| resource.is_unread) {
        return Err(format!("a replacement deletes what no poll has seen: {resource} of {uid}"));
    }
    let object = api.objects.values().find(|object| uid_of(object) == *uid);
    let said = object.map(|object| entry(object, DRIFT_CORRECTED).map(|note| note["reason"].clone()));
    match said {
        None => Ok(()),
        Some(reason) if reason == Some("CorrectionStarted".into()) => Ok(()),
        Some(reason) => Err(format!("a replacement deletes without a record of its start: {uid} says {reason:?}")),
    }
}
