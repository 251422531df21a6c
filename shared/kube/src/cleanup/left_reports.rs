//! The DriftReports that no target keeps: their target was removed or keeps its conditions on the objects, their object
//! is no longer selected, or it was deleted without its dependents. Pure.

use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_language::Target;
use serde_json::Value;

use crate::client::KindName;
use crate::config::Configuration;
use crate::subscriptions::dispatch::Dispatch;

/// Returns true if no target keeps the report, which was decoded with its `object`. As long as a document is invalid,
/// no target counts as removed, and as long as a target of the kind is not listed, it may have the object.
#[must_use]
pub fn is_left_report(report: &LeanObject, configuration: &Configuration, dispatch: &Dispatch) -> bool {
    let is_certain = configuration.problems.is_empty() && configuration.unsettled.is_empty();
    if !configuration.loaded || !is_certain {
        return false;
    }
    let view = report.view.open();
    let object = |field: &str| view.pointer("/object").and_then(|object| object.get(field)).and_then(Value::as_str);
    let (Some(api_version), Some(kind), Some(uid)) = (object("apiVersion"), object("kind"), object("uid")) else {
        return true;
    };
    let (kind, uid, namespace) = (KindName::new(api_version, kind), Uid::from(uid), report.id.namespace.as_deref());
    let keeps = |target: &&Arc<Target>| target.objects.keeps_reports() && target.objects.includes(namespace);
    // The first target by name owns the object, and the others skip it.
    let owner = configuration.of_kind(&kind).find(|target| dispatch.told(&uid).any(|told| **told == *target.name));
    match owner {
        Some(owner) => !keeps(&owner),
        None => configuration.of_kind(&kind).filter(keeps).all(|keeper| dispatch.is_listed(&keeper.name)),
    }
}
