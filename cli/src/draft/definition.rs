//! The kind that a draft is for: one version of a CustomResourceDefinition.

use serde_json::Value;

use crate::kinds::names::{ServedKind, find_kind, is_definition, names_of, served_versions};

/// One version of a CustomResourceDefinition.
#[derive(Debug)]
pub(super) struct Definition {
    /// The kind in this version.
    pub(super) kind: ServedKind,
    /// The whole manifest.
    pub(super) manifest: Value,
    /// The schema of an object.
    pub(super) schema: Value,
}

/// The reason for which a kind has no draft.
#[derive(Debug, thiserror::Error)]
pub(super) enum DefinitionError {
    /// No manifest defines it.
    #[error("no CustomResourceDefinition in {files} defines the kind {word}: {hint}")]
    Missing {
        /// The files that were read.
        files: String,
        /// The kind as it was named.
        word: String,
        /// The kinds that they define, or how to get a definition.
        hint: String,
    },
    /// Kinds of several groups have the name.
    #[error("several kinds are called {word}: write {}", .names.join(" or "))]
    Several {
        /// The kind as it was named.
        word: String,
        /// Their plurals with their groups.
        names: Vec<String>,
    },
    /// Its schema says nothing about the spec.
    #[error(
        "CustomResourceDefinition {name} has no schema of .spec in version {version}: declare the fields at \
         .spec.versions[name={version}].schema.openAPIV3Schema.properties.spec.properties"
    )]
    NoSchema {
        /// The name of the definition.
        name: String,
        /// The version.
        version: String,
    },
}

/// The kind that a word means, if it is not that of several.
///
/// # Errors
/// [`DefinitionError::Several`].
pub(super) fn only_kind<'k>(kinds: &'k [ServedKind], word: &str) -> Result<Option<&'k ServedKind>, DefinitionError> {
    match names_of(kinds, word) {
        names if names.len() > 1 => Err(DefinitionError::Several { word: word.to_owned(), names }),
        _ => Ok(find_kind(kinds, word)),
    }
}

impl Definition {
    /// Finds the definition of a kind, in the version that the word names, else in the stored one.
    ///
    /// # Errors
    /// [`DefinitionError`]; `files` is where the manifests come from.
    pub(super) fn find(manifests: &[Value], word: &str, files: &str) -> Result<Self, DefinitionError> {
        let versions = |one| served_versions(one).into_iter().map(move |(kind, version)| (kind, one, version));
        let defined: Vec<_> = manifests.iter().filter(|one| is_definition(one)).flat_map(versions).collect();
        let kinds: Vec<_> = defined.iter().map(|(kind, ..)| kind.clone()).collect();
        let meant = only_kind(&kinds, word)?;
        let Some((kind, manifest, version)) = defined.iter().find(|(kind, ..)| Some(kind) == meant) else {
            let mut known: Vec<_> = kinds.into_iter().map(|kind| kind.kind).collect();
            known.dedup();
            let hint = match &*known {
                [] => "name the file with its definition by -f, as `kubectl get crd NAME -o yaml` prints it".to_owned(),
                _ => format!("they define {}", known.join(", ")),
            };
            return Err(DefinitionError::Missing { files: files.to_owned(), word: word.to_owned(), hint });
        };
        let schema = &version["schema"]["openAPIV3Schema"];
        let is_declared =
            schema["properties"]["spec"]["properties"].as_object().is_some_and(|fields| !fields.is_empty());
        if !is_declared {
            return Err(DefinitionError::NoSchema { name: kind.full_name(), version: kind.version.clone() });
        }
        Ok(Self { kind: kind.clone(), manifest: (*manifest).clone(), schema: schema.clone() })
    }

    /// The `apiVersion` of an object.
    pub(super) fn api_version(&self) -> String {
        format!("{}/{}", self.kind.group, self.kind.version)
    }
}
