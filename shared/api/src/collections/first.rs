//! Selects the first of many items without sorting the rest: people see a few of a hundred thousand.

use std::cmp::Ordering;

/// Returns the first `most` items by this order, sorted.
#[must_use]
pub fn first<T>(mut items: Vec<T>, most: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() > most {
        items.select_nth_unstable_by(most, &order);
        items.truncate(most);
    }
    items.sort_unstable_by(order);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_come_in_order() {
        for (most, expected) in [(0, &[][..]), (2, &[1, 2]), (5, &[1, 2, 3, 4, 5]), (9, &[1, 2, 3, 4, 5])] {
            assert_eq!(first(vec![4, 2, 5, 1, 3], most, i32::cmp), expected, "{most}");
        }
    }
}
