//! Roles and bindings as YAML. A comment on each rule names the targets that need it. The same targets give the same
//! text.

use std::fmt::Write as _;

use drift_kube::access::Account;
use drift_kube::access::roles::{Role, Rule};

const API_GROUP: &str = "rbac.authorization.k8s.io";

/// The comment at the top.
const PREFACE: &str = "# Printed by kubectl drift rbac: what the targets that stand beside each rule need. What both programs need in any case is in
# manifests/base: their own namespace, Events, DriftReports, and reading CustomResourceDefinitions.
";

/// Words that YAML takes for something else than text.
const TAKEN: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "~"];

/// The manifests that grant accounts their roles; `name` tells this set of targets from others.
pub(super) fn manifests(name: &str, granted: &[(Account, Vec<Role>)]) -> String {
    let mut text = PREFACE.to_owned();
    let mut separator = "";
    for (account, roles) in granted {
        let name = format!("{}-{name}", account.name);
        for role in roles {
            text.push_str(separator);
            text.push_str(&role_manifest(&name, role));
            text.push_str(&binding_manifest(&name, role, account));
            separator = "---\n";
        }
    }
    text
}

fn role_manifest(name: &str, role: &Role) -> String {
    let kind = if role.namespace.is_some() { "Role" } else { "ClusterRole" };
    let rules: String = role.rules.iter().map(|rule| rule_lines(role, rule)).collect();
    format!("{}rules:\n{rules}---\n", head(kind, name, role))
}

fn binding_manifest(name: &str, role: &Role, account: &Account) -> String {
    let (kind, of) = match role.namespace {
        Some(_) => ("RoleBinding", "Role"),
        None => ("ClusterRoleBinding", "ClusterRole"),
    };
    let (head, name) = (head(kind, name, role), scalar(name));
    let (account, namespace) = (scalar(&account.name), scalar(&account.namespace));
    format!(
        "{head}roleRef: {{apiGroup: {API_GROUP}, kind: {of}, name: {name}}}\nsubjects: [{{kind: ServiceAccount, name: {account}, namespace: {namespace}}}]\n"
    )
}

fn head(kind: &str, name: &str, role: &Role) -> String {
    let namespace = role.namespace.as_ref().map(|namespace| format!(", namespace: {}", scalar(namespace)));
    let (name, namespace) = (scalar(name), namespace.unwrap_or_default());
    format!("apiVersion: {API_GROUP}/v1\nkind: {kind}\nmetadata: {{name: {name}{namespace}}}\n")
}

/// A rule with the targets that need it.
pub(super) fn rule_lines(role: &Role, rule: &Rule) -> String {
    let mut lines = String::new();
    // Writing to a text does not fail.
    match rule.wanted.as_slice() {
        [(_, targets)] => _ = writeln!(lines, "# {}", targets.join(", ")),
        several => several
            .iter()
            .for_each(|(verbs, targets)| _ = writeln!(lines, "# {}: {}", targets.join(", "), verbs.join(", "))),
    }
    if role.namespace.is_none() && rule.group.is_empty() && rule.resource == "secrets" {
        lines
            .push_str("# Every Secret of the cluster: to grant less, name the `namespaces` of the target's objects.\n");
    }
    let names = rule.name.as_ref().map(|name| format!(", resourceNames: [{}]", scalar(name))).unwrap_or_default();
    let (group, resource, verbs) = (scalar(&rule.group), scalar(&rule.resource), rule.verbs.join(", "));
    _ = writeln!(lines, "- {{apiGroups: [{group}], resources: [{resource}]{names}, verbs: [{verbs}]}}");
    lines
}

/// A name as YAML: quoted where it would be taken for something else.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-./".contains(letter))
        && !TAKEN.contains(&text);
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_language::manifests_of;

    #[test]
    fn names_that_yaml_takes_for_something_else_are_quoted() {
        for (text, expected) in
            [("a-b.c/d", "a-b.c/d"), ("", "\"\""), ("1", "\"1\""), ("no", "\"no\""), ("a b", "\"a b\"")]
        {
            assert_eq!(scalar(text), expected);
        }
    }

    #[test]
    fn each_rule_says_who_wants_it() {
        let rule = |resource: &str, wanted: Vec<(Vec<&'static str>, Vec<String>)>| Rule {
            group: String::new(),
            resource: resource.to_owned(),
            name: Some("one".to_owned()),
            verbs: vec!["get", "list"],
            wanted,
        };
        let [a, b] = ["a", "b"].map(str::to_owned);
        let rules = vec![
            rule("secrets", vec![(vec!["get", "list"], vec![a.clone(), b.clone()])]),
            rule("services", vec![(vec!["get"], vec![a]), (vec!["get", "list"], vec![b])]),
        ];
        let account = Account { namespace: "home".to_owned(), name: "reader".to_owned() };
        let written = manifests("set", &[(account, vec![Role { namespace: None, rules }])]);
        let expected = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader-set}
rules:
# a, b
# Every Secret of the cluster: to grant less, name the `namespaces` of the target's objects.
- {apiGroups: [""], resources: [secrets], resourceNames: [one], verbs: [get, list]}
# a: get
# b: get, list
- {apiGroups: [""], resources: [services], resourceNames: [one], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader-set}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader-set}
subjects: [{kind: ServiceAccount, name: reader, namespace: home}]
"#;
        assert_eq!(written.strip_prefix(PREFACE), Some(expected));
        assert_eq!(manifests_of(&written).len(), 2);
    }
}
