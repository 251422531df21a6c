//! Finds grants of a role that the object names freely. Every editor of an object could then give a role any right
//! of the server.

use std::collections::BTreeSet;

use drift_api::object::field_paths::FieldPaths;

use crate::systems::steps::ACTIONS;
use crate::target::Target;

impl Target {
    /// The actions whose GRANT takes a name from a field that no `require` reads, each with its warning.
    #[must_use]
    pub fn unbounded_grants(&self) -> Vec<([&'static str; 4], String)> {
        let Some(section) = self.correct.section() else { return Vec::new() };
        let kind = section.key();
        let bounded: Vec<&FieldPaths> = self.require.iter().map(|requirement| requirement.that.fields()).collect();
        let is_bounded = |field: &[String]| {
            let covers = |read: &[String]| read.starts_with(field) || field.starts_with(read);
            bounded.iter().any(|fields| fields.iter().any(covers))
        };
        let unbounded = section.granted().into_iter().zip(ACTIONS).filter_map(|(granted, action)| {
            let fields = self.fields_behind(&granted);
            let unbounded = fields.iter().filter(|field| !is_bounded(field));
            let fields: BTreeSet<_> = unbounded.map(|field| format!("`self.{}`", field.join("."))).collect();
            let (names, field) = match fields.len() {
                0 => return None,
                1 => ("a name", "that field"),
                _ => ("names", "each field"),
            };
            let message = format!(
                "a GRANT takes {names} from {}, which no `require` bounds: who may write an object can have any role or right that \
                 the controller may grant; add a `require` for {field}, such as matches('^app_[a-z0-9_]+$')",
                Vec::from_iter(fields).join(", ")
            );
            Some((["spec", "correct", kind, action], message))
        });
        unbounded.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures;

    /// The warnings of a target with these requirements, this desired state and this statement.
    fn warnings(require: &str, desired: &str, statement: &str) -> String {
        let target = fixtures::target(&format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: "${{self.spec.role}}"
  require: [{{that: "${{{require}}}", else: no}}]
  read: {{postgres: {{connection: {{secretRef: {{name: s}}}}, query: "SELECT 1 AS a WHERE 'x' = ${{self.spec.role}}"}}}}
  compare: {{desired: {desired}}}
  correct: {{mode: Correct, postgres: {{connection: {{secretRef: {{name: s}}}}, update: [{{sql: '{statement}'}}]}}}}
"#
        ));
        let found = target.unbounded_grants().into_iter();
        found.map(|(place, message)| format!("{}: {message}\n", place.join("."))).collect()
    }

    #[test]
    fn every_unbounded_field_of_a_grant_is_named() {
        let grant = "GRANT ${idents(self.spec.groups)}, ${ident(self.spec.role)}, ${ident(self.spec.role)} TO x";
        let told = warnings("true", "{a: 1}", grant);
        let expected = "takes names from `self.spec.groups`, `self.spec.role`, which no `require` bounds";
        assert!(told.contains(expected) && told.contains("add a `require` for each field"), "{told}");
    }

    #[test]
    fn a_grant_of_an_unbounded_name_is_told() {
        let (any, bounded) = ("self.spec.role != ''", "self.spec.groups.all(group, group.matches('^app_[a-z]+$'))");
        let (groups, nothing) = ("{groups: \"${self.spec.groups}\"}", "{a: 1}");
        let table = [
            (any, nothing, "GRANT ${idents(self.spec.groups)} TO ${ident(self.spec.role)}", true),
            (any, groups, "grant ${idents(desired.groups)} TO ${ident(self.spec.role)}", true),
            (any, "\"${self.spec}\"", "GRANT ${idents(desired.groups)} TO x", false),
            (any, groups, "GRANT SELECT ON t, ${ident(self.spec.table)} TO x", true),
            (bounded, groups, "GRANT ${idents(desired.groups)} TO ${ident(self.spec.role)}", false),
            (bounded, nothing, "GRANT ${idents(self.spec.groups)} TO x", false),
            (bounded, nothing, "GRANT readers TO ${ident(self.spec.other)}", false),
            (any, groups, "REVOKE ${idents(desired.groups)} FROM x", false),
        ];
        for (require, desired, statement, is_told) in table {
            let told = warnings(require, desired, statement);
            assert_eq!(
                told.contains("spec.correct.postgres.update: a GRANT takes a name"),
                is_told,
                "{statement}: {told}"
            );
            assert_eq!(told.is_empty(), !is_told, "{statement}: {told}");
        }
    }
}
