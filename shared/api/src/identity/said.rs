//! What targets say of one object.
//!
//! Nearly always one target says it, and the object names one resource: that is kept in little room, since there are as many as
//! objects. This file must not know who else names a resource.

use super::{CORRECTING, Claimant, ResourceName, Uid};
use crate::collections::by_uid::OfObject;
use crate::collections::shared_text::SharedText;

/// An object, and what is said of it: one block of memory, which all share who find it.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) uid: Uid,
    pub(super) said: Said,
}

impl OfObject for Object {
    fn uid(&self) -> &Uid {
        &self.uid
    }
}

/// Never by nobody.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// By one target, of an object that names one resource or none.
    Short {
        target: SharedText,
        resource: Option<ResourceName>,
        wants: bool,
        owns: bool,
        created: u32,
        claimed: u32,
        deleting: bool,
    },
    /// By each target, the first by name first.
    Full(Box<[(SharedText, Claimant)]>),
}

impl Said {
    /// What counts: what the first target says, with the claim that the object is corrected for where that target sees none yet.
    pub(super) fn claimant(&self) -> Claimant {
        match self {
            &Self::Short { ref resource, wants, owns, created, claimed, deleting, .. } => {
                let named = |does: bool| resource.clone().filter(|_| does);
                Claimant { wants: named(wants), owns: named(owns), created, claimed, deleting }
            }
            Self::Full(all) => counting(all),
        }
    }

    /// The resource of an object of which one target says that it names that and no other.
    pub(super) const fn only_resource(&self) -> Option<&ResourceName> {
        match self {
            Self::Short { resource, .. } => resource.as_ref(),
            Self::Full(_) => None,
        }
    }

    /// Who says something, the first by name first.
    pub(super) fn targets(&self) -> impl Iterator<Item = &SharedText> {
        let (one, all) = match self {
            Self::Short { target, .. } => (Some(target), &[][..]),
            Self::Full(all) => (None, &**all),
        };
        one.into_iter().chain(all.iter().map(|(target, _)| target))
    }

    /// What the target says.
    pub(super) fn by(&self, target: &str) -> Option<Claimant> {
        match self {
            Self::Short { target: only, .. } => (**only == *target).then(|| self.claimant()),
            Self::Full(all) => all.iter().find(|(one, _)| **one == *target).map(|(_, claimant)| claimant.clone()),
        }
    }

    /// What is said once the target says `claimant` or, without that, nothing more.
    pub(super) fn changed(said: Option<&Self>, target: &SharedText, claimant: Option<Claimant>) -> Option<Self> {
        let mut all = match said {
            Some(short @ Self::Short { target, .. }) => vec![(target.clone(), short.claimant())],
            Some(Self::Full(all)) => all.to_vec(),
            None => Vec::new(),
        };
        match (all.binary_search_by(|(other, _)| other.cmp(target)), claimant) {
            (Ok(place), Some(claimant)) => all[place].1 = claimant,
            (Err(place), Some(claimant)) => all.insert(place, (target.clone(), claimant)),
            (Ok(place), None) => _ = all.remove(place),
            (Err(_), None) => {}
        }
        Self::of(all)
    }

    fn of(mut all: Vec<(SharedText, Claimant)>) -> Option<Self> {
        let (target, claimant) = all.pop()?;
        if !all.is_empty() || resources(&claimant).count() > 1 {
            all.push((target, claimant));
            return Some(Self::Full(all.into()));
        }
        let Claimant { wants, owns, created, claimed, deleting } = claimant;
        let (is_wanted, is_owned) = (wants.is_some(), owns.is_some());
        let resource = wants.or(owns);
        Some(Self::Short { target, resource, wants: is_wanted, owns: is_owned, created, claimed, deleting })
    }
}

fn counting(all: &[(SharedText, Claimant)]) -> Claimant {
    let held = all.last().filter(|(target, held)| *target == CORRECTING && held.owns.is_some());
    let (_, first) = &all[0];
    match held.filter(|_| first.owns.is_none()) {
        Some((_, Claimant { owns, claimed, .. })) => {
            Claimant { owns: owns.clone(), claimed: *claimed, ..first.clone() }
        }
        None => first.clone(),
    }
}

/// The resources that an object names, each once.
pub(super) fn resources(claimant: &Claimant) -> impl Iterator<Item = &ResourceName> {
    let owned = claimant.owns.as_ref().filter(|owned| Some(*owned) != claimant.wants.as_ref());
    claimant.wants.iter().chain(owned)
}
