//! The names of cluster-wide objects, which a second installation in a cluster must not share.

use serde_json::{Value, json};

/// Maximum length of a suffix: that of the chart's `clusterNameSuffix`.
const MAX_SUFFIX: usize = 40;

/// Parses the end of names: words of a-z and 0-9, each after a hyphen.
///
/// # Errors
/// A suffix that the API server would refuse in a name.
pub(super) fn parse_suffix(text: &str) -> Result<String, String> {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
    let is_suffix = text.len() <= MAX_SUFFIX && text.strip_prefix('-').is_some_and(|rest| rest.split('-').all(is_word));
    let wanted =
        || format!("a suffix is a hyphen and words of a-z and 0-9, as -team-b, of at most {MAX_SUFFIX} letters");
    if is_suffix { Ok(text.to_owned()) } else { Err(wanted()) }
}

/// Appends a suffix to the name of a cluster-wide object, and to the names of such objects that an object refers to.
pub(super) fn append_suffix(object: &mut Value, suffix: &str) {
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut fields = vec!["/spec/policyName", "/spec/template/spec/priorityClassName"];
    // Not the demonstration's CRD, whose name the API server prescribes.
    if ["ClusterRole", "ValidatingAdmission", "PriorityClass"].iter().any(|start| kind.starts_with(start)) {
        fields.push("/metadata/name");
    }
    if object["roleRef"]["kind"] == "ClusterRole" {
        fields.push("/roleRef/name");
    }
    for field in fields {
        if let Some(name) = object.pointer_mut(field) {
            *name = json!(format!("{}{suffix}", name.as_str().unwrap_or_default()));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::install::overlay::{Overlay, rendered};
    use std::collections::BTreeSet;

    const NAMESPACED: [&str; 9] = [
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
    ];

    #[test]
    fn a_suffix_reaches_each_cluster_wide_name_and_reference() {
        for overlay in [Overlay::Production, Overlay::ObserveOnly, Overlay::Webhooks, Overlay::Demo] {
            let before = rendered(overlay, true);
            let mut after = before.clone();
            after.iter_mut().for_each(|object| append_suffix(object, "-team-b"));
            let names: BTreeSet<_> =
                after.iter().map(|object| format!("{} {}", object["kind"], object["metadata"]["name"])).collect();
            for object in &after {
                let kind = object["kind"].as_str().unwrap();
                let has_suffix = object["metadata"]["name"].as_str().unwrap().ends_with("-team-b");
                let keeps = NAMESPACED.contains(&kind) || ["CustomResourceDefinition", "Namespace"].contains(&kind);
                assert_eq!(has_suffix, !keeps, "{object}");
                let referred = [
                    ("ValidatingAdmissionPolicy", &object["spec"]["policyName"]),
                    ("PriorityClass", &object["spec"]["template"]["spec"]["priorityClassName"]),
                    (object["roleRef"]["kind"].as_str().unwrap_or_default(), &object["roleRef"]["name"]),
                ];
                for (kind, name) in referred.into_iter().filter(|(_, name)| name.is_string()) {
                    assert!(names.contains(&format!("\"{kind}\" {name}")), "{object} refers to {name}");
                }
            }
            assert_eq!(json!(after).to_string().replace("-team-b", ""), json!(before).to_string());
        }
    }

    #[test]
    fn a_suffix_has_words_after_hyphens() {
        for (text, is_good) in
            [("-b", true), ("-team-b2", true), ("", false), ("b", false), ("-B", false), ("--b", false)]
        {
            assert_eq!(parse_suffix(text).is_ok(), is_good, "{text}");
        }
        assert!(parse_suffix(&format!("-{}", "b".repeat(40))).is_err());
    }
}
