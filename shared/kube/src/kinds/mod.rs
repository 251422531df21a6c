//! Looks up a target's `apiVersion` and `kind` in the cluster, and checks the kind before it is used.

mod declared;
mod definition;
mod discovery;
mod lossy_version;
mod lost_fields;
mod schema;
mod search;
mod written;

pub(crate) use discovery::{ServedKind, discover_kind};
pub(crate) use lossy_version::lossy_version;
pub use lossy_version::{LossyVersion, find_lossy_version};
pub use schema::lost_field;
pub use search::{KindNews, KindSearch, LOOK_UP_AGAIN, find_kind, in_rounds};
pub(crate) use search::{LOOK_UP_SOON, UNTOLD_LOOKS};
pub use written::WrittenKinds;

use kube::core::ApiResource;
use kube::discovery::verbs;
use serde_json::Value;

use crate::client;
use crate::client::{CallError, LIST_DEADLINE, ResolvedKind};
use declared::{undeclared_fields, undeclared_status};
use discovery::served_versions;
use drift_api::condition::GenerationPlace;
use drift_api::object::field_paths::FieldPaths;
use drift_language::{ConditionsPlace, Target, UnknownField};
use schema::Schema;
use schema::advice::Advice;

/// The reason why a kind cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    /// The cluster does not have it. It may be installed later, so callers retry.
    #[error(
        "the cluster has no kind {kind} in {api_version}: install its CustomResourceDefinition, or correct objects.apiVersion and objects.kind. Capitals count"
    )]
    Missing {
        /// The version in the target.
        api_version: String,
        /// The kind in the target.
        kind: String,
    },
    /// It does not support the conditions, or a write through its version changes fields of stored objects. One sentence for
    /// each required change.
    #[error("{}", .0.join("; "))]
    Unsuitable(Vec<String>),
    /// The API server does not answer or refuses.
    #[error("the kind cannot be looked up: {0}")]
    Unavailable(String),
}

