//! The places where targets have or had objects, as noted on the Lease.
//!
//! A noted selection speaks of a kind and namespaces and not of labels: labels change on objects, and whoever looks again for what
//! was left looks at them all.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::client::KindName;
use crate::client::ResolvedKind;
use crate::kinds::{KindError, locate_served_kind};
use drift_api::identity::ScopeId;
use drift_language::{ObjectSelection, Target};

/// The place where one target has or had objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
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

impl Selection {
    /// Returns the selection of a target.
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
        KindName::new(&self.api_version, &self.kind)
    }

    /// The scope of the target's identities, if the note says it.
    #[must_use]
    pub fn identity_scope(&self) -> Option<ScopeId> {
        self.scope.as_deref().and_then(ScopeId::parse)
    }

    /// Returns true if an object of that kind in that namespace (`None`: of a cluster-scoped kind) may be one of its objects.
    #[must_use]
    pub fn covers(&self, kind: &KindName, namespace: Option<&str>) -> bool {
        let is_inside = |namespace: &str| self.namespaces.iter().any(|one| one == namespace);
        self.kind_name() == *kind && (self.namespaces.is_empty() || namespace.is_none_or(is_inside))
    }

    /// Returns true if it is all of that kind and those namespaces that a target has now, labels aside.
    #[must_use]
    pub fn is_all_of(&self, now: &ObjectSelection) -> bool {
        self.api_version == now.api_version && self.kind == now.kind && self.namespaces == now.namespaces
    }
}

/// All that one program has noted: each selection, and the ConfigMap that last had its target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selections {
    config_maps: BTreeMap<Selection, String>,
}

/// One entry of the annotation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    config_map: String,
    #[serde(flatten)]
    selection: Selection,
}

impl Selections {
    /// Reads an annotation. What cannot be read is left out, since everything else stays as true as it was; gives how
    /// many entries that were.
    #[must_use]
    pub fn parse(text: &str) -> (Self, usize) {
        let Ok(entries) = serde_json::from_str::<Vec<serde_json::Value>>(text) else { return (Self::default(), 1) };
        let mut selections = Self::default();
        let mut unreadable = 0;
        for entry in entries {
            match serde_json::from_value(entry) {
                Ok(Entry { config_map, selection }) => _ = selections.config_maps.insert(selection, config_map),
                Err(_) => unreadable += 1,
            }
        }
        (selections, unreadable)
    }

    /// Notes a target that is active. What was noted of it without a scope by an earlier program is of this one.
    pub fn add(&mut self, target: &Target) {
        let noted = Selection::of(target);
        self.config_maps.remove(&Selection { scope: None, ..noted.clone() });
        self.config_maps.insert(noted, target.document.config_map.clone());
    }

    /// Strikes a note out.
    pub fn remove(&mut self, selection: &Selection) {
        self.config_maps.remove(selection);
    }

    /// Returns true if the selection is noted.
    #[must_use]
    pub fn has(&self, selection: &Selection) -> bool {
        self.config_maps.contains_key(selection)
    }

    /// Each selection with its ConfigMap.
    pub fn iter(&self) -> impl Iterator<Item = (&Selection, &str)> {
        self.config_maps.iter().map(|(selection, config_map)| (selection, config_map.as_str()))
    }

    /// The selections of one kind.
    pub fn of_kind<'a>(&'a self, kind: &'a KindName) -> impl Iterator<Item = &'a Selection> + Clone {
        self.config_maps.keys().filter(move |selection| selection.kind_name() == *kind)
    }

    /// Finds a noted kind in a version that the cluster serves.
    ///
    /// # Errors
    /// [`KindError`]; `Missing` where no served version has it.
    pub async fn locate(&self, client: &kube::Client, kind: &KindName) -> Result<ResolvedKind, KindError> {
        let noted = self.of_kind(kind).map(|selection| selection.api_version.as_str());
        locate_served_kind(client, &kind.group, &kind.kind, noted).await
    }
}

/// The namespaces that these selections reach; empty means all.
#[must_use]
pub fn namespaces_of<'a>(selections: impl Iterator<Item = &'a Selection> + Clone) -> Vec<String> {
    if selections.clone().any(|selection| selection.namespaces.is_empty()) {
        return Vec::new();
    }
    let all: BTreeSet<&String> = selections.flat_map(|selection| &selection.namespaces).collect();
    all.into_iter().cloned().collect()
}

impl std::fmt::Display for Selections {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entry = |(selection, config_map): (&Selection, &String)| Entry {
            config_map: config_map.clone(),
            selection: selection.clone(),
        };
        let entries: Vec<Entry> = self.config_maps.iter().map(entry).collect();
        formatter.write_str(&serde_json::to_string(&entries).unwrap_or_default())
    }
}
