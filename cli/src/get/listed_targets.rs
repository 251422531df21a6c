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
    pub(super) fn row_of(&self, one: &KnownKind, seen: &SeenObject) -> Option<Row> {
        let is_of_text = |other: &KnownKind| {
            let is_kind = other.objects.is_of(one.objects.group(), &one.objects.kind);
            other.target.text().is_some() && is_kind && is_selected(&other.objects, seen)
        };
        let is_better_known = one.target.text().is_none() && self.known.iter().any(is_of_text);
        let is_listed = !is_better_known && one.target.lists(&one.objects, &seen.object, seen.labels.as_ref());
        let is_wanted = is_listed && self.selector.matches(seen.labels.as_ref());
        is_wanted.then(|| {
            let row = Row::of((&one.target, &one.objects), &seen.object);
            let held = |target| self.holds.borrow().hold_of(target, &seen.object, row.next, clock::wall());
            let doubt = self.holds.borrow().doubt_of(one.target.name(), &seen.object);
            Row { hold: one.target.text().and_then(held), doubt, ..row }
        })
    }
}
