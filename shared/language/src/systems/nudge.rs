//! `correct.nudge`: a change of the object's own metadata that wakes the operator of the object.
//!
//! A nudge changes nothing outside: the operator does. So the patch must have no meaning for others. It never
//! writes the spec, which is the desired state of its author, nor the status, nor fields that control this project
//! or the garbage collector.

use serde_json::{Map, Value};

use crate::cel::{CORRECTION, EvaluationError, Expression, Expressions, Scope, TextTemplate, ValueTemplate, Variables};
use crate::section::{Section, map};
use crate::spec::objects::ObjectSelection;
use crate::systems::actions::Actions;
use crate::systems::section::{CorrectSection, ReadSection};
use crate::systems::steps::{Role, VisitParts, expressions_of};
use crate::values::names::is_qualified_name;
use crate::yaml::{Content, Entry, Fields, Node, Reader, all, read_value};
use drift_api::names::GROUP;
use std::time::Duration;

/// Default of `settle`. The operator needs time to correct; an earlier poll would cause a second nudge. It equals the
/// default interval of many operators' work queues, far above the time for one object.
const SETTLE: Duration = Duration::from_secs(30);

/// Maximum annotations, or labels, of one nudge. Operators watch one or two.
const MAX_ENTRIES: usize = 16;
/// Fields besides the metadata that no nudge writes, each with the reason.
const KEPT_FIELDS: &[(&str, &str)] = &[
    ("spec", "the spec is the desired state that its author wrote; a nudge only wakes"),
    ("status", "the status is its operator's word"),
    ("apiVersion", "the kind is the target's"),
    ("kind", "the kind is the target's"),
];

/// Corrections that wake the object's own operator.
#[derive(Debug)]
pub struct NudgeCorrect {
    annotations: Vec<Mark>,
    labels: Vec<Mark>,
    /// Other fields of the object.
    fields: Vec<(String, ValueTemplate)>,
}

/// One annotation or label.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) name: String,
    /// The value. `None` removes it.
    pub(crate) value: Option<TextTemplate>,
}

impl Expressions for Mark {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.value.visit(visit);
    }
}

impl NudgeCorrect {
    /// Renders the merge patch of the object.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Map<String, Value>, EvaluationError> {
        let mut patch = Map::new();
        let mut metadata = Map::new();
        for (key, marks) in [("annotations", &self.annotations), ("labels", &self.labels)] {
            let value = |mark: &Mark| mark.value.as_ref().map(|value| value.render(variables)).transpose();
            let rendered = |mark: &Mark| Ok((mark.name.clone(), value(mark)?.map_or(Value::Null, Value::String)));
            let rendered = marks.iter().map(rendered).collect::<Result<Map<_, _>, EvaluationError>>()?;
            if !rendered.is_empty() {
                metadata.insert(key.to_owned(), Value::Object(rendered));
            }
        }
        for (name, template) in &self.fields {
            patch.insert(name.clone(), template.render(variables)?);
        }
        if !metadata.is_empty() {
            patch.insert("metadata".to_owned(), Value::Object(metadata));
        }
        Ok(patch)
    }

    /// Returns true if nudges with different numbers have different patches.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        expressions_of(|visit| self.visit_parts(visit), |_| true).reads(CORRECTION)
    }

    /// The annotations that it writes.
    pub fn annotations(&self) -> impl Iterator<Item = &str> {
        self.annotations.iter().map(|mark| mark.name.as_str())
    }

    /// The labels that it writes.
    fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|mark| mark.name.as_str())
    }
}

impl CorrectSection for NudgeCorrect {
    fn key(&self) -> &'static str {
        "nudge"
    }

    fn actions(&self) -> Actions {
        Actions { nudge: true, ..Actions::default() }
    }

    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        visit(Role::Body, &self.annotations);
        visit(Role::Body, &self.labels);
        visit(Role::Body, &self.fields);
    }

    fn writes_outside(&self) -> bool {
        false
    }

    fn default_settle(&self) -> Duration {
        SETTLE
    }

    fn replaces(&self) -> Result<bool, &'static str> {
        Err("how it is corrected is for the operator that is nudged to say")
    }

    /// Rejects labels that would move an object out of its own target.
    fn check_fit(&self, reader: &mut Reader<'_>, spec: &Node, objects: &ObjectSelection, _read: &dyn ReadSection) {
        let selector = &objects.label_selector;
        let patch = spec.get("correct").and_then(|correct| correct.get("nudge")?.get("patch"));
        let labels = patch.and_then(|patch| patch.get("metadata")?.get("labels"));
        for label in self.labels().filter(|label| selector.asks_for(label)) {
            let message = format!("correct.nudge.patch.metadata.labels.{label}: the target selects its objects by it");
            reader.refuse::<()>(labels.map_or(spec.at, |labels| labels.at), message);
        }
    }
}

