//! One step of a correction: an entry to add, modify or delete.

use super::template::{Form, LdapTemplate, template};
use super::values::{AttributeTemplate, attributes};
use crate::cel::{EvaluationError, Expression, Expressions, Scope, Variables};
use crate::spec::naming::read_step_name;
use crate::systems::ldap::{Change, Edit};
use crate::systems::steps::{Role, Step};
use crate::yaml::{Node, Reader, expression};

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
}

impl Step for LdapStep {
    fn visit_parts<'e>(&'e self, visit: &mut dyn FnMut(Role, &'e dyn Expressions)) {
        visit(Role::When, &self.when);
        visit(Role::Address, &self.dn);
        match &self.work {
            Work::Add(attributes) => visit(Role::Body, attributes),
            Work::Modify(edits) => visit(Role::Body, edits),
            Work::Delete => {}
        }
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
            reader.at_least_one(&fields, &["replace", "add", "delete"])?;
            Some(Work::Modify(edits))
        }
        _ => Some(Work::Delete),
    };
    Some((dn?, work?))
}
