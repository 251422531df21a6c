//! The steps of one correction in order: first those that delete the resource, then those that create or change it.

use std::sync::Arc;

use drift_language::{ActionSteps, Destination, HttpStep, Target};

use crate::engine::corrections::claim::Action;

/// Steps of one correction.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::rendering) struct Parts<'t>(ActionSteps<'t, HttpStep>);

impl<'t> Parts<'t> {
    /// Returns the steps of an action; empty if the target has none.
    pub(in crate::engine::rendering) fn of(target: &'t Target, action: Action) -> Self {
        match &target.correct.destination {
            Some(Destination::Http(http)) => Self(http.steps.sent_for(action)),
            _ => Self(ActionSteps::none()),
        }
    }

    /// Returns the number of leading steps that delete the resource and are judged together.
    pub(super) const fn deletion(self) -> usize {
        self.0.deletion().len()
    }

    pub(in crate::engine::rendering) fn iter(self) -> impl Iterator<Item = &'t HttpStep> {
        self.0.iter()
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
            None => ("delete", self.0.deletion(), index),
            Some(index) => ("create", self.0.rest(), index),
        };
        let name = steps.get(index)?.name.clone();
        let name = name.or_else(|| (steps.len() > 1).then(|| (index + 1).to_string()));
        let has_both = !self.0.deletion().is_empty() && !self.0.rest().is_empty();
        match name {
            Some(name) if has_both => Some(format!("{part} {name}").into()),
            None if has_both => Some(part.into()),
            name => name.map(Arc::from),
        }
    }
}
