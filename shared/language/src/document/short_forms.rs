//! Short forms of a document. They are expanded before anything reads it, so hashes and messages are of the long forms.

use crate::secrets::secret_key::TOKEN;
use crate::systems::steps::ACTIONS;
use crate::yaml::Node;

/// The sections of `correct` whose actions are lists of steps. A single step needs no list.
const WITH_STEPS: &[&str] = &["http", "postgres", "mysql", "ldap"];
/// The reads of many objects: where a text for `key` is the name of an entry.
const WITH_KEYS: &[(&str, &str)] = &[("http", "item"), ("postgres", "row"), ("mysql", "row")];

/// Replaces every short form of a document by its long form.
pub(super) fn expand(root: &mut Node) {
    let Some(spec) = root.get_mut("spec") else { return };
    for system in WITH_STEPS {
        for action in ACTIONS {
            if let Some(step) = at(spec, &["correct", system, action]) {
                step.make_list();
            }
        }
    }
    for (system, entry) in WITH_KEYS {
        if let Some(key) = at(spec, &["read", system, "key"]).filter(|key| key.as_text().is_some()) {
            key.put_below(entry);
        }
    }
    for section in ["read", "correct"] {
        for kind in ["bearer", "header", "query", "body"] {
            add_key(at(spec, &[section, "http", "auth", kind, "secretRef"]));
            let listed = at(spec, &[section, "http", "auth", kind, "credentials"]);
            listed.into_iter().flat_map(Node::items_mut).for_each(|entry| add_key(entry.get_mut("secretRef")));
        }
    }
    add_key(at(spec, &["hints", "webhook", "secretRef"]));
    let secrets = spec.get_mut("secrets").into_iter().flat_map(Node::values_mut);
    secrets.for_each(|secret| add_key(secret.get_mut("secretRef")));
}

fn at<'n>(spec: &'n mut Node, path: &[&str]) -> Option<&'n mut Node> {
    path.iter().try_fold(spec, |node, key| node.get_mut(key))
}

/// Adds the usual key to a reference that has only a name.
fn add_key(reference: Option<&mut Node>) {
    if let Some(reference) = reference.filter(|reference| reference.has_only("name")) {
        reference.add_text("key", TOKEN);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    #[test]
    fn short_and_long_forms_are_one() {
        let table = [
            ("correct: {http: {create: {method: POST}}}", "correct: {http: {create: [{method: POST}]}}"),
            ("correct: {postgres: {delete: DROP}}", "correct: {postgres: {delete: [DROP]}}"),
            ("correct: {ldap: {update: []}}", "correct: {ldap: {update: []}}"),
            ("correct: {job: {create: {a: b}}}", "correct: {job: {create: {a: b}}}"),
            ("read: {http: {key: a}}", "read: {http: {key: {item: a}}}"),
            ("read: {mysql: {key: a}}", "read: {mysql: {key: {row: a}}}"),
            ("read: {http: {key: {item: a}}}", "read: {http: {key: {item: a}}}"),
            (
                "read: {http: {auth: {bearer: {secretRef: {name: a}}}}}",
                "read: {http: {auth: {bearer: {secretRef: {name: a, key: token}}}}}",
            ),
            (
                "read: {http: {auth: {bearer: {credentials: [{namespaces: [n], secretRef: {name: a}}]}}}}",
                "read: {http: {auth: {bearer: {credentials: [{namespaces: [n], secretRef: {name: a, key: token}}]}}}}",
            ),
            ("secrets: {a: {secretRef: {name: b}}}", "secrets: {a: {secretRef: {name: b, key: token}}}"),
            ("secrets: {a: {secretRef: {name: b, key: c}}}", "secrets: {a: {secretRef: {name: b, key: c}}}"),
            ("correct: {http: {create: }}", "correct: {http: {create: }}"),
        ];
        for (short, long) in table {
            let [mut short_tree, long_tree] = [short, long].map(|text| parse(&format!("spec: {{{text}}}")).unwrap());
            expand(&mut short_tree);
            assert_eq!(short_tree.to_json(), long_tree.to_json(), "{short}");
        }
    }

    const SHORT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.example/v1, kind: Zone}
  identity: "${self.metadata.name}"
  read:
    http: {url: "https://h.example/zones", each: "${response.body}", key: "${item.name}"}
  compare: {desired: {ttl: "${self.spec.ttl}"}}
  correct:
    mode: Correct
    http:
      auth: {bearer: {secretRef: {name: zones}}}
      create: {method: POST, url: "https://h.example/zones", body: "${desired}"}
      update: {method: PUT, url: "https://h.example/zones/${self.metadata.name}", body: "${desired}"}
"#;

    #[test]
    fn a_typo_above_a_short_form_is_the_only_mistake() {
        assert!(crate::fixtures::parsed(SHORT).is_ok());
        for (key, typo) in [
            ("spec:", "sepc:"),
            ("  correct:", "  corect:"),
            ("    http:\n", "    htpp:\n"),
            ("create:", "craete:"),
            ("  read:", "  raed:"),
            ("key:", "keys:"),
        ] {
            let mistakes = crate::fixtures::parsed(&SHORT.replacen(key, typo, 1)).map(drop).unwrap_err();
            assert!(matches!(&*mistakes, [one] if one.contains("did you mean")), "{typo}: {mistakes:#?}");
        }
    }
}