impl From<CallError> for KindError {
    fn from(error: CallError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Resolves the kind of a target, and checks that it can be watched, supports the conditions, and has the fields that
/// the target reads and writes.
///
/// # Errors
/// Returns a [`KindError`].
pub async fn resolve_kind(client: &kube::Client, target: &Target) -> Result<SuitableKind, KindError> {
    let ExaminedKind { kind, generation_place, mut problems, unknown, .. } = examine_kind(client, target).await?;
    problems.extend(unknown.into_iter().map(|field| field.message));
    if problems.is_empty() { Ok(SuitableKind { kind, generation_place }) } else { Err(KindError::Unsuitable(problems)) }
}

/// A kind that can keep the conditions of a target.
#[derive(Clone, Debug)]
pub struct SuitableKind {
    /// The resolved kind.
    pub kind: ResolvedKind,
    /// The place of the generation in the conditions.
    pub generation_place: GenerationPlace,
}

/// A kind, and the parts that it lacks for a target.
#[derive(Clone, Debug)]
pub struct ExaminedKind {
    /// The resolved kind.
    pub kind: ResolvedKind,
    /// The place of the generation in the conditions.
    pub generation_place: GenerationPlace,
    /// The additions that the kind needs to support the conditions, one sentence each, and the fields that a write through
    /// its version would take from stored objects.
    pub problems: Vec<String>,
    /// Facts that keep a verdict from being written for a while, one sentence each.
    pub doubts: Vec<String>,
    /// The fields that the target reads or writes and no object of the kind has.
    pub unknown: Vec<UnknownField>,
    /// The served version in which objects are stored, if a write through the kind's own version changes fields of them.
    pub stored: Option<ResolvedKind>,
    /// The document that contains the kind's schema. Null if the kind has none.
    document: Value,
}

/// Resolves the kind of a target and finds the parts that it lacks.
///
/// # Errors
/// [`KindError`], if the kind cannot be examined.
pub async fn examine_kind(client: &kube::Client, target: &Target) -> Result<ExaminedKind, KindError> {
    let (api_version, kind) = (&target.objects.api_version, &target.objects.kind);
    let served = locate_kind(client, api_version, kind).await?;
    let missing = || KindError::Missing { api_version: api_version.clone(), kind: kind.clone() };
    let document = schema_document(client, &served.kind.resource).await?.ok_or_else(missing)?;
    let lossy = lossy_version(client, &served, Some(&document)).await?;
    Ok(ExaminedKind::by(document, served.kind, lossy, target))
}

impl ExaminedKind {
    /// Finds the missing parts of a kind in its schema document.
    fn by(document: Value, kind: ResolvedKind, lossy: Option<LossyVersion>, target: &Target) -> Self {
        let schema = Schema { document: &document, kind: &kind };
        let advice = Advice::of(target, &kind);
        let (mut problems, unknown) = (place_problems(&schema, target, advice), lacking_fields(&schema, target));
        let stored = lossy.as_ref().and_then(|lossy| lossy.stored_kind(&kind));
        problems.extend(lossy.map(|lossy| lossy.to_string()));
        let (doubts, generation_place) = match target.objects.conditions {
            ConditionsPlace::Object => (schema.doubts(advice), schema.generation_place()),
            // Of the object's own list, from which conditions are only removed. A report has its own place.
            ConditionsPlace::Report => (Vec::new(), GenerationPlace::Field),
        };
        Self { kind, generation_place, problems, doubts, unknown, stored, document }
    }
}

/// Returns everything that prevents the conditions of a kind's objects from being kept in their place.
fn place_problems(schema: &Schema<'_>, target: &Target, advice: Advice) -> Vec<String> {
    match target.objects.conditions {
        ConditionsPlace::Object => schema.problems(advice),
        ConditionsPlace::Report if schema.kind.namespaced => Vec::new(),
        ConditionsPlace::Report => {
            let name = schema.name();
            vec![format!("{name} has no namespaces, and a DriftReport needs one: write objects.conditions: Object")]
        }
    }
}

/// Returns the fields that a target reads or writes and no object of its kind has.
///
/// # Errors
/// [`KindError`], if the kind cannot be examined.
pub async fn unknown_fields(client: &kube::Client, target: &Target) -> Result<Vec<UnknownField>, KindError> {
    Ok(examine_kind(client, target).await?.unknown)
}

fn lacking_fields(schema: &Schema<'_>, target: &Target) -> Vec<UnknownField> {
    // Fields that the target writes are also read. They are reported once, at the key that writes them.
    let is_written = |path: &[String]| matches!(path, [status, name] if status == "status" && target.written_status().any(|(_, field)| field == name));
    let mut read = FieldPaths::default();
    target.all_fields.iter().filter(|path| !is_written(path)).for_each(|path| read.insert(path.to_vec()));
    let mut fields = undeclared_fields(schema, &read);
    fields.extend(undeclared_status(schema, target.written_status()));
    fields
}

/// Resolves a kind without checking that it supports the conditions.
async fn locate_kind(client: &kube::Client, api_version: &str, kind: &str) -> Result<ServedKind, KindError> {
    let missing = || KindError::Missing { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let served = discover_kind(client, api_version, kind).await?.ok_or_else(missing)?;
    for verb in [verbs::LIST, verbs::WATCH, verbs::PATCH] {
        if !served.supports(verb) {
            let sentence = format!("{api_version} {kind} does not support {verb}");
            return Err(KindError::Unsuitable(vec![sentence]));
        }
    }
    Ok(served)
}

/// Resolves a kind for reads, in any version that the cluster serves, the `noted` ones first. An object exists in all
/// versions, so a kind is gone only if no served version has it.
///
/// # Errors
/// [`KindError`]; `Missing` only if no served version of the group has the kind.
pub async fn locate_served_kind<'a>(
    client: &kube::Client,
    group: &str,
    kind: &str,
    noted: impl Iterator<Item = &'a str>,
) -> Result<ResolvedKind, KindError> {
    locate_fitting_kind(client, (group, kind), noted, async |_| Ok(None)).await
}

/// Resolves a kind for writes that need no certain version: in the first version through which a write changes no other
/// field, the `noted` ones first. The stored version always is one, if it is served.
///
/// # Errors
/// [`KindError`]; `Missing` only if no served version of the group has the kind, and `Unsuitable` if a write through each
/// of them changes fields of stored objects.
pub async fn locate_writable_kind<'a>(
    client: &kube::Client,
    group: &str,
    kind: &str,
    noted: impl Iterator<Item = &'a str>,
) -> Result<ResolvedKind, KindError> {
    locate_fitting_kind(client, (group, kind), noted, async |served| lossy_version(client, served, None).await).await
}

/// Resolves a kind in the first served version to which nothing `opposed` is found.
async fn locate_fitting_kind<'a>(
    client: &kube::Client,
    (group, kind): (&str, &str),
    noted: impl Iterator<Item = &'a str>,
    opposed: impl AsyncFn(&ServedKind) -> Result<Option<LossyVersion>, KindError>,
) -> Result<ResolvedKind, KindError> {
    let versions = served_versions(client, group).await?;
    let mut error = KindError::Missing { api_version: group.to_owned(), kind: kind.to_owned() };
    for version in in_order(&versions, noted) {
        match locate_kind(client, version, kind).await {
            Ok(served) => match opposed(&served).await? {
                None => return Ok(served.kind),
                Some(lossy) => error = KindError::Unsuitable(vec![lossy.to_string()]),
            },
            // The kind is missing only if all versions lack it.
            Err(KindError::Missing { .. }) => {}
            Err(other) => error = other,
        }
    }
    Err(error)
}

