//! `read.kubernetes`: the observed state is another object of the cluster.

use std::sync::Arc;

use serde_json::Value;

use crate::cel::{EvaluationError, PLACEHOLDER, Scope, TextTemplate, ValueTemplate, Variables, without_expressions};
use crate::spec::objects::read_cluster_kind;
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerRules, DefaultRules, read_rules};
use crate::systems::steps::{Role, VisitParts};
use crate::values::names::is_dns_label;
use crate::yaml::{Node, Reader, text_template};
use drift_api::object::cluster_resource::ClusterResource;
use drift_api::object::field_paths::FieldPaths;

/// Maximum length of an object's name, in bytes. The limit of Kubernetes.
const MAX_NAME_BYTES: usize = 253;

/// Default rules. An object in deletion is neither present nor absent, however long its finalizers take.
const DEFAULTS: DefaultRules =
    DefaultRules { observed: "${resource}", settling_when: Some("${has(resource.metadata.deletionTimestamp)}") };

/// A read of a cluster object.
#[derive(Debug)]
pub struct KubernetesRead {
    /// Group and version of its kind.
    pub api_version: Arc<str>,
    /// The kind of the object.
    pub kind: Arc<str>,
    /// Its namespace. `None` means the namespace of the target's object.
    pub namespace: Option<String>,
    /// The name of the object.
    name: TextTemplate,
    /// The rules over the object. A missing object means that the resource is absent.
    pub rules: AnswerRules,
}

impl KubernetesRead {
    /// The group of its kind. Empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the cluster object that is the external resource of this object.
    ///
    /// # Errors
    /// Fails if the name cannot be evaluated for this object, or is not a valid name.
    pub fn render(&self, object: &Value) -> Result<ClusterResource, EvaluationError> {
        let name = self.name.render(&Variables::of_object(object))?;
        if !is_name(&name) {
            return Err(self.name.site().error(format!(
                "no object can have that name: 1 to {MAX_NAME_BYTES} letters, digits, `-`, `.`, `_` and `:` are needed"
            )));
        }
        let own = || object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
        Ok(ClusterResource {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone().or_else(own),
            name,
        })
    }
}

impl ReadSection for KubernetesRead {
    fn cluster_kind(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        Some((&self.api_version, &self.kind))
    }

    fn place(&self) -> [&'static str; 2] {
        ["kubernetes", "name"]
    }

    /// The version is not part of the scope, because an object is the same in all versions.
    fn scope(&self, spec: &Node) -> String {
        let written = ["read", "kubernetes", "name"].iter().try_fold(spec, |node, key| node.get(key));
        let name = written.and_then(Node::as_text).map(without_expressions).unwrap_or_default();
        let namespace = self.namespace.as_deref().unwrap_or(PLACEHOLDER);
        let kind =
            if self.group().is_empty() { self.kind.to_string() } else { format!("{}.{}", self.kind, self.group()) };
        format!("kubernetes {kind} {namespace}/{name}")
    }

    fn hosts(&self) -> Vec<String> {
        vec!["the API server".to_owned()]
    }

    fn observed(&self) -> &ValueTemplate {
        &self.rules.observed
    }

    fn judges_answers(&self) -> bool {
        self.rules.valid_when.is_some()
    }

    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        visit(Role::Address, &self.name);
        visit(Role::Answer, &self.rules);
    }

    fn fields(&self) -> FieldPaths {
        let mut fields = self.fields_of(&|_| true);
        fields.insert(own_namespace());
        fields
    }

    /// The fields under `self` that select the cluster object and its observed parts.
    fn own_fields(&self) -> FieldPaths {
        let mut fields = self.fields_of(&|_| true);
        if self.namespace.is_none() {
            fields.insert(own_namespace());
        }
        fields
    }
}

/// Returns true if a text is a valid name that needs no escaping in a path. Kubernetes allows more in the names of a
/// few kinds, but its own objects do not use it.
fn is_name(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | ':');
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.chars().all(is_part) && !matches!(text, "." | "..")
}

fn own_namespace() -> Vec<String> {
    vec!["metadata".to_owned(), "namespace".to_owned()]
}

/// Keys of `read.kubernetes`.
const KUBERNETES_KEYS: &[&str] =
    &["apiVersion", "kind", "name", "namespace", "absentWhen", "validWhen", "settlingWhen", "observed"];

pub(crate) fn read_kubernetes(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<KubernetesRead> {
    let fields = reader.fields(node, place, KUBERNETES_KEYS)?;
    let kind = read_cluster_kind(reader, &fields);
    let name = reader.needed(&fields, "name", text_template(Scope::Object));
    let namespace = reader.optional(&fields, "namespace", |reader, node, place| {
        let text = reader.literal(node, place)?;
        if is_dns_label(text) {
            return Some(text.to_owned());
        }
        reader.refuse(node.at, format!("{place}: `{text}` is no namespace; leave it out for that of the object"))
    });
    let rules = read_rules(reader, &fields, Scope::Resource, DEFAULTS);
    let (api_version, kind) = kind?;
    Some(KubernetesRead { api_version, kind, namespace: namespace?, name: name?, rules: rules? })
}
