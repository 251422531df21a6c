//! The steps of one correction in order: first those that delete the resource, then those that create or change it.
//!
//! A replacement without own steps is the deletion of its target, followed by the creation.

use std::sync::Arc;

use drift_language::{Destination, HttpStep, Target};

use crate::engine::corrections::claim::Action;

/// Steps of one correction.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::rendering) struct Parts<'t> {
    deletion: &'t [HttpStep],
    rest: &'t [HttpStep],
}

impl<'t> Parts<'t> {
    /// Returns the steps of an action; empty if the target has none.
    pub(in crate::engine::rendering) fn of(target: &'t Target, action: Action) -> Self {
        let Some(Destination::Http(http)) = &target.correct.destination else {
            return Self { deletion: &[], rest: &[] };
        };
        let [deletion, rest] = http.steps.sent_for(action.as_str());
        Self { deletion, rest }
    }

    /// Returns the number of leading steps that delete the resource and are judged together.
    pub(super) const fn deletion(self) -> usize {
        self.deletion.len()
    }

    pub(in crate::engine::rendering) fn iter(self) -> impl Iterator<Item = &'t HttpStep> {
        self.deletion.iter().chain(self.rest)
    }

    pub(super) fn step(self, index: usize) -> Option<&'t HttpStep> {
        self.iter().nth(index)
    }

    /// Returns the index of the step's part. Steps see only the responses of their own part, because the other part may
    /// use the same names.
    pub(super) fn part(self, index: usize) -> usize {
        usize::from(index >= self.deletion())
    }

    /// Returns the display name of the step; `None` if it is the only one and unnamed.
    pub(super) fn label(self, index: usize) -> Option<Arc<str>> {
        let (part, steps, index) = match index.checked_sub(self.deletion()) {
            None => ("delete", self.deletion, index),
            Some(index) => ("create", self.rest, index),
        };
        let name = steps.get(index)?.name.clone();
        let name = name.or_else(|| (steps.len() > 1).then(|| (index + 1).to_string()));
        let has_both = !self.deletion.is_empty() && !self.rest.is_empty();
        match name {
            Some(name) if has_both => Some(format!("{part} {name}").into()),
            None if has_both => Some(part.into()),
            name => name.map(Arc::from),
        }
    }
}
