//! Finds versions of a kind through which a write changes other fields of the stored object.
//!
//! Such a version is never written. Discovery names the stored version, and the published schemas show what the other
//! one lacks. Only if something would be lost, the CustomResourceDefinition is read, because a conversion webhook keeps
//! what a schema lacks.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::client::{self, CALL_DEADLINE, CallError, FORBIDDEN, ResolvedKind};
use crate::kinds::definition::{Defined, defined};
use crate::kinds::discovery::{ServedKind, served_versions};
use crate::kinds::lost_fields::{LostFields, lost_fields};
use crate::kinds::schema::Schema;
use crate::kinds::{KindError, discover_kind, schema_document};

/// The path of CustomResourceDefinitions.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A version through which a write changes other fields of the stored object. Its display says which, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyVersion {
    pub(super) group: String,
    pub(super) plural: String,
    /// The version that would be written.
    pub(super) version: String,
    pub(super) loss: Loss,
}

/// Knowledge about a loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The stored version has more fields, or other defaults.
    Certain {
        /// The stored version.
        stored: String,
        /// False if no write can go through the stored version.
        is_served: bool,
        fields: LostFields,
    },
    /// As above, unless a webhook converts. The definition may not be read.
    Unconverted { stored: String, fields: LostFields },
    /// No served version is the stored one, and the definition may not be read.
    Unknown,
}

impl LossyVersion {
    /// The kind in the stored version, if that is served.
    pub(super) fn stored_kind(&self, written: &ResolvedKind) -> Option<ResolvedKind> {
        match &self.loss {
            Loss::Certain { stored, is_served: true, .. } | Loss::Unconverted { stored, .. } => {
                Some(in_version(written, stored))
            }
            Loss::Certain { .. } | Loss::Unknown => None,
        }
    }
}

impl std::fmt::Display for LossyVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { group, plural, version, loss } = self;
        let loses = |stored: &str, served: &str, fields: &LostFields| {
            let sentence = fields.sentence();
            format!("{plural}.{group} are stored as {stored}{served}, and each write through {version} {sentence}")
        };
        let grant = format!("grant `get` on customresourcedefinitions {plural}.{group}");
        match loss {
            Loss::Certain { stored, is_served: true, fields } => {
                write!(formatter, "{}: write apiVersion {group}/{stored}", loses(stored, "", fields))
            }
            Loss::Certain { stored, is_served: false, fields } => {
                let lost = loses(stored, ", which is not served", fields);
                write!(formatter, "{lost}: serve {stored}, and write apiVersion {group}/{stored}")
            }
            Loss::Unconverted { stored, fields } => {
                let lost = loses(stored, "", fields);
                write!(
                    formatter,
                    "{lost}, unless a webhook converts them: write apiVersion {group}/{stored}, or {grant} to find out"
                )
            }
            Loss::Unknown => write!(
                formatter,
                "{plural}.{group} are stored in a version that is not served, and a write through {version} may remove \
                 fields: {grant} to find out"
            ),
        }
    }
}

