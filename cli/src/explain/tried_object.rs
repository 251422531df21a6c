//! The object that a command line names among the manifests of files, and the target of these files that selects it.
//!
//! A manifest without a namespace gets the one that `kubectl apply` would give it.

use std::sync::Arc;

use drift_kube::client::ResolvedKind;
use drift_kube::kinds::WrittenKinds;
use drift_language::Target;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::check::TriedFiles;
use crate::kinds::KindWord;

/// The namespace in which `kubectl apply` puts an object without one.
const DEFAULT_NAMESPACE: &str = "default";

/// The object of that kind, namespace (any where none is stated) and name, in the namespace where it would be created.
///
/// # Errors
/// A sentence: the files have no target of the kind or no such manifest, more than one is meant, or no target selects it.
pub(super) fn tried_object(
    files: &TriedFiles,
    (kind, namespace, name): (&str, Option<&str>, &str),
) -> Result<(Arc<Target>, Value), String> {
    let about = targets_about(files, kind)?;
    let manifest = manifest_of(files, &about, (namespace, name))?;
    let candidates: Vec<_> = about.into_iter().filter(|target| is_of(&manifest, target)).collect();
    let (home, labels) = (text(&manifest, "/metadata/namespace"), manifest.pointer("/metadata/labels"));
    match candidates.iter().find(|target| target.objects.selects(home, labels)) {
        Some(target) => Ok((Arc::clone(target), manifest)),
        None => Err(match &*candidates {
            [one] => format!("target {} does not select {}", one.name, told(&manifest)),
            all => {
                let names: Vec<_> = all.iter().map(|target| target.name.as_str()).collect();
                format!("targets {} do not select {}", names.join(", "), told(&manifest))
            }
        }),
    }
}

fn targets_about<'f>(files: &'f TriedFiles, kind: &str) -> Result<Vec<&'f Arc<Target>>, String> {
    let (written, word) = (WrittenKinds::read(&files.manifests), KindWord::among(&files.manifests, kind));
    let is_about = |target: &&Arc<Target>| word.means(&kind_of(target, &written));
    let about: Vec<_> = files.targets.iter().filter(is_about).collect();
    if about.is_empty() {
        let kinds: Vec<_> = files.targets.iter().map(|target| target.objects.kind.as_str()).collect();
        let kinds = kinds.join(", ");
        return Err(format!(
            "the targets of -f are for {kinds}, and `{kind}` means none of them: plural and short names of a kind are known with its \
             CustomResourceDefinition in -f"
        ));
    }
    Ok(about)
}

/// The kind of a target's objects. Where no file defines it, its plural is a guess, which only has to fit a word.
fn kind_of(target: &Target, written: &WrittenKinds) -> ResolvedKind {
    let objects = &target.objects;
    written.find(&objects.api_version, &objects.kind).unwrap_or_else(|| {
        let version = objects.api_version.rsplit('/').next().unwrap_or_default();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(objects.group(), version, &objects.kind));
        ResolvedKind { resource, namespaced: false }
    })
}

/// The one manifest that is meant, in the namespace where it would be created.
fn manifest_of(
    files: &TriedFiles,
    about: &[&Arc<Target>],
    (namespace, name): (Option<&str>, &str),
) -> Result<Value, String> {
    let kinds = WrittenKinds::read(&files.manifests);
    let named = files.manifests.iter().filter(|manifest| text(manifest, "/metadata/name") == Some(name));
    let placed = named.filter_map(|manifest| {
        let targets: Vec<_> = about.iter().copied().filter(|target| is_of(manifest, target)).collect();
        let home = home(manifest, is_namespaced(targets.first()?, &targets, &kinds), namespace);
        let is_meant = home.is_none() || namespace.is_none() || home == namespace;
        is_meant.then(|| in_namespace(manifest, home))
    });
    let mut placed: Vec<_> = placed.collect();
    match (placed.pop(), &*placed) {
        (Some(one), []) => Ok(one),
        (Some(last), others) => {
            let all: Vec<_> = others.iter().chain([&last]).map(told).collect();
            Err(format!(
                "more than one manifest is meant: {}: name its namespace by -n, or leave the others out of the files of -f",
                all.join(", ")
            ))
        }
        (None, _) => {
            let mut kinds: Vec<_> = about
                .iter()
                .map(|target| format!("{} {name} ({})", target.objects.kind, target.objects.api_version))
                .collect();
            kinds.dedup();
            let place = namespace.map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
            Err(format!("the files of -f contain no manifest of {}{place}", kinds.join(" or ")))
        }
    }
}

/// Whether objects of the kind of these targets live in namespaces; `None` where neither they nor the files say.
fn is_namespaced(first: &Target, targets: &[&Arc<Target>], kinds: &WrittenKinds) -> Option<bool> {
    // Only a namespaced kind may be narrowed to namespaces.
    if targets.iter().any(|target| !target.objects.namespaces.is_empty()) {
        return Some(true);
    }
    kinds.find(&first.objects.api_version, &first.objects.kind).map(|kind| kind.namespaced)
}

/// The namespace where it would be created; `None` where it has none, or nobody says.
fn home<'m>(manifest: &'m Value, is_namespaced: Option<bool>, stated: Option<&'m str>) -> Option<&'m str> {
    let own = text(manifest, "/metadata/namespace").filter(|own| !own.is_empty());
    own.or_else(|| match is_namespaced {
        Some(false) => None,
        Some(true) => Some(stated.unwrap_or(DEFAULT_NAMESPACE)),
        None => stated,
    })
}

fn in_namespace(manifest: &Value, home: Option<&str>) -> Value {
    let mut placed = manifest.clone();
    if let (Some(home), Some(metadata)) = (home, placed.pointer_mut("/metadata").and_then(Value::as_object_mut)) {
        metadata.insert("namespace".to_owned(), json!(home));
    }
    placed
}

fn is_of(manifest: &Value, target: &Target) -> bool {
    text(manifest, "/kind") == Some(&target.objects.kind)
        && text(manifest, "/apiVersion") == Some(&target.objects.api_version)
}

/// The name of a manifest in messages.
fn told(manifest: &Value) -> String {
    let [kind, api_version, name] =
        ["/kind", "/apiVersion", "/metadata/name"].map(|pointer| text(manifest, pointer).unwrap_or_default());
    match text(manifest, "/metadata/namespace") {
        Some(namespace) => format!("{kind} {name} ({api_version}) in namespace {namespace}"),
        None => format!("{kind} {name} ({api_version}) without a namespace"),
    }
}

fn text<'m>(manifest: &'m Value, pointer: &str) -> Option<&'m str> {
    manifest.pointer(pointer).and_then(Value::as_str)
}
