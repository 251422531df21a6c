//! `correct.kubernetes`: the external resource is another object of the cluster, managed by one manifest.
//!
//! Corrections apply to the object that `read.kubernetes` reads: its kind, name and namespace. So the manifest cannot
//! address another object; it only describes the content. Values of objects fill its values. They change its structure
//! only if the target inserts a whole list or map.

use serde_json::{Map, Value, json};

use crate::cel::{EvaluationError, Scope, ValueTemplate, Variables, is_template};
use crate::section::{Section, map};
use crate::spec::objects::{ClusterKind, ObjectSelection};
use crate::systems::actions::Actions;
use crate::systems::nudge::{Mark, read_marks};
use crate::systems::section::{CorrectSection, ReadSection};
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::{Entry, Fields, Node, Reader, all, read_value};
use drift_api::names::MADE_FOR_ANNOTATION;
use drift_api::object::cluster_resource::ClusterResource;

/// Allowed metadata of a manifest. The rest belongs to the API server, the garbage collector, or others.
const METADATA_KEYS: &[&str] = &["name", "namespace", "labels", "annotations"];

/// Corrections of a cluster object.
#[derive(Debug, Section)]
pub struct KubernetesCorrect {
    /// The object. Values may hold ${…}, keys may not.
    #[key(map(read_manifest))]
    manifest: Manifest,
    /// Deleted with its object. Default: false.
    #[key(default)]
    delete: bool,
}

/// The content of the cluster object.
#[derive(Debug)]
struct Manifest {
    kind: ClusterKind,
    labels: Vec<Mark>,
    annotations: Vec<Mark>,
    /// The fields besides the metadata.
    fields: Vec<(String, ValueTemplate)>,
}

impl KubernetesCorrect {
    /// Returns true if the created object may be selected by the target itself: then each would get one of its own,
    /// without end. Labels of the created object can prevent this.
    #[must_use]
    pub fn makes_what_is_selected(&self, objects: &ObjectSelection) -> bool {
        let kind = &self.manifest.kind;
        objects.is_of(kind.group(), &kind.name) && objects.label_selector.is_empty()
    }

    /// Renders the manifest of this external resource for the object with that uid.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(
        &self,
        resource: &ClusterResource,
        uid: &str,
        variables: &Variables<'_>,
    ) -> Result<Value, EvaluationError> {
        let Manifest { kind, labels, annotations, fields } = &self.manifest;
        let mut annotations = rendered(annotations, variables)?;
        annotations.insert(MADE_FOR_ANNOTATION.to_owned(), Value::from(uid));
        let mut metadata = Map::from_iter([
            ("name".to_owned(), Value::from(resource.name.as_str())),
            ("annotations".to_owned(), Value::Object(annotations)),
        ]);
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), Value::Object(rendered(labels, variables)?));
        }
        let mut manifest = json!({"apiVersion": *kind.api_version, "kind": *kind.name, "metadata": metadata});
        for (name, template) in fields {
            manifest[name.as_str()] = template.render(variables)?;
        }
        Ok(manifest)
    }
}

impl CorrectSection for KubernetesCorrect {
    fn key(&self) -> &'static str {
        "kubernetes"
    }

    fn actions(&self) -> Actions {
        Actions { create: true, update: true, delete: self.delete, replace: self.delete, nudge: false }
    }

    /// Everyone who can read the created object can read the manifest, so it contains no secrets.
    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        let Manifest { labels, annotations, fields, .. } = &self.manifest;
        visit(Role::Body, labels);
        visit(Role::Body, annotations);
        visit(Role::Body, fields);
    }

    /// Rejects a manifest of another object than the one that is read.
    fn check_fit(&self, reader: &mut Reader<'_>, spec: &Node, _objects: &ObjectSelection, read: &dyn ReadSection) {
        let manifest = spec.get("correct").and_then(|correct| correct.get("kubernetes")?.get("manifest"));
        let Some(manifest) = manifest else { return };
        let Some(kind) = read.cluster_kind() else {
            let message = "correct.kubernetes: what is corrected is what is read; it needs read.kubernetes";
            reader.refuse::<()>(manifest.at, message);
            return;
        };
        if *kind != self.manifest.kind {
            let ClusterKind { api_version, name: kind } = kind;
            let message = format!("correct.kubernetes.manifest: what is read is {api_version} {kind}; write the same");
            reader.refuse::<()>(manifest.at, message);
        }
        for key in ["name", "namespace"] {
            let read = ["read", "kubernetes", key].iter().try_fold(spec, |node, key| node.get(key));
            let Some(node) = manifest.get("metadata").and_then(|metadata| metadata.get(key)) else { continue };
            if let Some(own) = node.as_text().filter(|own| Some(*own) != read.and_then(Node::as_text)) {
                let message = format!(
                    "correct.kubernetes.manifest.metadata.{key}: `{own}` is not what read.kubernetes says; leave it out, or write \
                     the same"
                );
                reader.refuse::<()>(node.at, message);
            }
        }
    }
}

fn rendered(marks: &[Mark], variables: &Variables<'_>) -> Result<Map<String, Value>, EvaluationError> {
    let with_value = |mark: &Mark| {
        let value = mark.value.as_ref().map(|value| value.render(variables)).transpose()?;
        Ok((mark.name.clone(), value.map_or(Value::Null, Value::from)))
    };
    marks.iter().map(with_value).collect()
}

fn read_manifest(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Manifest> {
    let manifest = reader.any_fields(node, place)?;
    let kind = ClusterKind::read_from(reader, &manifest, ());
    let marks = reader.optional(&manifest, "metadata", read_metadata);
    let own = |entry: &&Entry| !["apiVersion", "kind", "metadata"].contains(&entry.key.as_str());
    let others = all(manifest.entries().iter().filter(own).map(|entry| read_field(reader, &manifest, entry)));
    let (labels, annotations) = marks?.unwrap_or_default();
    Some(Manifest { kind: kind?, labels, annotations, fields: others? })
}

fn read_field(reader: &mut Reader<'_>, manifest: &Fields<'_>, entry: &Entry) -> Option<(String, ValueTemplate)> {
    let place = manifest.place(&entry.key);
    if is_template(&entry.key) {
        return reader.refuse(entry.key_at, format!("{place}: keys are literal"));
    }
    if entry.key == "status" {
        return reader.refuse(entry.key_at, format!("{place}: the status is its own operator's word"));
    }
    let value = read_value(reader, &entry.value, &reader.site(&place, Scope::Correction))?;
    Some((entry.key.clone(), value))
}

/// Reads labels and annotations. Name and namespace are compared with those of the read elsewhere.
fn read_metadata(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(Vec<Mark>, Vec<Mark>)> {
    let fields = reader.fields(node, place, METADATA_KEYS)?;
    let marks = |reader: &mut Reader<'_>, node: &Node, place: &str| read_marks(reader, node, place, false);
    let labels = reader.or(&fields, "labels", Vec::new(), marks);
    let annotations = reader.or(&fields, "annotations", Vec::new(), marks);
    for key in ["name", "namespace"] {
        reader.optional(&fields, key, |reader, node, place| reader.text(node, place).map(drop))?;
    }
    Some((labels?, annotations?))
}
