//! `objects`: the Kubernetes objects of a target.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::spec::selector::LabelSelector;
use crate::values::names::{is_api_version, is_dns_label, is_kind};
use crate::yaml::{Fields, Node, Reader};

/// Maximum namespaces of one target. Each is a separate watch; for more, use a selector.
const MAX_NAMESPACES: usize = 100;

/// The Secret kind of the core group.
const SECRET: &str = "Secret";

/// Selects the Kubernetes objects of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectSelection {
    /// For example `demo.driftpoller.dev/v1`.
    pub api_version: String,
    /// For example `Proxy`.
    pub kind: String,
    /// Only these namespaces. Empty means all, which is the only choice for a cluster-scoped kind.
    pub namespaces: Vec<String>,
    /// Label selector, matched in-process.
    pub label_selector: LabelSelector,
}

impl ObjectSelection {
    /// The API group. Empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns true if it selects objects of that kind, in any version of the group.
    #[must_use]
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        self.group() == group && self.kind == kind
    }

    /// Returns true if it selects an object of its kind with this namespace and these labels. An object without a
    /// namespace is cluster-scoped, so namespaces do not apply to it.
    #[must_use]
    pub fn selects(&self, namespace: Option<&str>, labels: Option<&Value>) -> bool {
        let is_inside = |namespace: &str| self.namespaces.iter().any(|one| one == namespace);
        let is_in_scope = self.namespaces.is_empty() || namespace.is_none_or(is_inside);
        is_in_scope && self.label_selector.matches(labels)
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

pub(crate) fn read_objects(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<ObjectSelection> {
    let fields = reader.fields(node, place, &["apiVersion", "kind", "namespaces", "labelSelector"])?;
    let api_version = read_api_version(reader, &fields);
    let kind = read_kind(reader, &fields);
    let namespaces = reader.or(&fields, "namespaces", Vec::new(), read_namespaces);
    let label_selector = reader.or(&fields, "labelSelector", LabelSelector::default(), |reader, node, place| {
        let text = reader.literal(node, place)?;
        LabelSelector::parse(text).map_or_else(|error| reader.refuse(node.at, format!("{place}: {error}")), Some)
    });
    Some(ObjectSelection {
        api_version: api_version?,
        kind: kind?,
        namespaces: namespaces?,
        label_selector: label_selector?,
    })
}

/// Reads the group and version of a kind.
fn read_api_version(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let (node, place) = (reader.required(fields, "apiVersion")?, fields.place("apiVersion"));
    let text = reader.literal(node, &place)?;
    if !is_api_version(text) {
        return reader.refuse(node.at, format!("{place}: `{text}` is no API version; write group/version, or v1"));
    }
    Some(text.to_owned())
}

/// Reads the kind, without its group.
fn read_kind(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let (node, place) = (reader.required(fields, "kind")?, fields.place("kind"));
    let text = reader.literal(node, &place)?;
    if !is_kind(text) {
        let message = format!("{place}: `{text}` is no kind; write it as in the CRD, for example Proxy");
        return reader.refuse(node.at, message);
    }
    Some(text.to_owned())
}

/// Reads the kind of a cluster object that is the external resource: any kind but Secrets, both literal.
///
/// A read state is compared and its differences are displayed, so Secrets are never read this way. They are not written
/// either, because templates would carry their values through objects.
pub(crate) fn read_cluster_kind(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let (api_version, kind) = (read_api_version(reader, fields), read_kind(reader, fields));
    let (api_version, kind) = (api_version?, kind?);
    if kind == SECRET && !api_version.contains('/') {
        let at = fields.get("kind").map_or(fields.at(), |node| node.at);
        let message = format!("{}: a Secret is never read or written as a resource", fields.place("kind"));
        return reader.refuse(at, message);
    }
    Some((api_version.into(), kind.into()))
}

fn read_namespaces(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<String>> {
    let mut known = HashSet::new();
    let mut namespaces = reader.list(node, place, 1..=MAX_NAMESPACES, |reader, item, place| {
        let name = reader.literal(item, place)?;
        if !is_dns_label(name) {
            return reader.refuse(item.at, format!("{place}: `{name}` is no namespace"));
        }
        if !known.insert(name.to_owned()) {
            return reader.refuse(item.at, format!("{place}: `{name}` is written twice"));
        }
        Some(name.to_owned())
    })?;
    namespaces.sort();
    Some(namespaces)
}
