//! Attributes of a change, with templates as values.

use serde_json::Value;

use super::name::is_attribute;
use super::template::{Form, LdapTemplate, template};
use crate::cel::{EvaluationError, Expression, Expressions, Scope, ValueTemplate, Variables};
use crate::section::{Section, text};
use crate::systems::ldap::Attribute;
use crate::yaml::{Content, Node, Reader, all, read_value};

/// The values of one attribute.
#[derive(Debug)]
pub(super) struct AttributeTemplate {
    name: String,
    values: Vec<ValuePart>,
}

#[derive(Debug)]
enum ValuePart {
    /// A text, a number, a boolean, or a list of them.
    Value(ValueTemplate),
    /// `{dn: …}`: a DN whose expressions are escaped.
    Name(LdapTemplate),
}

impl AttributeTemplate {
    /// Renders the values. Null and an optional without value have none.
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<Attribute, EvaluationError> {
        let mut values = Vec::new();
        for part in &self.values {
            match part {
                ValuePart::Name(name) => values.push(name.render(variables)?),
                ValuePart::Value(template) => {
                    let rendered = match template.render(variables)? {
                        Value::Array(items) => items,
                        value => vec![value],
                    };
                    for value in rendered {
                        let text = text_of(value);
                        values.extend(text.map_err(|mistake| template.site().error(mistake))?);
                    }
                }
            }
        }
        Ok(Attribute { name: self.name.clone(), values })
    }
}

impl Expressions for AttributeTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        for part in &self.values {
            match part {
                ValuePart::Value(value) => value.visit(visit),
                ValuePart::Name(name) => name.visit(visit),
            }
        }
    }
}

/// Returns a value in the form of directories, where booleans are upper-case words.
fn text_of(value: Value) -> Result<Option<String>, &'static str> {
    Ok(match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => return Err("a value is empty, which directories do not store"),
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(if truth { "TRUE" } else { "FALSE" }.to_owned()),
        Value::Array(_) | Value::Object(_) => return Err("a value has to be a text, a number or a boolean"),
    })
}

/// Reads a map from names of attributes to their values.
pub(super) fn attributes(
    scope: Scope,
) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<AttributeTemplate>> + Copy {
    move |reader, node, place| {
        reader.any_fields(node, place)?;
        let Content::Map(entries) = &node.content else { return None };
        if entries.is_empty() {
            return reader.refuse(node.at, format!("{place}: at least one attribute is needed"));
        }
        let read = entries.iter().map(|entry| {
            let place = format!("{place}.{}", entry.key);
            if !is_attribute(&entry.key) {
                return reader.refuse(entry.key_at, format!("{place}: `{}` is no name of an attribute", entry.key));
            }
            let values = match &entry.value.content {
                Content::List(items) => reader.each(items, &place, read_part(scope)),
                _ => read_part(scope)(reader, &entry.value, &place).map(|part| vec![part]),
            };
            Some(AttributeTemplate { name: entry.key.clone(), values: values? })
        });
        all(read)
    }
}

/// A value that is a DN.
#[derive(Section)]
#[section(context = Scope)]
struct NameValue {
    /// The DN, with escaped values.
    #[key(text(template(Form::Name, context)))]
    dn: LdapTemplate,
}

fn read_part(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<ValuePart> {
    move |reader, node, place| {
        if matches!(node.content, Content::Map(_)) {
            return NameValue::read(reader, node, place, scope).map(|value| ValuePart::Name(value.dn));
        }
        let site = reader.site(place, scope).sending();
        read_value(reader, node, &site).map(ValuePart::Value)
    }
}
