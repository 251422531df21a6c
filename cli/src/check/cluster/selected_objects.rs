//! The objects of all targets of a check: each kind is listed once, as for `get`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use drift_api::identity::ScopeId;
use drift_api::object::{LeanObject, SeenObject};

use super::dry_run::TRIES;
use crate::cluster::is_selected;
use crate::targets::KnownKind;
use crate::targets::collections::{Asked, ListedCollection, list_into};

/// Objects between two lines of progress: a page of a list.
const COUNTED_ALOUD: u64 = 500;

/// The objects that a target selects.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedObjects {
    pub(super) count: u64,
    /// The number of claims in each scope.
    pub(super) claims: BTreeMap<ScopeId, u64>,
    /// The first objects that are not being deleted, for a trial write.
    pub(super) candidates: Vec<LeanObject>,
}

impl SelectedObjects {
    fn add(&mut self, object: &LeanObject) {
        self.count += 1;
        if let Some(scope) = object.conditions.correction_status().owned().and_then(|owned| owned.scope) {
            *self.claims.entry(scope).or_insert(0) += 1;
        }
        if !object.deleting && self.candidates.len() < TRIES {
            self.candidates.push(object.clone());
        }
    }

    fn extend(&mut self, other: Self) {
        self.count += other.count;
        other.claims.into_iter().for_each(|(scope, count)| *self.claims.entry(scope).or_insert(0) += count);
        self.candidates.extend(other.candidates);
        self.candidates.truncate(TRIES);
    }
}

/// Returns the objects of each known kind by its number, or why they cannot be listed. Calls `count` from time to time
/// with the number of objects seen.
pub(super) async fn select(
    client: &kube::Client,
    known: &[KnownKind],
    count: impl FnMut(u64),
) -> Vec<Result<SelectedObjects, String>> {
    let counted = RefCell::new((0_u64, count));
    let add = |of: &[usize], selected: &mut BTreeMap<usize, SelectedObjects>, seen: SeenObject| {
        let (seen_so_far, count) = &mut *counted.borrow_mut();
        *seen_so_far += 1;
        if seen_so_far.is_multiple_of(COUNTED_ALOUD) {
            count(*seen_so_far);
        }
        let known = of.iter().filter_map(|number| Some((*number, known.get(*number)?)));
        for (number, _) in known.filter(|(_, one)| is_selected(&one.objects, &seen)) {
            selected.entry(number).or_default().add(&seen.object);
        }
    };
    let listed = list_into(client, (known, &Asked::default()), add).await;
    let mut all = vec![Ok(SelectedObjects::default()); known.len()];
    for ListedCollection { collection, objects } in listed {
        let mut objects = objects.map_err(|error| error.to_string());
        for number in collection.of {
            let Some(place) = all.get_mut(number) else { continue };
            match (place, &mut objects) {
                (Ok(known), Ok(objects)) => known.extend(objects.remove(&number).unwrap_or_default()),
                (place, Err(why)) => *place = Err(why.clone()),
                (Err(_), Ok(_)) => {}
            }
        }
    }
    all
}
