//! The targets of one command, and the rows of their objects.

use std::cell::RefCell;

use drift_api::object::SeenObject;
use drift_kube::process::clock;
use drift_language::LabelSelector;
use tokio::sync::Notify;

use super::held::LeaseHolds;
use super::rows::Row;
use crate::cluster::is_selected;
use crate::targets::KnownKind;
use crate::targets::known::KnownTarget;

/// The kinds and objects that are listed at.
pub(super) struct ListedTargets {
    /// Of the kind that was named, or all.
    pub(super) known: Vec<KnownKind>,
    /// Problems of targets.
    pub(super) troubles: Vec<String>,
    /// The labels of the objects.
    pub(super) selector: LabelSelector,
    /// True if that is all that there is.
    pub(super) whole: bool,
    /// The Leases; `--watch` reads them again.
    pub(super) holds: RefCell<LeaseHolds>,
    /// Notified after each such read.
    pub(super) holds_read: Notify,
}

impl ListedTargets {
    /// The row of an object of this kind, where it is one of this target's, not better known by another, and asked for.
    /// If several targets without a known text may select it, it has the same row for each of them.
    pub(super) fn row_of(&self, one: &KnownKind, seen: &SeenObject) -> Option<Row> {
        let is_kind = |other: &&KnownKind| other.objects.is_of(one.objects.group(), &one.objects.kind);
        let others = || self.known.iter().filter(is_kind);
        let is_of_text = |other: &KnownKind| other.target.text().is_some() && is_selected(&other.objects, seen);
        let is_better_known = one.target.text().is_none() && others().any(is_of_text);
        let is_listed = !is_better_known && one.target.lists(&one.objects, &seen.object, seen.labels.as_ref());
        if !is_listed || !self.selector.matches(seen.labels.as_ref()) {
            return None;
        }
        let candidates = others().filter(|other| is_selected(&other.objects, seen));
        let without_text = candidates.filter_map(|other| match &other.target {
            KnownTarget::LastGood(target) => Some(target.clone()),
            KnownTarget::Text(_) | KnownTarget::OneOf(_) => None,
        });
        let target = match &one.target {
            KnownTarget::Text(_) => one.target.clone(),
            _ => KnownTarget::without_text(without_text.collect())?,
        };
        let row = Row::of((&target, &one.objects), &seen.object);
        if row.unread {
            return Some(row);
        }
        let held = |target| self.holds.borrow().hold_of(target, &seen.object, row.next, clock::wall());
        let doubt = self.holds.borrow().doubt_of(target.name(), &seen.object);
        Some(Row { hold: target.text().and_then(held), doubt, ..row })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::targets::known::ByLastGood;
    use drift_kube::client::ResolvedKind;
    use drift_language::fixtures::proxies::TEXT;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;
    use std::sync::Arc;

    fn listed(last_good: &[&str], by_text: bool) -> ListedTargets {
        let target = drift_language::fixtures::proxies::target(TEXT);
        let objects = target.objects.clone();
        let version = GroupVersionKind::gvk(objects.group(), "v1", &objects.kind);
        let kind = ResolvedKind { resource: ApiResource::from_gvk(&version), namespaced: true };
        let of_name = |name: &&str| {
            let last_good = ByLastGood {
                name: (*name).to_owned(),
                objects: vec![objects.clone()],
                trouble: "it is gone".to_owned(),
                missing_map: None,
            };
            KnownTarget::LastGood(Arc::new(last_good))
        };
        let targets =
            by_text.then(|| KnownTarget::Text(target.clone())).into_iter().chain(last_good.iter().map(of_name));
        let known = targets.map(|target| KnownKind { target, objects: objects.clone(), kind: kind.clone() }).collect();
        ListedTargets {
            known,
            troubles: Vec::new(),
            selector: LabelSelector::default(),
            whole: true,
            holds: RefCell::default(),
            holds_read: Notify::new(),
        }
    }

    #[test]
    fn an_object_of_several_lost_targets_has_an_unknown_one() {
        let condition = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "message": "m"});
        let whole =
            json!({"metadata": {"name": "web", "namespace": "n", "uid": "u"}, "status": {"conditions": [condition]}});
        let paths = drift_api::object::field_paths::FieldPaths::default();
        let seen = SeenObject { object: drift_api::object::LeanObject::prune(&whole, &paths), labels: None };
        for (last_good, by_text, expected) in [
            (&["billing"][..], false, &["billing"][..]),
            (&["billing", "dns"], false, &["unknown", "unknown"]),
            (&["billing", "dns"], true, &["t"]),
        ] {
            let listed = listed(last_good, by_text);
            let rows: Vec<_> = listed.known.iter().filter_map(|one| listed.row_of(one, &seen)).collect();
            let targets: Vec<_> = rows.iter().map(|row| row.target.as_str()).collect();
            assert_eq!(targets, expected);
        }
    }
}
