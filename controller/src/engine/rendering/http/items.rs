//! The items of a step with `forEach`: one request for each, in order.

use std::collections::VecDeque;
use std::sync::Arc;

use drift_language::{HttpStep, MAX_ITEMS, Target};
use drift_systems::refusal::short_line;
use serde_json::Value;

use super::Rendering;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::unrenderable::Unrenderable;

/// Maximum characters of an item in a message, which has other parts.
const MAX_NAME_CHARS: usize = 128;

/// The items of one step that have no accepted response yet.
pub(super) struct Items {
    /// Index of the step.
    pub(super) step: usize,
    left: VecDeque<Value>,
    total: usize,
    /// True if people may see the items.
    are_shown: bool,
}

impl Items {
    /// Returns the item of the next request.
    pub(super) fn current(&self) -> Option<&Value> {
        self.left.front()
    }

    /// Turns to the next item.
    pub(super) fn advance(&mut self) {
        self.left.pop_front();
    }

    /// Returns the position of the current item: `2 of 3`.
    fn position(&self) -> String {
        format!("{} of {}", self.total - self.left.len() + 1, self.total)
    }
}

impl Rendering {
    /// Returns the items of a step that is due; `None` if it has no list. `when` is evaluated before the list.
    pub(super) fn list(&self, index: usize) -> Result<Option<Items>, Unrenderable> {
        let Some((step, for_each)) = self.parts().step(index).and_then(|step| Some((step, step.for_each.as_ref()?)))
        else {
            return Ok(None);
        };
        let variables = self.variables(index);
        let is_due = step.is_due(&variables).map_err(|error| self.failing(index, error))?;
        let items = if is_due { for_each.items(&variables) } else { Ok(Vec::new()) };
        let items = items.map_err(|error| self.failing(index, error))?;
        if items.len() > MAX_ITEMS {
            let cause = format!("forEach gives {} items, and a step has at most {MAX_ITEMS}", items.len());
            let doubt = Doubt::TooManyItems;
            return Err(Unrenderable { doubt, cause, ..self.failing(index, "") });
        }
        let are_shown = !for_each.names_secret() && !redacts(&self.target);
        Ok(Some(Items { step: index, total: items.len(), left: items.into(), are_shown }))
    }

    /// Fails if the list is known to be too long before anything is sent.
    pub(super) fn check_length(&self, index: usize) -> Result<(), Unrenderable> {
        match self.list(index) {
            Err(error) if error.doubt == Doubt::TooManyItems => Err(error),
            // Other errors come from responses that are not there yet.
            _ => Ok(()),
        }
    }

    /// Returns the display name of the step, and of its current item: `add["carol"]`.
    pub(super) fn label(&self, index: usize) -> Option<Arc<str>> {
        self.item_label(index).or_else(|| self.parts().label(index))
    }

    /// Returns the display name of the step's current item, if the step has a list.
    #[must_use]
    pub fn item_label(&self, index: usize) -> Option<Arc<str>> {
        let items = self.items.as_ref().filter(|items| items.step == index)?;
        let item = items.current()?;
        let step = self.parts().label(index).unwrap_or_else(|| (index + 1).to_string().into());
        let name = self.shown_item(item).filter(|_| items.are_shown).unwrap_or_else(|| items.position());
        Some(format!("{step}[{name}]").into())
    }

    /// Returns the item for display; `None` if it is no name or number, or repeats a secret.
    fn shown_item(&self, item: &Value) -> Option<String> {
        let text = match item {
            Value::String(text) if is_name(text) => Value::from(short_line(text, MAX_NAME_CHARS)).to_string(),
            Value::String(_) => return None,
            Value::Number(_) | Value::Bool(_) => item.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        let repeats = self.kept_secret.occur_in(item) || self.kept_secret.pieces_occur_in(&text);
        (!repeats).then_some(text)
    }
}

/// Returns true if the text looks like a name. URLs, connection strings and documents may contain credentials.
fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter.is_whitespace() || "._@/:-".contains(letter);
    text.chars().all(is_plain) && !text.contains("://")
}

/// Returns true if a rule redacts a part of the desired state. An item may come from there.
fn redacts(target: &Target) -> bool {
    let root = target.compare.rules.root();
    root.is_redacted() || root.redacts_below()
}

/// Returns the name by which later steps see the response. A step with a list has several responses, which none sees.
pub(super) fn seen_as(step: &HttpStep) -> Option<&String> {
    step.name.as_ref().filter(|_| step.for_each.is_none())
}
