//! What a target can do about a kind that lacks something for its conditions, besides a change of the kind.

use drift_language::{Destination, Target};

use crate::client::ResolvedKind;

/// Keeps the conditions where no schema of others refuses them.
pub(super) const REPORT: &str = "keep the conditions beside the objects with objects.conditions: Report";

/// The reason to do that first: an edit of the CustomResourceDefinition is lost with the next release of its chart.
const OF_OPERATOR: &str = ", because the CustomResourceDefinition belongs to their operator";

/// The use of a kind that needs no field for the generation: no record of a correction depends on it.
const OWN_NOTHING: &str = "correct with correct.nudge, or only observe the objects with mode: Observe";

/// What a target can do besides a change of its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::kinds) struct Advice {
    /// True if the target only observes its objects, or wakes their operator.
    pub(super) owns_nothing: bool,
    /// True if it keeps the conditions of `ready: true`, which have no place for the generation but its field.
    pub(super) is_ready: bool,
    /// True if the target may keep its conditions in reports.
    pub(super) may_report: bool,
    /// True if an operator heals the objects.
    pub(super) is_of_operator: bool,
}

impl Advice {
    /// Returns the advice for a target with objects of this kind.
    pub(in crate::kinds) fn of(target: &Target, kind: &ResolvedKind) -> Self {
        let may_report = target.may_keep_reports() && kind.namespaced;
        let is_of_operator = matches!(target.correct.destination, Some(Destination::Nudge(_)));
        Self { owns_nothing: target.owns_nothing(), is_ready: target.ready, may_report, is_of_operator }
    }

    /// Returns what to do about a missing field for the generation. `None` if the target needs none.
    pub(super) const fn about_generation(self) -> Option<&'static str> {
        match self {
            Self { owns_nothing: false, .. } => Some(OWN_NOTHING),
            Self { is_ready: true, .. } => Some("remove ready"),
            _ => None,
        }
    }
}

/// A reason why a kind cannot keep the conditions.
pub(super) struct Problem {
    /// The kind, and what it lacks.
    pub(super) what: String,
    /// The change of the kind; `None` for a built-in kind.
    pub(super) mend: Option<String>,
    /// What the target can do about this problem.
    pub(super) instead: Option<&'static str>,
}

impl Problem {
    /// Returns the sentence: what is wrong, and what to do.
    pub(super) fn sentence(self, advice: Advice) -> String {
        let Self { mut what, mend, instead } = self;
        if mend.is_none() {
            what.push_str(", and a built-in kind cannot be changed");
        }
        let report = advice.may_report.then(|| {
            let reason = if advice.is_of_operator && mend.is_some() { OF_OPERATOR } else { "" };
            format!("{REPORT}{reason}")
        });
        let instead = instead.map(str::to_owned);
        let steps = if advice.is_of_operator { [report, mend, instead] } else { [mend, report, instead] };
        let steps: Vec<String> = steps.into_iter().flatten().collect();
        if steps.is_empty() { what } else { format!("{what}: {}", steps.join(", or ")) }
    }
}
