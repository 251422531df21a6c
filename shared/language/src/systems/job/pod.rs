//! The Pod of a Job as written: the places where values of an object are allowed, and the allowed keys of a Pod.
//!
//! The kubelet replaces `$(NAME)` in variables and arguments by other variables of the container, including those from
//! Secrets. Values of an object are therefore escaped, so that they stay plain text.

use serde_json::{Map, Value};

use super::isolation::check_isolation;
use super::kubernetes_nodes::{entries, items};
use crate::cel::{EvaluationError, Expression, Expressions, Piece, Scope, TextTemplate, Variables, pieces};
use crate::yaml::{Content, Entry, Fields, Node, Reader, all};
use drift_api::names::GROUP;

/// Allowed keys of a Pod. Keys that share something with the node or request a token are left out.
const POD_KEYS: &[&str] = &[
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "imagePullSecrets",
    "initContainers",
    "nodeSelector",
    "priorityClassName",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

/// Allowed keys of a container.
const CONTAINER_KEYS: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "name",
    "resources",
    "securityContext",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
    "workingDir",
];

/// A part of a Pod.
#[derive(Debug)]
pub(super) enum PodPart {
    /// Constant, as written.
    Constant(Value),
    List(Vec<PodPart>),
    Map(Vec<(String, PodPart)>),
    /// A text from the object.
    Given(TextTemplate),
}

impl PodPart {
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::List(items) => items.iter().map(|item| item.render(variables)).collect::<Result<_, _>>()?,
            Self::Map(fields) => {
                let render = |(key, part): &(String, Self)| Ok((key.clone(), part.render(variables)?));
                Value::Object(fields.iter().map(render).collect::<Result<Map<_, _>, EvaluationError>>()?)
            }
            // The kubelet reads `$$` as one literal `$`.
            Self::Given(template) => Value::String(template.render(variables)?.replace('$', "$$")),
        })
    }
}

impl Expressions for PodPart {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        match self {
            Self::Constant(_) => {}
            Self::List(items) => items.visit(visit),
            Self::Map(fields) => fields.visit(visit),
            Self::Given(template) => template.visit(visit),
        }
    }
}

/// Reads `template.metadata.labels`, by which a NetworkPolicy selects the Pods.
pub(super) fn read_labels(reader: &mut Reader<'_>, template: &Fields<'_>) -> Option<Value> {
    let foreign = template.entries().iter().find(|entry| !["metadata", "spec"].contains(&entry.key.as_str()));
    if let Some(entry) = foreign {
        let message = format!("unknown key `{}` in {}; known: metadata, spec", entry.key, template.own_place());
        return reader.refuse(entry.key_at, message);
    }
    let Some(metadata) = template.get("metadata") else { return Some(Value::Object(Map::new())) };
    let place = template.place("metadata");
    let metadata = entries(reader, metadata, &place, &["labels"])?;
    let Some(labels) = metadata.first() else { return Some(Value::Object(Map::new())) };
    let place = format!("{place}.labels");
    let Content::Map(written) = &labels.value.content else {
        return reader.refuse(labels.value.at, format!("{place}: a map is needed here, not {}", labels.value.kind()));
    };
    if let Some(entry) = written.iter().find(|entry| entry.key.split('/').next().is_some_and(|prefix| prefix == GROUP))
    {
        return reader.refuse(entry.key_at, format!("{place}.{}: labels of {GROUP} are the controller's", entry.key));
    }
    read_constant(reader, &labels.value, &place)
}

/// Reads the `spec` of a Pod. The API server decides if the namespace admits it.
pub(super) fn read_pod(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<PodPart> {
    let fields = entries(reader, node, place, POD_KEYS)?;
    let isolated = check_isolation(reader, node, place);
    let pod = read_map(reader, fields, place, |reader, key, node, place| match key {
        "containers" | "initContainers" => {
            read_list(reader, node, place, |reader, item, place| read_container(reader, item, place, scope))
        }
        _ => read_constant(reader, node, place).map(PodPart::Constant),
    });
    isolated.and(pod)
}

fn read_container(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<PodPart> {
    let fields = entries(reader, node, place, CONTAINER_KEYS)?;
    read_map(reader, fields, place, |reader, key, node, place| match key {
        "args" => read_list(reader, node, place, |reader, item, place| read_given(reader, item, place, scope)),
        "env" => read_list(reader, node, place, |reader, item, place| read_variable(reader, item, place, scope)),
        _ => read_constant(reader, node, place).map(PodPart::Constant),
    })
}

fn read_map(
    reader: &mut Reader<'_>,
    fields: &[Entry],
    place: &str,
    mut read: impl FnMut(&mut Reader<'_>, &str, &Node, &str) -> Option<PodPart>,
) -> Option<PodPart> {
    let parts = fields.iter().map(|Entry { key, value, .. }| {
        let part = read(reader, key, value, &format!("{place}.{key}"))?;
        Some((key.clone(), part))
    });
    all(parts).map(PodPart::Map)
}

fn read_list(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    read: impl FnMut(&mut Reader<'_>, &Node, &str) -> Option<PodPart>,
) -> Option<PodPart> {
    let items = items(reader, node, place)?;
    reader.each(items, place, read).map(PodPart::List)
}

fn read_variable(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<PodPart> {
    let fields = entries(reader, node, place, &["name", "value", "valueFrom"])?;
    read_map(reader, fields, place, |reader, key, node, place| match key {
        "value" => read_given(reader, node, place, scope),
        _ => read_constant(reader, node, place).map(PodPart::Constant),
    })
}

/// Reads one `${…}` with nothing around it, or a literal text.
fn read_given(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<PodPart> {
    let text = reader.text(node, place)?;
    let is_whole = matches!(pieces(text).as_deref(), Ok([Piece::Expression { .. }]));
    let site = reader.site(place, scope);
    if !is_whole {
        reader.doubt_unmarked(node, &site);
        return read_constant(reader, node, place).map(PodPart::Constant);
    }
    reader.compiled(node, &site, TextTemplate::parse(text, &site)).map(PodPart::Given)
}

/// Reads a value without templates.
fn read_constant(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Value> {
    match &node.content {
        Content::Text(text) => match pieces(text) {
            Ok(found) if found.iter().any(|piece| matches!(piece, Piece::Expression { .. })) => {
                let message = format!("{place}: in a Job ${{…}} stands only as a whole env[].value or args[] entry");
                reader.refuse(node.at, message)
            }
            Ok(found) => {
                let texts = found.into_iter().map(|piece| match piece {
                    Piece::Literal(literal) => literal,
                    Piece::Expression { .. } => String::new(),
                });
                Some(Value::String(texts.collect()))
            }
            Err(error) => reader.refuse_template(node, place, vec![error]),
        },
        Content::List(items) => reader.each(items, place, read_constant).map(Value::Array),
        Content::Map(entries) => {
            let values = entries.iter().map(|Entry { key, value, .. }| {
                let value = read_constant(reader, value, &format!("{place}.{key}"))?;
                Some((key.clone(), value))
            });
            all(values).map(Value::Object)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(node.to_json()),
    }
}
