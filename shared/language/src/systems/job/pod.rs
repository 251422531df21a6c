//! The Pod of a Job as it is written: where of an object something may stand in it, and what of a Pod may be written at all.
//!
//! The kubelet replaces `$(NAME)` in variables and arguments by other variables of the container, among them those that come from
//! Secrets. What an object says is therefore escaped: it is a text and nothing else. This file must not know what a Pod may do.

use serde_json::{Map, Value};

use super::isolation::check_isolation;
use super::kubernetes::{entries, items};
use crate::cel::pieces;
use crate::cel::{EvaluationError, Piece, Scope, TextTemplate, Variables};
use crate::yaml::raw::{Fields, Reader};
use crate::yaml::{Content, Entry, Node};
use drift_api::names::GROUP;
use drift_api::object::field_paths::FieldPaths;

/// What may be written of a Pod. Whatever shares something with its node, or asks for a token, is not there.
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

/// What may be written of a container.
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
pub(super) enum Part {
    /// As it is written.
    Constant(Value),
    List(Vec<Part>),
    Map(Vec<(String, Part)>),
    /// A text of the object.
    Given(TextTemplate),
}

impl Part {
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::List(items) => items.iter().map(|item| item.render(variables)).collect::<Result<_, _>>()?,
            Self::Map(fields) => {
                let render = |(key, part): &(String, Self)| Ok((key.clone(), part.render(variables)?));
                Value::Object(fields.iter().map(render).collect::<Result<Map<_, _>, EvaluationError>>()?)
            }
            // Two are one for the kubelet, and begin nothing.
            Self::Given(template) => Value::String(template.render(variables)?.replace('$', "$$")),
        })
    }

    pub(super) fn reads(&self, variable: &str) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::List(items) => items.iter().any(|item| item.reads(variable)),
            Self::Map(fields) => fields.iter().any(|(_, part)| part.reads(variable)),
            Self::Given(template) => template.reads(variable),
        }
    }

    pub(super) fn add_fields(&self, found: &mut FieldPaths) {
        match self {
            Self::Constant(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.add_fields(found)),
            Self::Map(fields) => fields.iter().for_each(|(_, part)| part.add_fields(found)),
            Self::Given(template) => found.extend(&template.fields()),
        }
    }
}

/// `template.metadata.labels`, by which a NetworkPolicy finds the Pods.
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

/// The `spec` of a Pod. Whether its namespace admits it is for the API server to say.
pub(super) fn read_pod(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Part> {
    let fields = entries(reader, node, place, POD_KEYS)?;
    let isolated = check_isolation(reader, node, place);
    let read = |reader: &mut Reader<'_>, entry: &Entry| {
        let place = format!("{place}.{}", entry.key);
        let part = match entry.key.as_str() {
            "containers" | "initContainers" => read_containers(reader, &entry.value, &place, scope),
            _ => read_constant(reader, &entry.value, &place).map(Part::Constant),
        };
        part.map(|part| (entry.key.clone(), part))
    };
    let parts: Vec<_> = fields.iter().map(|entry| read(reader, entry)).collect();
    isolated.and(parts.into_iter().collect::<Option<_>>()).map(Part::Map)
}

fn read_containers(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Part> {
    let containers = items(reader, node, place)?.iter().enumerate();
    let parts: Vec<_> = containers
        .map(|(position, container)| read_container(reader, container, &format!("{place}[{position}]"), scope))
        .collect();
    parts.into_iter().collect::<Option<_>>().map(Part::List)
}

fn read_container(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Part> {
    let fields = entries(reader, node, place, CONTAINER_KEYS)?;
    let read = |reader: &mut Reader<'_>, entry: &Entry| {
        let place = format!("{place}.{}", entry.key);
        let part = match entry.key.as_str() {
            "args" => {
                read_list(reader, &entry.value, &place, |reader, item, place| read_given(reader, item, place, scope))
            }
            "env" => {
                read_list(reader, &entry.value, &place, |reader, item, place| read_variable(reader, item, place, scope))
            }
            _ => read_constant(reader, &entry.value, &place).map(Part::Constant),
        };
        part.map(|part| (entry.key.clone(), part))
    };
    let parts: Vec<_> = fields.iter().map(|entry| read(reader, entry)).collect();
    parts.into_iter().collect::<Option<_>>().map(Part::Map)
}

fn read_list(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    mut read: impl FnMut(&mut Reader<'_>, &Node, &str) -> Option<Part>,
) -> Option<Part> {
    let written = items(reader, node, place)?.iter().enumerate();
    let parts: Vec<_> = written.map(|(position, item)| read(reader, item, &format!("{place}[{position}]"))).collect();
    parts.into_iter().collect::<Option<_>>().map(Part::List)
}

fn read_variable(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Part> {
    let fields = entries(reader, node, place, &["name", "value", "valueFrom"])?;
    let read = |reader: &mut Reader<'_>, entry: &Entry| {
        let place = format!("{place}.{}", entry.key);
        let part = match entry.key.as_str() {
            "value" => read_given(reader, &entry.value, &place, scope),
            _ => read_constant(reader, &entry.value, &place).map(Part::Constant),
        };
        part.map(|part| (entry.key.clone(), part))
    };
    let parts: Vec<_> = fields.iter().map(|entry| read(reader, entry)).collect();
    parts.into_iter().collect::<Option<_>>().map(Part::Map)
}

/// One `${…}` and nothing around it, or a text as it is written.
fn read_given(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Part> {
    let text = reader.text(node, place)?;
    let is_whole = matches!(pieces(text).as_deref(), Ok([Piece::Expression { .. }]));
    let site = reader.site(place, scope);
    if !is_whole {
        reader.doubt_unmarked(node, &site);
        return read_constant(reader, node, place).map(Part::Constant);
    }
    reader.compiled(node, &site, TextTemplate::parse(text, &site)).map(Part::Given)
}

/// What no object has a say in.
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
        Content::List(written) => {
            let values: Vec<_> = written
                .iter()
                .enumerate()
                .map(|(position, item)| read_constant(reader, item, &format!("{place}[{position}]")))
                .collect();
            values.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
        }
        Content::Map(written) => {
            let values: Vec<_> = written
                .iter()
                .map(|entry| {
                    let value = read_constant(reader, &entry.value, &format!("{place}.{}", entry.key))?;
                    Some((entry.key.clone(), value))
                })
                .collect();
            values.into_iter().collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(node.to_json()),
    }
}
