//! A write of `driftObserved` that is tried and changes nothing, and whether all of it would be kept.
//!
//! Schemas do not tell everything: rules in CEL, admission policies and webhooks have their say too. Thin: what is written, and what
//! is lost of it, is decided in the core.

use drift_cluster::client::{CallError, ObjectClient, ObjectPages};
use drift_cluster::kinds::{ResolvedKind, lost_field};
use drift_cluster::process::clock;
use drift_model::condition::{PatchBase, StatusFields, condition_patch};
use drift_model::field_paths::FieldPaths;
use drift_model::names::PERSON_MANAGER;
use drift_model::object::LeanObject;
use drift_target::Target;

use super::found::Found;
use crate::core::check::{lost_fields, trial_condition};

/// How the API server refuses whoever may not do it.
const FORBIDDEN: u16 = 403;

/// Tries it on one of the target's objects, as whoever runs the command. Where there is none, nothing is tried.
pub(super) async fn try_write(client: &kube::Client, (target, kind): (&Target, &ResolvedKind), found: &mut Found) {
    let what = || format!("whether {} keep the condition", kind.resource.plural);
    let object = match first_object(client, target, kind).await {
        Ok(Some(object)) => object,
        Ok(None) => return,
        Err(error) => return found.unasked(&what(), error),
    };
    let sent = trial_condition(&object, &clock::wall().to_string());
    let base = PatchBase {
        uid: &object.id.uid,
        resource_version: &object.resource_version,
        generation: None,
        conditions: &object.conditions,
    };
    let patch = condition_patch(&base, object.conditions.observed.as_ref(), &sent, &StatusFields::default());
    let tried = ObjectClient::new(client.clone(), PERSON_MANAGER).try_status(kind, &object.id, patch).await;
    let place = format!("tried on {}, without changing it", object.id);
    match tried {
        Ok(answer) => {
            let lost = lost_fields(&sent, &answer).into_iter().filter_map(|field| lost_field(kind, field));
            lost.for_each(|sentence| found.error(format!("{sentence} ({place})")));
        }
        Err(error) if error.code() == Some(FORBIDDEN) || error.is_passing() || error.code().is_none() => {
            found.unasked(&what(), error);
        }
        Err(error) => found.error(format!("a write of the condition is refused: {error} ({place})")),
    }
}

/// One that the target selects and that is not being deleted.
async fn first_object(
    client: &kube::Client,
    target: &Target,
    kind: &ResolvedKind,
) -> Result<Option<LeanObject>, CallError> {
    let mut pages = ObjectPages::new(client, kind, &target.objects.namespaces, FieldPaths::default());
    while let Some(page) = pages.next_seen().await? {
        let mut selected = page.into_iter().filter(|seen| {
            !seen.object.deleting && target.objects.selects(seen.object.id.namespace.as_deref(), seen.labels.as_ref())
        });
        if let Some(seen) = selected.next() {
            return Ok(Some(seen.object));
        }
    }
    Ok(None)
}
