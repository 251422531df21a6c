//! Known histories of a target that reads the resources of all its objects by one list of pages.

use drift_api::condition::ConditionStatus;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;

use crate::events::Event;
use crate::events::Event::{AnswerReads, Create, Rest};
use crate::known::{PLAIN, active, ends_well, minutes, played};
use crate::outside::Fault;
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::World;

/// A target that reads a list.
const LISTING: Text = Text { lists: true, ..PLAIN };

/// Two objects in sync, whose resources are on two pages.
fn two_objects() -> Vec<Event> {
    let created = [0, 1].map(|index| Create { object: index, resource: index, value: 1, labels: 1 });
    active(LISTING, created.into_iter().chain(minutes(3)))
}

fn with(before: &[Event], after: impl IntoIterator<Item = Event>) -> Vec<Event> {
    before.iter().cloned().chain(after).collect()
}

fn verdicts(world: &World) -> Vec<Option<ConditionStatus>> {
    let lean = world.api.objects.values().map(|object| LeanObject::prune(object, &FieldPaths::default()));
    lean.map(|object| object.conditions.observed().map(|observed| observed.status)).collect()
}

#[test]
fn one_list_serves_all_objects() {
    let events = two_objects();
    let (before, after) = (played(&events), played(&with(&events, minutes(10))));
    assert_eq!(verdicts(&before), [Some(ConditionStatus::False); 2]);
    let reads = after.outside.reads - before.outside.reads;
    assert!((9..=11).contains(&reads), "{reads}");
}

#[test]
fn a_page_that_fails_proves_no_absence() {
    for fault in [Fault::LostBefore, Fault::ServerError, Fault::Maintenance, Fault::Empty, Fault::Page] {
        let events = with(&two_objects(), [AnswerReads(fault)].into_iter().chain(minutes(6)));
        let world = played(&events);
        assert_eq!(verdicts(&world), [Some(ConditionStatus::Unknown); 2], "{fault:?}");
        assert_eq!(world.outside.sent.len(), played(&two_objects()).outside.sent.len());
        ends_well(events, [Rest], Ending::Free);
    }
}
