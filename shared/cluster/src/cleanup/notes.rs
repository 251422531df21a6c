//! The notes: where each target has, or had, objects, as they stand on the Lease.
//!
//! A note speaks of a kind and namespaces and not of labels: labels change on objects, and whoever looks again for what
//! was left looks at them all. This file must not know what is in force.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kinds::{KindError, ResolvedKind, locate_served_kind};
use drift_model::identity::ScopeId;
use drift_target::{ObjectSelection, Target};

/// A kind of objects, whatever the version: an object is the same in all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    /// The API group; empty for the core group.
    pub group: String,
    /// For example `Proxy`.
    pub kind: String,
}

impl KindName {
    /// The kind that a selection speaks of.
    #[must_use]
    pub fn of(selection: &ObjectSelection) -> Self {
        Self { group: selection.group().to_owned(), kind: selection.kind.clone() }
    }
}

/// Where one target has, or had, objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The target's name.
    pub target: String,
    /// As the target says.
    pub api_version: String,
    /// As the target says.
    pub kind: String,
    /// Only these namespaces; empty means all.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// The scope of the target's identities, in which its objects may have claimed something; `None` where the program
    /// that wrote the note said nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl Scope {
    /// Where a target has objects.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let ObjectSelection { api_version, kind, namespaces, .. } = &target.objects;
        let (api_version, kind, namespaces) = (api_version.clone(), kind.clone(), namespaces.clone());
        let scope = Some(target.scope.id.to_string());
        Self { target: target.name.clone(), api_version, kind, namespaces, scope }
    }

    /// The kind of its objects.
    #[must_use]
    pub fn kind_name(&self) -> KindName {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        KindName { group: group.to_owned(), kind: self.kind.clone() }
    }

    /// The scope of the target's identities, if the note says it.
    #[must_use]
    pub fn identity_scope(&self) -> Option<ScopeId> {
        self.scope.as_deref().and_then(ScopeId::parse)
    }

    /// Whether an object of that kind in that namespace (`None`: of a cluster-scoped kind) may be one of its objects.
    #[must_use]
    pub fn covers(&self, kind: &KindName, namespace: Option<&str>) -> bool {
        let is_inside = |namespace: &str| self.namespaces.iter().any(|one| one == namespace);
        self.kind_name() == *kind && (self.namespaces.is_empty() || namespace.is_none_or(is_inside))
    }

    /// Whether a selection reaches everywhere that this scope does, labels aside.
    #[must_use]
    pub fn is_within(&self, selection: &ObjectSelection) -> bool {
        let is_everywhere = selection.namespaces.is_empty();
        let all_namespaces =
            !self.namespaces.is_empty() && self.namespaces.iter().all(|one| selection.namespaces.contains(one));
        self.kind_name() == KindName::of(selection) && (is_everywhere || all_namespaces)
    }
}

/// All notes of one program: each scope, and the ConfigMap that last had its target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    config_maps: BTreeMap<Scope, String>,
}

/// One entry of the annotation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    config_map: String,
    #[serde(flatten)]
    scope: Scope,
}

impl Notes {
    /// Reads an annotation. What cannot be read is left out, since everything else stays as true as it was; gives how
    /// many entries that were.
    #[must_use]
    pub fn parse(text: &str) -> (Self, usize) {
        let Ok(entries) = serde_json::from_str::<Vec<serde_json::Value>>(text) else { return (Self::default(), 1) };
        let mut notes = Self::default();
        let mut unreadable = 0;
        for entry in entries {
            match serde_json::from_value(entry) {
                Ok(Entry { config_map, scope }) => _ = notes.config_maps.insert(scope, config_map),
                Err(_) => unreadable += 1,
            }
        }
        (notes, unreadable)
    }

    /// Notes a target that is in force. What was noted of it without a scope by an earlier program is of this one.
    pub fn add(&mut self, target: &Target) {
        let noted = Scope::of(target);
        self.config_maps.remove(&Scope { scope: None, ..noted.clone() });
        self.config_maps.insert(noted, target.document.config_map.clone());
    }

    /// Strikes a note out.
    pub fn remove(&mut self, scope: &Scope) {
        self.config_maps.remove(scope);
    }

    /// Whether the scope is noted.
    #[must_use]
    pub fn has(&self, scope: &Scope) -> bool {
        self.config_maps.contains_key(scope)
    }

    /// Each scope with its ConfigMap.
    pub fn iter(&self) -> impl Iterator<Item = (&Scope, &str)> {
        self.config_maps.iter().map(|(scope, config_map)| (scope, config_map.as_str()))
    }

    /// The ConfigMap that last had the scope's target.
    #[must_use]
    pub fn config_map(&self, scope: &Scope) -> Option<&str> {
        self.config_maps.get(scope).map(String::as_str)
    }

    /// The scopes of one kind.
    pub fn of_kind<'a>(&'a self, kind: &'a KindName) -> impl Iterator<Item = &'a Scope> {
        self.config_maps.keys().filter(move |scope| scope.kind_name() == *kind)
    }

    /// Finds a noted kind in a version that the cluster serves.
    ///
    /// # Errors
    /// [`KindError`]; `Missing` where no served version has it.
    pub async fn locate(&self, client: &kube::Client, kind: &KindName) -> Result<ResolvedKind, KindError> {
        let noted = self.of_kind(kind).map(|scope| scope.api_version.as_str());
        locate_served_kind(client, (&kind.group, &kind.kind), noted).await
    }

    /// The namespaces in which objects of a kind may carry something of ours; empty means all.
    #[must_use]
    pub fn namespaces(&self, kind: &KindName) -> Vec<String> {
        if self.of_kind(kind).any(|scope| scope.namespaces.is_empty()) {
            return Vec::new();
        }
        let mut all: Vec<String> = self.of_kind(kind).flat_map(|scope| scope.namespaces.iter().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }
}

impl std::fmt::Display for Notes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entry =
            |(scope, config_map): (&Scope, &String)| Entry { config_map: config_map.clone(), scope: scope.clone() };
        let entries: Vec<Entry> = self.config_maps.iter().map(entry).collect();
        formatter.write_str(&serde_json::to_string(&entries).unwrap_or_default())
    }
}
