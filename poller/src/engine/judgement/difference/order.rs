//! Ordered lists: the fewest removed and inserted items, computed only for short lists.

use drift_language::RulePlace;
use serde_json::Value;

use super::fulfilment::Comparison;

/// Maximum pairs of items that are compared to find insertions: two lists of 64 items. For longer ones, the first
/// difference is reported.
pub(super) const MAX_PAIRS: usize = 4_096;

/// A stretch in which two ordered lists differ, with the positions on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) desired: std::ops::Range<usize>,
    pub(super) real: std::ops::Range<usize>,
}

impl Comparison {
    /// Returns the stretch between the common start and the common end of both lists.
    pub(super) fn differing_middle(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value]) -> Gap {
        let matches = |expected: usize, item: usize| self.matches(place, desired, real, [expected, item]);
        let shorter = desired.len().min(real.len());
        let head = (0..shorter).take_while(|position| matches(*position, *position)).count();
        let tail = (1..=shorter - head).take_while(|back| matches(desired.len() - back, real.len() - back)).count();
        Gap { desired: head..desired.len() - tail, real: head..real.len() - tail }
    }

    /// Returns the stretches that remain when as many items as possible are matched in order.
    pub(super) fn gaps(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value], middle: &Gap) -> Vec<Gap> {
        let (rows, columns) = (middle.desired.len(), middle.real.len());
        let at = |row: usize, column: usize| row * (columns + 1) + column;
        let mut is_same = vec![false; rows * columns];
        // Length of the longest common subsequence of both suffixes, for each pair of positions.
        let mut shared = vec![0_usize; (rows + 1) * (columns + 1)];
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                let pair = [middle.desired.start + row, middle.real.start + column];
                let same = self.matches(place, desired, real, pair);
                is_same[row * columns + column] = same;
                shared[at(row, column)] = if same {
                    shared[at(row + 1, column + 1)] + 1
                } else {
                    shared[at(row + 1, column)].max(shared[at(row, column + 1)])
                };
            }
        }
        let mut gaps = Vec::new();
        let (mut row, mut column) = (0, 0);
        let (mut from_row, mut from_column) = (0, 0);
        let mut close = |from: [usize; 2], to: [usize; 2]| {
            if from != to {
                let (desired, real) = (middle.desired.start, middle.real.start);
                gaps.push(Gap { desired: desired + from[0]..desired + to[0], real: real + from[1]..real + to[1] });
            }
        };
        while row < rows && column < columns {
            if is_same[row * columns + column] {
                close([from_row, from_column], [row, column]);
                (row, column) = (row + 1, column + 1);
                (from_row, from_column) = (row, column);
            } else if shared[at(row + 1, column)] >= shared[at(row, column + 1)] {
                row += 1;
            } else {
                column += 1;
            }
        }
        close([from_row, from_column], [rows, columns]);
        gaps
    }

    /// Returns true if the stretch contains the same items in another order.
    pub(super) fn is_reordered(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value], middle: &Gap) -> bool {
        if middle.desired.len() != middle.real.len() {
            return false;
        }
        let mut left: Vec<usize> = middle.real.clone().collect();
        middle.desired.clone().all(|expected| {
            let found = left.iter().position(|item| self.matches(place, desired, real, [expected, *item]));
            found.map(|index| left.swap_remove(index)).is_some()
        })
    }

    fn matches(&self, place: &RulePlace<'_>, desired: &[Value], real: &[Value], [expected, item]: [usize; 2]) -> bool {
        match (desired.get(expected), real.get(item)) {
            (Some(value), observed) => self.fulfils(&place.item(expected), value, observed),
            _ => false,
        }
    }
}