/// Returns the reason for which no write may go through this version of a kind. `None` if a write changes no other field,
/// or that cannot be known, because an aggregated API stores the kind.
///
/// # Errors
/// [`KindError`], if the cluster does not say. Never `Missing`, because the kind is served.
pub(crate) async fn lossy_version(
    client: &kube::Client,
    served: &ServedKind,
    document: Option<&Value>,
) -> Result<Option<LossyVersion>, KindError> {
    let ApiResource { group, version, api_version, plural, .. } = &served.kind.resource;
    if !may_be_custom(group) || served.is_stored_as(api_version) {
        return Ok(None);
    }
    let fetched = match document {
        Some(_) => None,
        None => Some(published_schema(client, &served.kind).await?),
    };
    let schema = Schema { document: document.or(fetched.as_ref()).unwrap_or(&Value::Null), kind: &served.kind };
    let Some(written) = schema.of_custom_kind() else { return Ok(None) };
    let versions = served_versions(client, group).await?;
    let stored = versions.iter().find(|version| served.is_stored_as(version));
    let loss = match stored.and_then(|stored| stored.split_once('/')) {
        None => Loss::Unknown,
        Some((_, stored)) => {
            let kind = in_version(&served.kind, stored);
            let document = published_schema(client, &kind).await?;
            let schema = Schema { document: &document, kind: &kind };
            let fields = lost_fields(written, schema.of_kind().ok_or_else(|| unpublished(&kind))?);
            if fields.is_empty() {
                return Ok(None);
            }
            Loss::Unconverted { stored: stored.to_owned(), fields }
        }
    };
    let name = format!("{plural}.{group}");
    match read_definition(client, &name).await {
        Ok(definition) => Ok(defined(&definition).and_then(|defined| lossy_by_definition(&defined, version))),
        // An aggregated API converts in code.
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) if error.code() == Some(FORBIDDEN) => {
            let (group, plural, version) = (group.clone(), plural.clone(), version.clone());
            Ok(Some(LossyVersion { group, plural, version, loss }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the reason for which no write may go through a version. `None` also if it is not served.
pub(super) fn lossy_by_definition(definition: &Defined, version: &str) -> Option<LossyVersion> {
    let written = definition.served(version).filter(|_| !definition.is_converted)?;
    let stored = definition.versions.as_array()?.iter().find(|entry| entry["storage"] == true)?;
    let name = stored["name"].as_str().filter(|name| *name != version)?;
    let [written, stored_schema] = [written, stored].map(|entry| &entry["schema"]["openAPIV3Schema"]);
    let fields = lost_fields(written, stored_schema);
    if fields.is_empty() {
        return None;
    }
    let loss = Loss::Certain { stored: name.to_owned(), is_served: stored["served"] != false, fields };
    let (group, plural, version) = (definition.group.clone(), definition.plural.clone(), version.to_owned());
    Some(LossyVersion { group, plural, version, loss })
}

/// Resolves a kind, and returns the reason for which no write may go through this version of it. `None` also if it is not
/// served.
///
/// # Errors
/// [`KindError`], if the cluster does not say.
pub async fn find_lossy_version(
    client: &kube::Client,
    api_version: &str,
    kind: &str,
) -> Result<Option<LossyVersion>, KindError> {
    if !may_be_custom(api_version.split_once('/').map_or("", |(group, _)| group)) {
        return Ok(None);
    }
    match discover_kind(client, api_version, kind).await? {
        Some(served) => lossy_version(client, &served, None).await,
        None => Ok(None),
    }
}

/// The group of every CustomResourceDefinition has a dot. The API server converts the kinds of other groups in code.
fn may_be_custom(group: &str) -> bool {
    group.contains('.')
}

/// Returns the document with the schema of a kind that is served.
async fn published_schema(client: &kube::Client, kind: &ResolvedKind) -> Result<Value, KindError> {
    schema_document(client, &kind.resource).await?.ok_or_else(|| unpublished(kind))
}

fn unpublished(kind: &ResolvedKind) -> KindError {
    let ApiResource { api_version, kind, .. } = &kind.resource;
    KindError::Unavailable(format!("{api_version} {kind} publishes no schema"))
}

async fn read_definition(client: &kube::Client, name: &str) -> Result<Value, CallError> {
    let request = http::Request::get(format!("{DEFINITIONS}/{name}")).body(Vec::new());
    client::request(client, CALL_DEADLINE, request?).await
}

fn in_version(kind: &ResolvedKind, version: &str) -> ResolvedKind {
    let ApiResource { group, kind: name, plural, .. } = &kind.resource;
    let named = GroupVersionKind::gvk(group, version, name);
    ResolvedKind { resource: ApiResource::from_gvk_with_plural(&named, plural), namespaced: kind.namespaced }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests;
