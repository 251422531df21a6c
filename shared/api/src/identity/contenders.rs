//! The objects that name one external resource, and which of them has it.
//!
//! The one that claimed it has it and keeps it; without a claim the oldest.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{Claimant, ResourceName, Uid};

/// Whether everybody is known who may have claimed something where a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Complete,
    Incomplete,
}

/// The objects that name one resource, nearly always one.
#[derive(Clone, Debug, Default)]
pub(super) struct Contenders {
    pub(super) first: Option<Rank>,
    /// None of them displaces the first.
    others: BTreeSet<Rank>,
    /// How many of them are not being deleted.
    pub(super) living: usize,
}

/// The least has the resource, and a claimant keeps it for as long as it claims it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    without_claim: bool,
    /// Of claims the younger note comes first.
    noted: Reverse<u32>,
    /// Without a claim the older object comes first, and of notes of the same second: one that was cloned or restored with its
    /// status has the note of the other.
    created: u32,
    pub(super) uid: Uid,
}

impl Rank {
    pub(super) fn of(uid: &Uid, claimant: &Claimant, resource: &ResourceName) -> Self {
        let without_claim = claimant.owns.as_ref() != Some(resource);
        let noted = Reverse(if without_claim { 0 } else { claimant.claimed });
        Self { without_claim, noted, created: claimant.created, uid: uid.clone() }
    }

    /// Returns true if it takes the resource from the one who has it. What was claimed before is taken only while not everybody is
    /// known: the order in which lists are read says nothing.
    fn displaces(&self, first: &Self, takes_claimed: bool) -> bool {
        (first.without_claim || takes_claimed) && self < first
    }
}

impl Contenders {
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns true if none of the others comes before that one.
    pub(super) fn may_have(&self, own: &Rank) -> bool {
        let first_other = self.ranked().find(|rank| rank.uid != own.uid);
        self.first.as_ref() == Some(own) || first_other.is_none_or(|other| own.displaces(other, false))
    }

    /// The objects that a change concerns, where `first` had the resource before and `living` were not being deleted: those that gain or
    /// lose the resource, and all when it is shared now or not any more.
    pub(super) fn concerned(&self, first: Option<Uid>, living: usize) -> Vec<Uid> {
        if living != self.living && living.min(self.living) <= 1 {
            return self.ranked().map(|rank| rank.uid.clone()).chain(first).collect();
        }
        let now = self.first();
        if now == first { Vec::new() } else { now.into_iter().chain(first).collect() }
    }

    pub(super) fn first(&self) -> Option<Uid> {
        self.first.as_ref().map(|rank| rank.uid.clone())
    }

    /// Those that claim it beside the one that has it.
    pub(super) fn claiming_in_vain(&self) -> impl Iterator<Item = &Uid> {
        self.others.iter().filter(|rank| claims(Some(rank))).map(|rank| &rank.uid)
    }

    fn ranked(&self) -> impl Iterator<Item = &Rank> {
        self.first.iter().chain(&self.others)
    }

    /// What one of them is by now in place of what it was. Whoever has the resource by a claim keeps it while it claims it,
    /// apart from somebody who comes with a younger claim while not everybody is known.
    pub(super) fn exchange(&mut self, left: Option<&Rank>, came: Option<Rank>, scope: Scope) {
        if claims(left) && claims(came.as_ref()) && self.first.as_ref() == left {
            self.first = came;
            return;
        }
        left.iter().for_each(|rank| self.remove(rank));
        let takes_claimed = scope == Scope::Incomplete && !claims(left);
        came.into_iter().for_each(|rank| self.insert(rank, takes_claimed));
    }

    fn insert(&mut self, rank: Rank, takes_claimed: bool) {
        match &mut self.first {
            Some(first) if !rank.displaces(first, takes_claimed) => _ = self.others.insert(rank),
            first => self.others.extend(first.replace(rank)),
        }
    }

    fn remove(&mut self, rank: &Rank) {
        if self.first.as_ref() == Some(rank) {
            self.first = self.others.pop_first();
        } else {
            self.others.remove(rank);
        }
    }
}

pub(super) fn claims(rank: Option<&Rank>) -> bool {
    rank.is_some_and(|rank| !rank.without_claim)
}
