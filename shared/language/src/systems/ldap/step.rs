//! One step of a correction: an entry to add, modify or delete.

use super::template::{Form, LdapTemplate, template};
use super::values::{AttributeTemplate, attributes};
use crate::cel::{EvaluationError, Expression, Expressions, Scope, Variables};
use crate::section::{Leaf, Section, map, section, text};
use crate::spec::naming::{step_name, unanswered_steps};
use crate::systems::ldap::{Change, Edit};
use crate::systems::steps::{Role, Step, StepSection};
use crate::yaml::{Fields, Reader, expression};

/// One step of a correction.
#[derive(Debug, Section)]
#[section(context = Scope)]
pub struct LdapStep {
    /// The name in messages. Default: the position.
    #[key(step_name())]
    pub name: Option<String>,
    /// Skipped if this ${…} is false.
    #[key(text(expression(context)))]
    when: Option<Expression>,
    #[key(flatten = context)]
    work: Work,
}

#[derive(Debug, Section)]
#[section(context = Scope)]
enum Work {
    /// Creates an entry.
    #[key(section::<Add>(context))]
    Add(Add),
    /// Changes an entry as one operation.
    #[key(section::<WrittenModify>(context))]
    Modify(Modify),
    /// Deletes an entry.
    #[key(section::<Delete>(context))]
    Delete(Delete),
}

#[derive(Debug, Section)]
#[section(context = Scope)]
struct Add {
    /// The DN, with escaped values.
    #[key(text(template(Form::Name, context)))]
    dn: LdapTemplate,
    /// Values by attribute: a text, a list, or {dn: …}.
    #[key(map(attributes(context)))]
    attributes: Vec<AttributeTemplate>,
}

#[derive(Debug)]
struct Modify {
    dn: LdapTemplate,
    edits: Vec<(Edit, AttributeTemplate)>,
}

#[derive(Section)]
#[section(context = Scope, value = Modify, rules = check_edits, check = make_modify)]
struct WrittenModify {
    /// The DN, with escaped values.
    #[key(text(template(Form::Name, context)))]
    dn: LdapTemplate,
    /// Sets all values. No value removes the attribute.
    #[key(map(attributes(context)), default)]
    replace: Vec<AttributeTemplate>,
    /// Adds values.
    #[key(map(attributes(context)), default)]
    add: Vec<AttributeTemplate>,
    /// Removes values.
    #[key(map(attributes(context)), default)]
    delete: Vec<AttributeTemplate>,
}

#[derive(Debug, Section)]
#[section(context = Scope)]
struct Delete {
    /// The DN, with escaped values.
    #[key(text(template(Form::Name, context)))]
    dn: LdapTemplate,
}

fn check_edits(reader: &mut Reader<'_>, fields: &Fields<'_>, _: Scope) -> Option<()> {
    reader.at_least_one(fields, &["replace", "add", "delete"])
}

/// Deletions come first, so that a value can be moved within one modification.
fn make_modify(written: WrittenModify, _: &mut Reader<'_>, _: &Fields<'_>, _: Scope) -> Option<Modify> {
    let WrittenModify { dn, replace, add, delete } = written;
    let edits = [(Edit::Delete, delete), (Edit::Replace, replace), (Edit::Add, add)];
    let edits = edits.into_iter().flat_map(|(edit, attributes)| attributes.into_iter().map(move |one| (edit, one)));
    Some(Modify { dn, edits: edits.collect() })
}

impl LdapStep {
    /// Returns the name of its operation.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        match self.work {
            Work::Add(_) => "add",
            Work::Modify(_) => "modify",
            Work::Delete(_) => "delete",
        }
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
        Ok(Some(match &self.work {
            Work::Delete(Delete { dn }) => Change::Delete { dn: dn.render(variables)? },
            Work::Add(Add { dn, attributes }) => {
                let dn = dn.render(variables)?;
                let rendered = attributes.iter().map(|template| template.render(variables));
                let mut attributes = rendered.collect::<Result<Vec<_>, _>>()?;
                attributes.retain(|attribute| !attribute.values.is_empty());
                Change::Add { dn, attributes }
            }
            Work::Modify(Modify { dn, edits }) => {
                let dn = dn.render(variables)?;
                let rendered = edits.iter().map(|(edit, template)| Ok((*edit, template.render(variables)?)));
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
        match &self.work {
            Work::Add(Add { dn, attributes }) => {
                visit(Role::Address, dn);
                visit(Role::Body, attributes);
            }
            Work::Modify(Modify { dn, edits }) => {
                visit(Role::Address, dn);
                visit(Role::Body, edits);
            }
            Work::Delete(Delete { dn }) => visit(Role::Address, dn),
        }
    }
}

/// Maximum steps of one correction, as for SQL statements.
const MAX_STEPS: usize = 32;

/// A replacement is a deletion and a creation, and has no steps of its own.
impl StepSection for LdapStep {
    type Context = ();

    const ACTIONS: &'static [&'static str] = &["create", "update", "delete"];

    fn steps(action: &'static str, (): ()) -> impl Leaf<Value = Vec<Self>> {
        let scope = if action == "delete" { Scope::Deletion } else { Scope::Correction };
        unanswered_steps(1..=MAX_STEPS, section::<Self>(scope))
    }
}