/// Returns the served versions of a group, the `noted` ones first.
fn in_order<'s, 'n>(served: &'s [String], noted: impl Iterator<Item = &'n str>) -> Vec<&'s str> {
    let served_one = |version: &'n str| served.iter().find(|one| *one == version).map(String::as_str);
    let mut versions: Vec<&str> = noted.filter_map(served_one).collect();
    for version in served {
        if !versions.contains(&version.as_str()) {
            versions.push(version);
        }
    }
    versions
}

/// Returns the document that contains the schema of a kind. `None` if it is not published yet: discovery knows a new
/// version before its schema. So a kind without a document may have objects.
async fn schema_document(client: &kube::Client, resource: &ApiResource) -> Result<Option<Value>, CallError> {
    let request = http::Request::get(schema_path(resource)).body(Vec::new());
    match client::request(client, LIST_DEADLINE, request?).await {
        Err(error) if error.code() == Some(404) => Ok(None),
        other => other.map(Some),
    }
}

fn schema_path(resource: &ApiResource) -> String {
    if resource.group.is_empty() {
        format!("/openapi/v3/api/{}", resource.version)
    } else {
        format!("/openapi/v3/apis/{}/{}", resource.group, resource.version)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, refuse, reply};
    use serde_json::json;

    fn resources(verbs: &[&str]) -> Value {
        json!({"kind": "APIResourceList", "groupVersion": "demo.example/v1", "resources": [
            {"name": "proxies/status", "singularName": "", "namespaced": true, "kind": "Proxy", "verbs": ["get", "patch"]},
            {"name": "proxies", "singularName": "proxy", "namespaced": true, "kind": "Proxy", "verbs": verbs}]})
    }

    fn target_of(api_version: &str, kind: &str) -> Target {
        let text = format!(
            "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
             {api_version}, kind: {kind}}}, identity: x, read: {{http: {{url: 'https://h/x'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
        );
        drift_language::fixtures::target(&text)
    }

    async fn resolve(verbs: &'static [&'static str], kind: &str) -> Result<SuitableKind, KindError> {
        let (client, _) = answering(move |sent| match sent.uri.as_str() {
            "/apis/demo.example/v1" => reply(200, &resources(verbs)),
            "/openapi/v3/apis/demo.example/v1" => reply(200, &json!({})),
            _ => refuse(404, "NotFound", "404 page not found"),
        });
        let version = if kind == "Gone" { "gone.example/v1" } else { "demo.example/v1" };
        resolve_kind(&client, &target_of(version, kind)).await
    }

    #[tokio::test]
    async fn a_kind_that_is_not_there_is_missing() {
        let all = &["list", "watch", "patch"];
        for kind in ["Proxxy", "Gone"] {
            let error = resolve(all, kind).await.unwrap_err();
            assert!(matches!(error, KindError::Missing { .. }), "{error}");
        }
    }

    #[tokio::test]
    async fn a_kind_without_watch_or_schema_is_unsuitable() {
        let error = resolve(&["list", "patch"], "Proxy").await.unwrap_err();
        assert_eq!(error.to_string(), "demo.example/v1 Proxy does not support watch");
        let error = resolve(&["list", "watch", "patch"], "Proxy").await.unwrap_err();
        assert!(error.to_string().contains("publishes no schema"), "{error}");
    }

    #[tokio::test]
    async fn a_kind_needs_nothing_for_conditions_in_reports() {
        let document = json!({"components": {"schemas": {"p": {"type": "object",
            "x-kubernetes-group-version-kind": [{"group": "demo.example", "version": "v1", "kind": "Proxy"}]}}}});
        for (place, namespaced, expected) in [
            ("Report", true, None),
            ("Report", false, Some("demo.example/v1 Proxy has no namespaces, and a DriftReport needs one")),
            ("Object", true, Some("has no /status subresource")),
        ] {
            let mut resources = resources(&["list", "watch", "patch"]);
            resources["resources"][1]["namespaced"] = json!(namespaced);
            let document = document.clone();
            let (client, _) = answering(move |sent| match sent.uri.as_str() {
                "/apis/demo.example/v1" => reply(200, &resources),
                "/openapi/v3/apis/demo.example/v1" => reply(200, &document),
                _ => refuse(404, "NotFound", "404 page not found"),
            });
            let target = target_of("demo.example/v1", &format!("Proxy, conditions: {place}"));
            let said = resolve_kind(&client, &target).await.err().map(|error| error.to_string());
            let fits = |said: &String| said.contains(expected.unwrap_or("no error"));
            assert!(said.as_ref().map_or(expected.is_none(), fits), "{place} {namespaced}: {said:?}");
        }
    }

    #[tokio::test]
    async fn no_answer_says_nothing_about_the_kind() {
        let (client, _) = answering(|_| refuse(503, "ServiceUnavailable", "no"));
        let error = resolve_kind(&client, &target_of("demo.example/v1", "Proxy")).await.unwrap_err();
        assert!(matches!(error, KindError::Unavailable(_)), "{error}");
    }

    #[tokio::test]
    async fn a_kind_is_found_in_any_served_version() {
        let all = &["list", "watch", "patch"];
        let group = json!({"kind": "APIGroup", "name": "demo.example", "versions": [
            {"groupVersion": "demo.example/v2", "version": "v2"}, {"groupVersion": "demo.example/v1", "version": "v1"}]});
        let (client, _) = answering(move |sent| match sent.uri.as_str() {
            "/apis/demo.example" => reply(200, &group),
            "/apis/demo.example/v1" => reply(200, &resources(all)),
            _ => refuse(404, "NotFound", "404 page not found"),
        });
        let find = async |kind, noted| locate_served_kind(&client, "demo.example", kind, [noted].into_iter()).await;
        let found = find("Proxy", "demo.example/v1alpha1").await.unwrap();
        assert_eq!(found.resource.api_version, "demo.example/v1");
        let error = find("Gone", "demo.example/v1").await.unwrap_err();
        assert!(matches!(error, KindError::Missing { .. }), "{error}");
        let gone = locate_served_kind(&client, "gone.example", "Proxy", std::iter::empty()).await.unwrap_err();
        assert!(matches!(gone, KindError::Missing { .. }), "{gone}");
    }
}
