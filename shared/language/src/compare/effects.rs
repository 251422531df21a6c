//! What one rule does to its path.

use super::form::Form;
use crate::values::decimal::Decimal;

/// How a list is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Item by item, in order.
    #[default]
    Ordered,
    /// Every item occurs, in any order and however often.
    Set,
    /// Items are told apart by the values of these fields, in any order.
    Map(Vec<String>),
}

/// What more there is outside than `desired` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// It differs.
    Drift,
    /// It is not managed.
    Allow,
}

/// What stands written at one path; what is not written is decided by a path above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effects {
    pub(super) list: Option<ListKind>,
    pub(super) extra: Option<Extra>,
    pub(super) form: Option<Form>,
    pub(super) tolerance: Option<Decimal>,
    pub(super) ignore: bool,
    pub(super) redact: bool,
    pub(super) show: bool,
    pub(super) replace: bool,
}

impl Effects {
    /// The words of what is written.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let written = [
            ("list", self.list.is_some()),
            ("extra", self.extra.is_some()),
            ("as", self.form.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("ignore", self.ignore),
            ("redact", self.redact),
            ("show", self.show),
            ("change", self.replace),
        ];
        written.into_iter().filter(|(_, is_written)| *is_written).map(|(word, _)| word).collect()
    }

    /// Takes over what another rule for the same path says; they say nothing twice.
    pub(super) fn extend(&mut self, other: Self) {
        let Self { list, extra, form, tolerance, ignore, redact, show, replace } = other;
        self.list = list.or_else(|| self.list.take());
        self.extra = extra.or(self.extra);
        self.form = form.or(self.form);
        self.tolerance = tolerance.or(self.tolerance);
        self.ignore |= ignore;
        self.redact |= redact;
        self.show |= show;
        self.replace |= replace;
    }
}
