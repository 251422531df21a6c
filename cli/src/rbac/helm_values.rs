//! The roles as the value `rights` of the Helm chart. It binds the same rules in each of its namespaces, so targets that
//! need other rules in one namespace than in another have no such value.

use std::collections::BTreeSet;

use drift_kube::access::roles::{Role, Rule};

use super::manifests::{rule_lines, scalar};
use crate::ending::CommandError;

/// The comment at the top.
const PREFACE: &str =
    "# Values of the chart, printed by kubectl drift rbac. The comment on a rule names the targets that need it.\n";

/// The roles of a program.
pub(super) struct ProgramRoles {
    /// The key below `rights`.
    pub(super) key: &'static str,
    /// A role for each namespace, or for the whole cluster.
    pub(super) roles: Vec<Role>,
    /// The rules of all of them as one role for the whole cluster.
    pub(super) merged: Vec<Role>,
}

/// Returns the values.
///
/// # Errors
/// If a namespace needs other rules than another.
pub(super) fn helm_values(programs: &[ProgramRoles]) -> Result<String, CommandError> {
    let places: BTreeSet<&Option<String>> =
        programs.iter().flat_map(|program| &program.roles).map(|role| &role.namespace).collect();
    let mut text = format!("{PREFACE}rights:\n");
    for ProgramRoles { key, roles, merged } in programs {
        let rules: Vec<&Rule> = merged.iter().flat_map(|role| &role.rules).collect();
        let of_place = |place: &Option<String>| roles.iter().find(|role| role.namespace == *place);
        let has_all = |role: &Role| role.rules.iter().map(granted).eq(rules.iter().map(|rule| granted(rule)));
        if let Some(place) = places.iter().find(|place| !rules.is_empty() && !of_place(place).is_some_and(has_all)) {
            let place = place.as_ref().map_or("the whole cluster".to_owned(), |name| format!("namespace {name}"));
            return Err(CommandError::BadUsage(format!(
                "the {key} needs other rights in {place} than elsewhere, and `rights` of the chart has the same everywhere. \
                 Print the roles without -o, and apply them beside the chart"
            )));
        }
        text.push_str(&format!("  {key}:{}\n", if rules.is_empty() { " []" } else { "" }));
        let written = roles.first().into_iter().flat_map(|role| rules.iter().map(|rule| rule_lines(role, rule)));
        written.for_each(|lines| lines.lines().for_each(|line| text.push_str(&format!("  {line}\n"))));
    }
    let namespaces: Vec<String> = places.iter().filter_map(|place| place.as_deref()).map(scalar).collect();
    text.push_str(&format!("  namespaces: [{}]\n", namespaces.join(", ")));
    Ok(text)
}

/// The part of a rule that grants something.
fn granted(rule: &Rule) -> (&str, &str, Option<&str>, &[&'static str]) {
    (&rule.group, &rule.resource, rule.name.as_deref(), &rule.verbs)
}
