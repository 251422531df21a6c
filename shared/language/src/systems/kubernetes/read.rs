//! `read.kubernetes`: the observed state is another object of the cluster.

use serde_json::Value;

use crate::cel::{EvaluationError, PLACEHOLDER, Scope, TextTemplate, ValueTemplate, Variables, without_expressions};
use crate::section::{Section, literal, text};
use crate::spec::objects::ClusterKind;
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerContext, AnswerRules};
use crate::systems::steps::{Role, VisitParts};
use crate::values::names::is_dns_label;
use crate::yaml::{Node, text_template};
use drift_api::object::cluster_resource::ClusterResource;
use drift_api::object::field_paths::FieldPaths;

/// Maximum length of an object's name, in bytes. The limit of Kubernetes.
const MAX_NAME_BYTES: usize = 253;

/// The scope and the default rules. An object in deletion is neither present nor absent, however long its finalizers
/// take.
const RESOURCE: AnswerContext = AnswerContext {
    scope: Scope::Resource,
    observed: "${resource}",
    settling_when: Some("${has(resource.metadata.deletionTimestamp)}"),
};

/// A read of a cluster object.
#[derive(Debug, Section)]
pub struct KubernetesRead {
    /// The kind of the object.
    #[key(flatten = ())]
    pub kind: ClusterKind,
    /// Its name: ${self.metadata.name}.
    #[key(text(text_template(Scope::Object)))]
    name: TextTemplate,
    /// A literal. Default: the namespace of the object.
    #[key(literal(parse_namespace))]
    pub namespace: Option<String>,
    /// The rules over the object. A missing object means that the resource is absent.
    #[key(flatten = RESOURCE)]
    pub rules: AnswerRules,
}

impl KubernetesRead {
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
            api_version: self.kind.api_version.clone(),
            kind: self.kind.name.clone(),
            namespace: self.namespace.clone().or_else(own),
            name,
        })
    }
}

impl ReadSection for KubernetesRead {
    fn cluster_kind(&self) -> Option<&ClusterKind> {
        Some(&self.kind)
    }

    fn place(&self) -> [&'static str; 2] {
        ["kubernetes", "name"]
    }

    /// The version is not part of the scope, because an object is the same in all versions.
    fn scope(&self, spec: &Node) -> String {
        let written = ["read", "kubernetes", "name"].iter().try_fold(spec, |node, key| node.get(key));
        let name = written.and_then(Node::as_text).map(without_expressions).unwrap_or_default();
        let namespace = self.namespace.as_deref().unwrap_or(PLACEHOLDER);
        let (kind, group) = (&self.kind.name, self.kind.group());
        let kind = if group.is_empty() { kind.to_string() } else { format!("{kind}.{group}") };
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

fn parse_namespace(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is no namespace; leave it out for that of the object")),
    }
}
