//! The kind that a word means, as for kubectl: kind, plural, singular or short name, with an optional group or version
//! and group.

use std::collections::BTreeSet;

use serde_json::Value;

/// A kind in one version, as the API server lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServedKind {
    /// Empty for the core group.
    pub(crate) group: String,
    /// For example `v1`.
    pub(crate) version: String,
    /// For example `Proxy`.
    pub(crate) kind: String,
    /// For example `proxies`.
    pub(crate) plural: String,
    /// For example `proxy`; may be empty.
    pub(crate) singular: String,
    /// For example `px`.
    pub(crate) short_names: Vec<String>,
    /// True if objects live in namespaces.
    pub(crate) is_namespaced: bool,
    /// True if kubectl would take another version for the name alone.
    pub(crate) needs_version: bool,
}

impl ServedKind {
    /// Returns true if it is meant by this word.
    #[must_use]
    pub(crate) fn is_called(&self, word: &str) -> bool {
        let (name, place) = word.split_once('.').unwrap_or((word, ""));
        let names = [&self.kind, &self.plural, &self.singular].into_iter().chain(&self.short_names);
        let is_named = names.into_iter().any(|known| !name.is_empty() && known.eq_ignore_ascii_case(name));
        let versioned = format!("{}.{}", self.version, self.group);
        is_named && (place.is_empty() || place == self.group || place == versioned.trim_end_matches('.'))
    }

    /// A name that kubectl always understands.
    #[must_use]
    pub(crate) fn full_name(&self) -> String {
        if self.needs_version {
            return format!("{}.{}.{}", self.plural, self.version, self.group);
        }
        self.plural_with_group()
    }

    /// The name of its CustomResourceDefinition.
    #[must_use]
    pub(crate) fn plural_with_group(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// The kind that is meant by a word: of several the first, as the API server orders groups and versions.
#[must_use]
pub(crate) fn find_kind<'k>(served: &'k [ServedKind], word: &str) -> Option<&'k ServedKind> {
    served.iter().find(|kind| kind.is_called(word))
}

/// The names of all kinds that are meant by a word, each in any of its versions.
#[must_use]
pub(crate) fn names_of(served: &[ServedKind], word: &str) -> Vec<String> {
    let is_meant = |kind: &&ServedKind| kind.is_called(word);
    let mut names: Vec<String> = served.iter().filter(is_meant).map(|kind| kind.plural_with_group()).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Returns true for a CustomResourceDefinition.
#[must_use]
pub(crate) fn is_definition(manifest: &Value) -> bool {
    manifest["kind"] == "CustomResourceDefinition"
}

/// The served versions of a definition, the stored one first.
#[must_use]
pub(crate) fn served_versions(manifest: &Value) -> Vec<(ServedKind, &Value)> {
    let (spec, names) = (&manifest["spec"], &manifest["spec"]["names"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] != false);
    let mut served: Vec<&Value> = listed.collect();
    served.sort_by_key(|version| version["storage"] != true);
    let in_version = |version: &Value| ServedKind {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        kind: text(&names["kind"]),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        short_names: names["shortNames"].as_array().into_iter().flatten().map(text).collect(),
        is_namespaced: spec["scope"] != "Cluster",
        needs_version: false,
    };
    served.into_iter().map(|version| (in_version(version), version)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(group: &str, version: &str) -> ServedKind {
        ServedKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
            singular: "proxy".to_owned(),
            short_names: vec!["px".to_owned()],
            is_namespaced: true,
            needs_version: false,
        }
    }

    #[test]
    fn a_kind_is_called_as_for_kubectl() {
        let all = [served("demo.example", "v1"), served("demo.example", "v1beta1"), served("other.example", "v1")];
        let found = |word: &str| find_kind(&all, word).map(|kind| format!("{}/{}", kind.group, kind.version));
        for word in ["Proxy", "proxy", "proxies", "PX", "proxies.demo.example", "px.v1.demo.example"] {
            assert_eq!(found(word).as_deref(), Some("demo.example/v1"), "{word}");
        }
        assert_eq!(found("proxies.v1beta1.demo.example").as_deref(), Some("demo.example/v1beta1"));
        assert_eq!(found("proxies.other.example").as_deref(), Some("other.example/v1"));
        for word in ["", "prox", "proxies.third.example", ".demo.example"] {
            assert_eq!(found(word), None, "{word}");
        }
        let stored = ServedKind { needs_version: true, ..served("demo.example", "v1beta1") };
        assert_eq!(stored.full_name(), "proxies.v1beta1.demo.example");
        assert_eq!(all[0].full_name(), "proxies.demo.example");
        assert!(served("", "v1").is_called("px.v1"), "the core group has no name");
    }
}