/// The section as written.
#[derive(Section)]
#[section(value = NudgeCorrect, check = |nudge: Self, _, _, ()| Some(nudge.into_patch()))]
pub(crate) enum WrittenNudge {
    /// 1 to 16 annotations on the object.
    #[key(map(|reader: &mut Reader<'_>, node: &Node, place: &str| read_marks(reader, node, place, false)))]
    Annotations(Vec<Mark>),
    /// In place of annotations: a merge patch, which may hold them all.
    #[key(map(read_patch))]
    Patch(NudgeCorrect),
}

impl WrittenNudge {
    fn into_patch(self) -> NudgeCorrect {
        match self {
            Self::Annotations(annotations) => NudgeCorrect { annotations, labels: Vec::new(), fields: Vec::new() },
            Self::Patch(patch) => patch,
        }
    }
}

fn read_patch(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<NudgeCorrect> {
    let patch = reader.any_fields(node, place)?;
    if patch.entries().is_empty() {
        return reader.refuse(node.at, format!("{place}: an empty patch wakes nobody"));
    }
    let (annotations, labels) = match patch.get("metadata") {
        Some(node) => read_metadata(reader, node, &patch.place("metadata")),
        None => Some((Vec::new(), Vec::new())),
    }?;
    let others = patch.entries().iter().filter(|entry| entry.key != "metadata");
    let fields = all(others.map(|entry| read_field(reader, &patch, entry)))?;
    Some(NudgeCorrect { annotations, labels, fields })
}

fn read_field(reader: &mut Reader<'_>, patch: &Fields<'_>, entry: &Entry) -> Option<(String, ValueTemplate)> {
    let place = patch.place(&entry.key);
    if let Some((_, why)) = KEPT_FIELDS.iter().find(|(field, _)| *field == entry.key) {
        return reader.refuse(entry.key_at, format!("{place}: {why}"));
    }
    let value = read_value(reader, &entry.value, &reader.site(&place, Scope::Correction))?;
    Some((entry.key.clone(), value))
}

fn read_metadata(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(Vec<Mark>, Vec<Mark>)> {
    let fields = reader.any_fields(node, place)?;
    let foreign = fields.entries().iter().find(|entry| !["annotations", "labels"].contains(&entry.key.as_str()));
    if let Some(entry) = foreign {
        let place = fields.place(&entry.key);
        return reader
            .refuse(entry.key_at, format!("{place}: of the metadata a nudge writes annotations and labels only"));
    }
    let marks = |reader: &mut Reader<'_>, node: &Node, place: &str| read_marks(reader, node, place, true);
    let annotations = reader.or(&fields, "annotations", Vec::new(), marks);
    let labels = reader.or(&fields, "labels", Vec::new(), marks);
    Some((annotations?, labels?))
}

/// Reads annotations or labels. With `may_remove`, null removes one.
pub(crate) fn read_marks(reader: &mut Reader<'_>, node: &Node, place: &str, may_remove: bool) -> Option<Vec<Mark>> {
    let fields = reader.any_fields(node, place)?;
    if !(1..=MAX_ENTRIES).contains(&fields.entries().len()) {
        return reader.refuse(node.at, format!("{place}: 1 to {MAX_ENTRIES} names are needed"));
    }
    all(fields.entries().iter().map(|entry| read_mark(reader, &fields, entry, may_remove)))
}

fn read_mark(reader: &mut Reader<'_>, fields: &Fields<'_>, entry: &Entry, may_remove: bool) -> Option<Mark> {
    let (name, place) = (&entry.key, fields.place(&entry.key));
    if !is_qualified_name(name) {
        let message =
            format!("{place}: `{name}` is no name; write it as the operator does, for example example.com/requestedAt");
        return reader.refuse(entry.key_at, message);
    }
    let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
    if prefix == GROUP || prefix.ends_with(&format!(".{GROUP}")) {
        return reader.refuse(entry.key_at, format!("{place}: it steers this project, and no operator listens to it"));
    }
    if may_remove && matches!(entry.value.content, Content::Null) {
        return Some(Mark { name: name.clone(), value: None });
    }
    let text = reader.text(&entry.value, &place)?;
    let site = reader.site(&place, Scope::Correction);
    let value = reader.compiled(&entry.value, &site, TextTemplate::parse(text, &site))?;
    Some(Mark { name: name.clone(), value: Some(value) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
