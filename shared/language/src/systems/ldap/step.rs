//! One step of a correction: an entry to add, modify or delete.

use super::template::{Form, LdapTemplate, template};
use super::values::{AttributeTemplate, attributes};
use crate::cel::{DESIRED, DIFFERS, EvaluationError, Expression, Scope, Variables};
use crate::secrets::secret_variable;
use crate::spec::naming::read_step_name;
use crate::systems::section::WithDesired;
use crate::yaml::{Node, Reader, expression};
use drift_api::{Change, Edit, FieldPaths};

/// One step of a correction.
#[derive(Debug)]
pub struct LdapStep {
    /// Its name in messages.
    pub name: Option<String>,
    when: Option<Expression>,
    dn: LdapTemplate,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Add(Vec<AttributeTemplate>),
    Modify(Vec<(Edit, AttributeTemplate)>),
    Delete,
}

impl LdapStep {
    fn attributes(&self) -> impl Iterator<Item = &AttributeTemplate> {
        let (added, edited): (&[_], &[_]) = match &self.work {
            Work::Add(attributes) => (attributes, &[]),
            Work::Modify(edits) => (&[], edits),
            Work::Delete => (&[], &[]),
        };
        added.iter().chain(edited.iter().map(|(_, attribute)| attribute))
    }

    /// Returns true if it sends the secret of that name.
    #[must_use]
    pub fn sends(&self, secret: &str) -> bool {
        self.attributes().any(|attribute| attribute.reads(&secret_variable(secret)))
    }

    /// Renders the change. `None` if the step is skipped, or has nothing to change.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Option<Change>, EvaluationError> {
        if let Some(when) = &self.when
            && !when.evaluate_bool(variables)?
        {
            return Ok(None);
        }
        let dn = self.dn.render(variables)?;
        Ok(Some(match &self.work {
            Work::Delete => Change::Delete { dn },
            Work::Add(templates) => {
                let rendered = templates.iter().map(|template| template.render(variables));
                let mut attributes = rendered.collect::<Result<Vec<_>, _>>()?;
                attributes.retain(|attribute| !attribute.values.is_empty());
                Change::Add { dn, attributes }
            }
            Work::Modify(templates) => {
                let rendered = templates.iter().map(|(edit, template)| Ok((*edit, template.render(variables)?)));
                let mut edits = rendered.collect::<Result<Vec<_>, EvaluationError>>()?;
                // Without values, `add` is invalid, and `delete` would remove the whole attribute.
                edits.retain(|(edit, attribute)| *edit == Edit::Replace || !attribute.values.is_empty());
                if edits.is_empty() {
                    return Ok(None);
                }
                Change::Modify { dn, edits }
            }
        }))
    }

    /// The fields under `self` in its request, and whether it reads the desired state.
    pub(super) fn made_of(&self) -> (FieldPaths, bool) {
        let mut fields = self.dn.fields();
        self.attributes().for_each(|attribute| fields.extend(&attribute.fields()));
        (fields, self.dn.reads(DESIRED) || self.attributes().any(|attribute| attribute.reads(DESIRED)))
    }

    pub(super) fn fields(&self) -> FieldPaths {
        let (mut fields, _) = self.made_of();
        self.when.iter().for_each(|when| fields.extend(when.fields()));
        fields
    }

    pub(super) fn reads_differs(&self) -> bool {
        let is_in_request = self.dn.reads(DIFFERS) || self.attributes().any(|attribute| attribute.reads(DIFFERS));
        is_in_request || self.when.as_ref().is_some_and(|when| when.reads(DIFFERS))
    }

    /// Returns true if it certainly sends nothing when only this key differs.
    pub(super) fn leaves(&self, key: &str) -> bool {
        self.when.as_ref().is_some_and(|when| when.is_false_where_differs(key))
    }

    /// The fields under `self` that select the changed entry.
    pub(super) fn address(&self, with_desired: &WithDesired<'_>) -> FieldPaths {
        with_desired(self.dn.fields(), &|variable| self.dn.reads(variable))
    }
}

/// Returns a reader of one step in this scope.
pub(super) fn step(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<LdapStep> {
    move |reader, node, place| {
        let fields = reader.fields(node, place, &["name", "when", "add", "modify", "delete"])?;
        let name = reader.optional(&fields, "name", read_step_name);
        let when = reader.optional(&fields, "when", expression(scope));
        let kinds: Vec<&str> =
            ["add", "modify", "delete"].into_iter().filter(|key| fields.get(key).is_some()).collect();
        let [kind] = kinds.as_slice() else {
            return reader.refuse(fields.at(), format!("{place}: exactly one of add, modify, delete is needed"));
        };
        let (dn, work) =
            reader.needed(&fields, kind, |reader, node, place| read_work(reader, node, place, (kind, scope)))?;
        Some(LdapStep { name: name?, when: when?, dn, work })
    }
}

fn read_work(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    (kind, scope): (&str, Scope),
) -> Option<(LdapTemplate, Work)> {
    let keys: &[&str] = match kind {
        "add" => &["dn", "attributes"],
        "modify" => &["dn", "replace", "add", "delete"],
        _ => &["dn"],
    };
    let fields = reader.fields(node, place, keys)?;
    let dn = reader.needed(&fields, "dn", template(Form::Name, scope));
    let work = match kind {
        "add" => reader.needed(&fields, "attributes", attributes(scope)).map(Work::Add),
        "modify" => {
            let mut edits = Vec::new();
            // Deletions come first, so that a value can be moved within one modification.
            for (key, edit) in [("delete", Edit::Delete), ("replace", Edit::Replace), ("add", Edit::Add)] {
                let read = reader.or(&fields, key, Vec::new(), attributes(scope))?;
                edits.extend(read.into_iter().map(|attribute| (edit, attribute)));
            }
            if edits.is_empty() {
                return reader.refuse(fields.at(), format!("{place}: at least one of replace, add, delete is needed"));
            }
            Some(Work::Modify(edits))
        }
        _ => Some(Work::Delete),
    };
    Some((dn?, work?))
}
