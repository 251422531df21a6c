//! The places where targets have or had objects, as noted on the Lease.
//!
//! A noted selection contains a kind and namespaces but no labels. Labels of objects change, and the search for orphans
//! looks at all objects.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::client::KindName;
use crate::client::ResolvedKind;
use crate::kinds::{KindError, locate_writable_kind};
use drift_api::identity::ScopeId;
use drift_api::short_hash;
use drift_language::{ConditionsPlace, ObjectSelection, Target};

/// The place where one target has or had objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// The target's name.
    pub target: String,
    /// The version in the target.
    pub api_version: String,
    /// The kind in the target.
    pub kind: String,
    /// Only these namespaces. Empty means all.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// The scope of the target's identities, in which its objects may have claims. `None` if an older version
    /// wrote the note, or if the target keeps reports, which have no claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The place of the conditions that the target leaves.
    #[serde(default, skip_serializing_if = "is_on_objects")]
    pub conditions: ConditionsPlace,
}

impl Selection {
    /// Returns the selection of a target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let ObjectSelection { api_version, kind, namespaces, conditions, .. } = &target.objects;
        let (api_version, kind, namespaces) = (api_version.clone(), kind.clone(), namespaces.clone());
        let scope = is_on_objects(conditions).then(|| target.scope.id.to_string());
        Self { target: target.name.clone(), api_version, kind, namespaces, scope, conditions: *conditions }
    }

    /// Returns the kind of its objects.
    #[must_use]
    pub fn kind_name(&self) -> KindName {
        KindName::new(&self.api_version, &self.kind)
    }

    /// Returns the scope of the target's identities, if noted.
    #[must_use]
    pub fn identity_scope(&self) -> Option<ScopeId> {
        self.scope.as_deref().and_then(ScopeId::parse)
    }

    /// Returns true if it may include an object of that kind in that namespace (`None` for a cluster-scoped kind).
    #[must_use]
    pub fn covers(&self, kind: &KindName, namespace: Option<&str>) -> bool {
        let is_inside = |namespace: &str| self.namespaces.iter().any(|one| one == namespace);
        self.kind_name() == *kind && (self.namespaces.is_empty() || namespace.is_none_or(is_inside))
    }

    /// Returns true if its target left reports, and no marks on its objects.
    #[must_use]
    pub fn keeps_reports(&self) -> bool {
        self.conditions == ConditionsPlace::Report
    }

    /// Returns true if it equals the kind, namespaces and place of the conditions that a target has now. Labels are
    /// ignored.
    #[must_use]
    pub fn is_all_of(&self, now: &ObjectSelection) -> bool {
        self.conditions == now.conditions
            && self.api_version == now.api_version
            && self.kind == now.kind
            && self.namespaces == now.namespaces
    }
}

/// What is noted about a selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The last ConfigMap of its target.
    pub config_map: String,
    /// The number of times that the target returned after a person forgot it. The old word of that person is about
    /// another round, so it removes nothing.
    round: u32,
}

impl Note {
    /// Returns the fingerprint by which a person forgets the target: 8 hex digits. Its ConfigMap does not count.
    #[must_use]
    pub fn hash(&self, selection: &Selection) -> String {
        let Selection { target, api_version, kind, namespaces, scope, .. } = selection;
        let scope = scope.as_deref().unwrap_or_default();
        let text = format!("{target} {api_version} {kind} {} {scope} {}", namespaces.join(","), self.round);
        format!("{:08x}", short_hash(&text))
    }
}

/// All notes of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selections {
    notes: BTreeMap<Selection, Note>,
}

/// One entry of the annotation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    config_map: String,
    #[serde(default, skip_serializing_if = "is_first")]
    round: u32,
    #[serde(flatten)]
    selection: Selection,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_on_objects(place: &ConditionsPlace) -> bool {
    *place == ConditionsPlace::Object
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_first(round: &u32) -> bool {
    *round == 0
}

impl Selections {
    /// Parses an annotation. Invalid entries are skipped, because the others remain valid. Returns the number
    /// of skipped entries.
    #[must_use]
    pub fn parse(text: &str) -> (Self, usize) {
        let Ok(entries) = serde_json::from_str::<Vec<serde_json::Value>>(text) else { return (Self::default(), 1) };
        let mut selections = Self::default();
        let mut unreadable = 0;
        for entry in entries {
            match serde_json::from_value(entry) {
                Ok(Entry { config_map, round, selection }) => {
                    selections.notes.insert(selection, Note { config_map, round });
                }
                Err(_) => unreadable += 1,
            }
        }
        (selections, unreadable)
    }

    /// Adds the note of an active target. An older note without a scope gets its scope.
    pub fn add(&mut self, target: &Target) {
        let noted = Selection::of(target);
        let unscoped = self.notes.remove(&Selection { scope: None, ..noted.clone() });
        let note = self.notes.entry(noted).or_insert_with(|| unscoped.unwrap_or_default());
        note.config_map.clone_from(&target.document.config_map);
    }

    /// Begins another round of a target's notes that these hashes name: the target is live again.
    pub fn outlive(&mut self, target: &str, hashes: &str) {
        for (selection, note) in self.notes.iter_mut().filter(|(selection, _)| selection.target == target) {
            while hashes.split(' ').any(|hash| hash == note.hash(selection)) {
                note.round = note.round.saturating_add(1);
            }
        }
    }

    /// Removes a note.
    pub fn remove(&mut self, selection: &Selection) {
        self.notes.remove(selection);
    }

    /// Returns true if the selection is noted.
    #[must_use]
    pub fn has(&self, selection: &Selection) -> bool {
        self.notes.contains_key(selection)
    }

    /// Each selection with its note.
    pub fn iter(&self) -> impl Iterator<Item = (&Selection, &Note)> {
        self.notes.iter()
    }

    /// Returns the selections of one kind.
    pub fn of_kind<'a>(&'a self, kind: &'a KindName) -> impl Iterator<Item = &'a Selection> + Clone {
        self.notes.keys().filter(move |selection| selection.kind_name() == *kind)
    }

    /// Resolves a noted kind in a served version, through which a write changes no other field of the stored objects.
    ///
    /// # Errors
    /// [`KindError`]; `Missing` if no served version has it.
    pub async fn locate(&self, client: &kube::Client, kind: &KindName) -> Result<ResolvedKind, KindError> {
        let noted = self.of_kind(kind).map(|selection| selection.api_version.as_str());
        locate_writable_kind(client, &kind.group, &kind.kind, noted).await
    }
}

/// Returns the namespaces of these selections. Empty means all.
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
        let entry = |(selection, note): (&Selection, &Note)| Entry {
            config_map: note.config_map.clone(),
            round: note.round,
            selection: selection.clone(),
        };
        let entries: Vec<Entry> = self.notes.iter().map(entry).collect();
        formatter.write_str(&serde_json::to_string(&entries).unwrap_or_default())
    }
}
