//! Effects of one rule on its path.

use super::form::Form;
use crate::values::decimal::Decimal;

/// The comparison of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Item by item, in order.
    #[default]
    Ordered,
    /// As a set: order and repetition do not matter.
    Set,
    /// As a map: these fields are the key of an item, and order does not matter.
    Map(Vec<String>),
}

/// Treatment of items or fields that `desired` does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// They count as drift.
    Drift,
    /// The same here and at every place below.
    DriftBelow,
    /// They are not managed.
    Allow,
}

/// Treatment of empty texts, lists and maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// They equal each other, null, and a missing field.
    Absent,
    /// They are values of their own.
    Present,
}

/// The effects written at one path. Absent effects are inherited from a path above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) list: Option<ListKind>,
    pub(super) extra: Option<Extra>,
    pub(super) empty: Option<Empty>,
    pub(super) form: Option<Form>,
    pub(super) tolerance: Option<Decimal>,
    pub(super) ignore: bool,
    pub(super) redact: bool,
    pub(super) show: bool,
    pub(super) replace: bool,
}

impl Effects {
    /// The keywords of the effects that are present.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let written = [
            ("list", self.list.is_some()),
            ("extra", self.extra.is_some()),
            ("empty", self.empty.is_some()),
            ("as", self.form.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("ignore", self.ignore),
            ("redact", self.redact),
            ("show", self.show),
            ("change", self.replace),
        ];
        written.into_iter().filter(|(_, is_written)| *is_written).map(|(word, _)| word).collect()
    }

    /// Merges the effects of another rule for the same path. No effect occurs in both.
    pub(super) fn extend(&mut self, other: Self) {
        let Self { list, extra, empty, form, tolerance, ignore, redact, show, replace } = other;
        self.list = list.or_else(|| self.list.take());
        self.extra = extra.or(self.extra);
        self.empty = empty.or(self.empty);
        self.form = form.or(self.form);
        self.tolerance = tolerance.or(self.tolerance);
        self.ignore |= ignore;
        self.redact |= redact;
        self.show |= show;
        self.replace |= replace;
    }
}
