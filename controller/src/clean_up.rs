//! What the controller leaves on objects: its note, which is taken away once no target selects them, and a finalizer
//! that could not be taken off earlier.
//!
//! It must not know when that is.

use drift_cluster::cleanup::Cleaner;
use drift_cluster::cleanup::KindName;
use drift_cluster::client::WriteError;
use drift_cluster::kinds::ResolvedKind;
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;

use crate::letting_go::Releaser;
use crate::notices::Announcer;
use crate::target_work::Workplace;

/// Takes notes away.
pub(crate) struct NoteCleaner {
    /// Where it works.
    pub(crate) place: Workplace,
}

impl Cleaner for NoteCleaner {
    fn is_marked(&self, object: &LeanObject) -> bool {
        object.conditions.corrected.is_some() || object.has_finalizer()
    }

    /// The finalizer goes first: whoever sees the note is gone knows that nothing of ours holds the object.
    async fn clean(&self, kind: &ResolvedKind, object: LeanObject) -> Result<(), WriteError> {
        let busy = self.place.shared.under_way.begin(&object.id.uid);
        if busy.is_none() || !self.place.may_act() {
            return Err(WriteError::Unavailable("the object is worked on, or the Lease is not ours".to_owned()));
        }
        let writer = self.place.writer(kind.clone(), FieldPaths::default());
        let object = match self.announcer(kind, &object).filter(|_| object.has_finalizer()) {
            Some(announcer) => Releaser { writer: &writer, announcer: &announcer }.release(&object, true).await?,
            None => object,
        };
        match object.conditions.corrected {
            Some(ref placed) => {
                let call = writer.slots.enter().await;
                writer.remove_condition(&call, &object, placed).await.map(drop)
            }
            None => Ok(()),
        }
    }
}

impl NoteCleaner {
    /// Speaks for a noted target that may have had the object.
    fn announcer(&self, kind: &ResolvedKind, object: &LeanObject) -> Option<Announcer> {
        let name = KindName { group: kind.resource.group.clone(), kind: kind.resource.kind.clone() };
        let events = &self.place.events;
        self.place.shared.notes.read(|notes| {
            let (scope, config_map) =
                notes.iter().find(|(scope, _)| scope.covers(&name, object.id.namespace.as_deref()))?;
            Some(Announcer::of_note(events.clone(), scope, config_map, &self.place.home))
        })
    }
}
