//! The place of both conditions: the object, or a report beside it if its status cannot keep them.

use drift_kube::kinds::WrittenKinds;
use drift_language::{DocumentName, parse_document};

use super::definition::Definition;
use crate::kinds::operators::{Operator, REPLACES_CONDITIONS};

/// The place of both conditions, with the reasons for which the status cannot keep them.
#[derive(Debug)]
pub(super) enum Place {
    /// The status of the object.
    Object,
    /// A report beside it.
    Report(Vec<String>),
    /// None: a report needs the namespace of its object.
    Nowhere(Vec<String>),
}

impl Place {
    /// Examines the kind of a drafted target as `check` does.
    pub(super) fn of(definition: &Definition, operator: Option<&Operator>, text: &str) -> Self {
        let mut reasons = reasons(definition, text);
        if let Some(operator) = operator.filter(|operator| reasons.is_empty() && operator.replaces_conditions) {
            reasons.push(format!("the {} {REPLACES_CONDITIONS}", operator.name));
        }
        match (reasons.is_empty(), definition.kind.is_namespaced) {
            (true, _) => Self::Object,
            (false, true) => Self::Report(reasons),
            (false, false) => Self::Nowhere(reasons),
        }
    }

    /// Returns true if the conditions are kept in a report.
    pub(super) const fn is_report(&self) -> bool {
        matches!(self, Self::Report(_))
    }
}

fn reasons(definition: &Definition, text: &str) -> Vec<String> {
    let name = DocumentName { config_map: String::new(), key: "draft".to_owned() };
    let kinds = WrittenKinds::read([&definition.manifest]);
    let target = parse_document(&name, text).ok();
    let Some(examined) = target.and_then(|target| kinds.examine(&target)) else { return Vec::new() };
    let (api_version, kind) = (definition.api_version(), &definition.kind.kind);
    let lossy = kinds.lossy(&api_version, kind).map(|lossy| lossy.to_string());
    let problems = examined.problems.into_iter().filter(|problem| Some(problem) != lossy.as_ref());
    let all = problems.chain(examined.doubts);
    let name = format!("{api_version} {kind}");
    let of_kind = |problem: String| match without_remedy(&problem) {
        said if said.starts_with(&name) => said.replacen(&name, "the kind", 1),
        said => said.to_owned(),
    };
    all.map(of_kind).collect()
}

/// The part of a problem before its remedy. A quoted message may have a colon, too.
fn without_remedy(problem: &str) -> &str {
    let mut colons = problem.match_indices(": ").map(|(at, _)| &problem[..at]);
    colons.find(|before| before.matches('`').count() % 2 == 0).unwrap_or(problem)
}
