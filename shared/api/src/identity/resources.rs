//! The objects that name each external resource.

use std::collections::HashMap;

use super::contenders::Contenders;
use super::{ResourceName, Uid};

/// The resources that anybody names. Nothing may depend on the order in which they are iterated.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    contenders: HashMap<ResourceName, Contenders>,
}

impl Resources {
    /// The objects that name a resource; `None` where there is none.
    pub(super) fn contenders(&self, resource: &ResourceName) -> Option<&Contenders> {
        self.contenders.get(resource)
    }

    /// The objects that claim a resource in vain.
    pub(super) fn claiming_in_vain(&self) -> impl Iterator<Item = (&Uid, &ResourceName)> {
        let contending = self.contenders.iter();
        contending.flat_map(|(resource, all)| all.claiming_in_vain().map(move |uid| (uid, resource)))
    }

    /// Takes out the contenders for a resource.
    pub(super) fn take(&mut self, resource: &ResourceName) -> Contenders {
        self.contenders.remove(resource).unwrap_or_default()
    }

    /// Puts in the contenders for a resource, if there are any.
    pub(super) fn put(&mut self, resource: ResourceName, contenders: Contenders) {
        if !contenders.is_empty() {
            self.contenders.insert(resource, contenders);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.contenders.is_empty()
    }
}
