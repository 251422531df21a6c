//! An object as templates see it, kept as JSON text, packed where others of its kind are known: a tree takes many times as much, and there
//! are as many as there are objects, while most polls need none of it.
//!
//! It must not know which fields are in it, nor who reads them.

use std::ops::Deref;
use std::sync::OnceLock;

use serde_json::Value;

use crate::collections::packed_text::{Dictionary, PackedText};

/// The fields of an object that templates read. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectView {
    /// Compact, its fields in order: equal views have equal texts.
    text: PackedText,
}

/// A view whose tree is made when it is first looked at.
#[derive(Debug)]
pub struct OpenView<'v> {
    view: &'v ObjectView,
    tree: OnceLock<Value>,
}

impl ObjectView {
    /// The view that is this tree.
    #[must_use]
    pub fn of(tree: &Value) -> Self {
        Self::packed(tree, None)
    }

    /// The view that is this tree, in fewer bytes the more of it is in the dictionary.
    #[must_use]
    pub fn packed(tree: &Value, dictionary: Option<&Dictionary>) -> Self {
        Self { text: PackedText::new(&tree.to_string(), dictionary) }
    }

    /// A dictionary for views of other objects of the kind; nothing where this one is too small for it.
    #[must_use]
    pub fn to_dictionary(&self) -> Option<Dictionary> {
        Dictionary::of(&self.text.text())
    }

    /// What the view is packed against.
    #[must_use]
    pub fn dictionary(&self) -> Option<&Dictionary> {
        self.text.dictionary()
    }

    /// Of this view and an equal one that is known the one to keep: the known one, which others keep too, unless only this one is packed.
    #[must_use]
    pub fn or_known(self, known: &Self) -> Self {
        if self.dictionary().is_some() && known.dictionary().is_none() { self } else { known.clone() }
    }

    /// The view to be looked into, for as long as this is kept.
    #[must_use]
    pub const fn open(&self) -> OpenView<'_> {
        OpenView { view: self, tree: OnceLock::new() }
    }

    /// Whether it is just this view, and not only an equal one.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.text.is(&other.text)
    }
}

impl Default for ObjectView {
    /// Of an object that is not kept.
    fn default() -> Self {
        Self::of(&Value::Null)
    }
}

impl Deref for OpenView<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        // The text was made of a tree, so it is one.
        self.tree.get_or_init(|| serde_json::from_str(&self.view.text.text()).unwrap_or_default())
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
        /// A number that came back otherwise by its last bit would be drift that nobody made.
        #[test]
        fn a_view_is_the_tree_that_it_was_made_of(tree in trees(), first in trees()) {
            // One that has much in common with it.
            let first = json!({"first": first, "tree": tree});
            let dictionary = ObjectView::of(&first).to_dictionary();
            let (view, packed) = (ObjectView::of(&tree), ObjectView::packed(&tree, dictionary.as_ref()));
            let (open, unpacked) = (view.open(), packed.open());
            prop_assert_eq!(&*open, &tree);
            prop_assert_eq!(&*unpacked, &tree);
            prop_assert_eq!(&view, &packed);
            prop_assert_eq!(packed == ObjectView::of(&first), tree == first);
        }
    }

    #[test]
    fn the_same_view_is_more_than_an_equal_one() {
        let view = ObjectView::of(&json!({"spec": {"b": 1, "a": 2.5}}));
        let equal = ObjectView::of(&json!({"spec": {"a": 2.5, "b": 1}}));
        assert_eq!(view, equal);
        assert!(view.is(&view.clone()) && !view.is(&equal));
    }

    #[test]
    fn of_equal_views_a_packed_one_is_kept() {
        let role =
            |name| json!({"spec": {"login": true, "name": name, "owner": "team-a", "rights": ["select", "insert"]}});
        let dictionary = ObjectView::of(&role("reader")).to_dictionary();
        let whole = || ObjectView::of(&role("writer"));
        let packed = || ObjectView::packed(&role("writer"), dictionary.as_ref());
        for known in [whole(), packed()] {
            assert!(whole().or_known(&known).is(&known));
        }
        let (known, packed) = (packed(), packed());
        assert!(packed.clone().or_known(&known).is(&known), "others keep that one");
        assert!(packed.clone().or_known(&whole()).is(&packed));
    }
}
