//! `objects`: the Kubernetes objects of a target.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::section::{Leaf as _, Section, distinct, literal, words};
use crate::spec::selector::LabelSelector;
use crate::values::names::{is_api_version, is_dns_label, is_kind};
use crate::yaml::{Fields, Reader};
use drift_api::names::{GROUP, REPORT_KIND};

/// Maximum namespaces of one target. Each is a separate watch; for more, use a selector.
const MAX_NAMESPACES: usize = 100;

/// The Secret kind of the core group.
const SECRET: &str = "Secret";

/// Selects the Kubernetes objects of a target.
#[derive(Clone, Debug, PartialEq, Section)]
#[section(check = Self::suitable)]
pub struct ObjectSelection {
    /// Their group and version: demo.example/v1.
    #[key(literal(parse_api_version))]
    pub api_version: String,
    /// Their kind, as in the CRD.
    #[key(literal(parse_kind))]
    pub kind: String,
    /// At most 100. Default: all.
    #[key(distinct(1..=MAX_NAMESPACES, literal(parse_namespace)), default)]
    pub namespaces: Vec<String>,
    /// As in kubectl: tier=prod,env in (a, b). Default: all.
    #[key(literal(|text| LabelSelector::parse(text).map_err(|error| error.to_string())), default)]
    pub label_selector: LabelSelector,
    /// Where both conditions are kept: Object or Report. Default: Object.
    #[key(words(PLACES), default = ConditionsPlace::Object)]
    pub conditions: ConditionsPlace,
}

/// The values of `conditions`.
const PLACES: &[(&str, ConditionsPlace)] = &[("Object", ConditionsPlace::Object), ("Report", ConditionsPlace::Report)];

/// The place of both conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConditionsPlace {
    /// `.status.conditions` of the object itself.
    #[default]
    Object,
    /// A `DriftReport` beside the object, for kinds whose status cannot keep them.
    Report,
}

/// Formats a kind with its group: `DnsRecord.net.example`, or `Service` for the core group.
#[must_use]
pub fn kind_and_group(kind: &str, api_version: &str) -> String {
    match api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    }
}

impl ObjectSelection {
    /// Two selections are equal however their namespaces are ordered. Reports are no objects of a target, because each
    /// would get a report, which is an object of the target again.
    fn suitable(mut self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Self> {
        if self.is_of(GROUP, REPORT_KIND) {
            let at = fields.get("kind").map_or(fields.at(), |node| node.at);
            let message = format!("{}: a {REPORT_KIND} is about an object; select that object", fields.place("kind"));
            return reader.refuse(at, message);
        }
        self.namespaces.sort();
        Some(self)
    }

    /// The API group. Empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The kind as commands take it, with its group, because another group may have the kind too.
    #[must_use]
    pub fn kind_word(&self) -> String {
        kind_and_group(&self.kind, &self.api_version).to_lowercase()
    }

    /// Returns true if it selects objects of that kind, in any version of the group.
    #[must_use]
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        self.group() == group && self.kind == kind
    }

    /// Returns true if the conditions of its objects are kept in reports beside them.
    #[must_use]
    pub fn keeps_reports(&self) -> bool {
        self.conditions == ConditionsPlace::Report
    }

    /// Returns true if it includes a namespace. An object without one is cluster-scoped, so namespaces do not apply to it.
    #[must_use]
    pub fn includes(&self, namespace: Option<&str>) -> bool {
        let is_inside = |namespace: &str| self.namespaces.iter().any(|one| one == namespace);
        self.namespaces.is_empty() || namespace.is_none_or(is_inside)
    }

    /// Returns true if it selects an object of its kind with this namespace and these labels.
    #[must_use]
    pub fn selects(&self, namespace: Option<&str>, labels: Option<&Value>) -> bool {
        self.includes(namespace) && self.label_selector.matches(labels)
    }

    /// Returns true if both provably select a common object: the same kind, a common namespace, and equal selectors or
    /// one that selects everything. Other overlaps are detected at run time.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let same_kind = self.is_of(other.group(), &other.kind);
        let common_namespace = self.namespaces.is_empty()
            || other.namespaces.is_empty()
            || self.namespaces.iter().any(|namespace| other.namespaces.contains(namespace));
        let common_labels = self.label_selector.is_empty()
            || other.label_selector.is_empty()
            || self.label_selector == other.label_selector;
        same_kind && common_namespace && common_labels
    }
}

fn parse_api_version(text: &str) -> Result<String, String> {
    match is_api_version(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is no API version; write group/version, or v1")),
    }
}

fn parse_kind(text: &str) -> Result<String, String> {
    match is_kind(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is no kind; write it as in the CRD, for example Proxy")),
    }
}

fn parse_namespace(text: &str) -> Result<String, String> {
    if is_dns_label(text) { Ok(text.to_owned()) } else { Err(format!("`{text}` is no namespace")) }
}

/// The kind of a cluster object that is the external resource: any kind but Secrets.
///
/// A read state is compared and its differences are displayed, so Secrets are never read this way. They are not written
/// either, because templates would carry their values through objects.
#[derive(Clone, Debug, PartialEq, Eq, Section)]
#[section(check = Self::refuse_secrets)]
pub struct ClusterKind {
    /// Its group and version: apps/v1.
    #[key(literal(parse_api_version).map(Arc::<str>::from))]
    pub api_version: Arc<str>,
    /// Its kind, any but Secret.
    #[key(literal(parse_kind).map(Arc::<str>::from), name = "kind")]
    pub name: Arc<str>,
}

impl ClusterKind {
    fn refuse_secrets(self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Self> {
        if &*self.name == SECRET && !self.api_version.contains('/') {
            let at = fields.get("kind").map_or(fields.at(), |node| node.at);
            let message = format!("{}: a Secret is never read or written as a resource", fields.place("kind"));
            return reader.refuse(at, message);
        }
        Some(self)
    }

    /// The group. Empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::fixtures::proxies::TEXT;
    use crate::yaml::problem::DocumentName;
    use crate::{Problem, parse_document};

    #[test]
    fn a_report_is_no_object_of_a_target() {
        let name = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
        let refused = |text: &str| -> Vec<String> {
            let problems: Vec<Problem> = parse_document(&name, text).err().unwrap_or_default();
            problems.into_iter().map(|problem| problem.message).collect()
        };
        assert!(refused(TEXT).is_empty());
        let start = TEXT.find("apiVersion: demo").or_else(|| TEXT.find("objects:")).unwrap();
        let (head, objects) = TEXT.split_at(start);
        let other = objects.replacen("Proxy", "DriftReport", 1);
        let other = other.replacen(&api_version(), "driftpoller.dev/v1alpha1", 1);
        let told = refused(&format!("{head}{other}"));
        assert!(told.iter().any(|text| text.starts_with("objects.kind: a DriftReport is about an object")), "{told:?}");
    }

    fn api_version() -> String {
        crate::fixtures::proxies::target(TEXT).objects.api_version.clone()
    }
}
