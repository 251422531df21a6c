//! An object as templates see it, stored as JSON text. A parsed tree takes many times as much memory, and most polls of
//! an unchanged object do not need it.

use std::ops::Deref;
use std::sync::OnceLock;

use serde_json::Value;

use crate::collections::shared_text::SharedText;

/// The fields of an object that templates read. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectView {
    /// Compact JSON with ordered fields, so that equal views have equal texts.
    text: SharedText,
}

/// A view with a tree that is parsed on first access.
#[derive(Debug)]
pub struct OpenView<'v> {
    view: &'v ObjectView,
    tree: OnceLock<Value>,
}

impl ObjectView {
    /// Creates the view of this tree.
    #[must_use]
    pub fn of(tree: &Value) -> Self {
        Self { text: tree.to_string().into() }
    }

    /// Opens the view for access to its tree.
    #[must_use]
    pub const fn open(&self) -> OpenView<'_> {
        OpenView { view: self, tree: OnceLock::new() }
    }

    /// Returns the bytes of its text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns true if both are the same instance, not only equal.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        SharedText::ptr_eq(&self.text, &other.text)
    }
}

impl Default for ObjectView {
    /// The view of an object that is not kept.
    fn default() -> Self {
        Self::of(&Value::Null)
    }
}

impl Deref for OpenView<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        // The text was created from a tree, so it is valid.
        self.tree.get_or_init(|| serde_json::from_str(&self.view.text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn trees() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// A number with another last bit after a round trip would be false drift.
        #[test]
        fn a_view_is_the_tree_that_it_was_made_of(tree in trees()) {
            let view = ObjectView::of(&tree);
            prop_assert_eq!(&*view.open(), &tree);
        }
    }

    #[test]
    fn the_same_view_is_more_than_an_equal_one() {
        let view = ObjectView::of(&json!({"spec": {"b": 1, "a": 2.5}}));
        let equal = ObjectView::of(&json!({"spec": {"a": 2.5, "b": 1}}));
        assert_eq!(view, equal);
        assert!(view.is(&view.clone()) && !view.is(&equal));
    }
}
