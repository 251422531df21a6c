//! The order of names for people: `flag-2` before `flag-10`.

use std::cmp::Ordering;

use drift_api::object::ObjectId;

/// Compares two objects by namespace and name, numbers by their value.
#[must_use]
pub fn compare_objects(one: &ObjectId, other: &ObjectId) -> Ordering {
    let namespaces = [one, other].map(|id| id.namespace.as_deref().unwrap_or_default());
    let by_namespace = compare(namespaces[0], namespaces[1]);
    by_namespace.then_with(|| compare(&one.name, &other.name)).then_with(|| one.uid.cmp(&other.uid))
}

/// Compares two names, numbers in them by their value. Only equal names are equal.
#[must_use]
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(a), Some(b)) = (left.chars().next(), right.chars().next()) {
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let ((a, rest_left), (b, rest_right)) = (split_number(left), split_number(right));
            // Without leading zeros the longer number is the larger one.
            match a.len().cmp(&b.len()).then_with(|| a.cmp(b)) {
                Ordering::Equal => (left, right) = (rest_left, rest_right),
                unequal => return unequal,
            }
        } else if a == b {
            (left, right) = (&left[a.len_utf8()..], &right[b.len_utf8()..]);
        } else {
            return a.cmp(&b);
        }
    }
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// The number at the start without its leading zeros, and the rest.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_in_names_order_by_value() {
        let mut names = ["flag-10", "flag-2", "flag", "flag-02", "flag-2a", "a-9", "flag-b", "é2", "é10"];
        names.sort_by(|one, other| compare(one, other));
        assert_eq!(names, ["a-9", "flag", "flag-02", "flag-2", "flag-2a", "flag-10", "flag-b", "é2", "é10"]);
    }

    proptest! {
        #[test]
        fn the_order_is_total(names in proptest::collection::vec("[a0-2é-]{0,5}", 3)) {
            let (a, b, c) = (&names[0], &names[1], &names[2]);
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            prop_assert_eq!(compare(a, b) == Ordering::Equal, a == b);
            if compare(a, b).is_le() && compare(b, c).is_le() {
                prop_assert!(compare(a, c).is_le());
            }
        }
    }
}
