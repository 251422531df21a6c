//! Reads nodes of a document as templates: one expression, or a tree of them.

use crate::cel::{Expression, Node as ValueNode, Scope, Site, TextTemplate, ValueTemplate};
use crate::yaml::fields::all;
use crate::yaml::node::{Content, Node};
use crate::yaml::reader::Reader;

/// Returns a reader of expressions in this scope.
pub(crate) fn expression(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Expression> {
    move |reader, node, place| read_expression(reader, node, &reader.site(place, scope))
}

/// Returns a reader of texts with `${…}` in this scope.
pub(crate) fn text_template(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<TextTemplate> {
    move |reader, node, place| {
        let text = reader.text(node, place)?;
        let site = reader.site(place, scope);
        reader.compiled(node, &site, TextTemplate::parse(text, &site))
    }
}

/// Returns a reader of trees of templates in this scope.
pub(crate) fn value_template(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<ValueTemplate> {
    move |reader, node, place| read_value(reader, node, &reader.site(place, scope))
}

/// Reads a text that is one `${…}`.
pub(crate) fn read_expression(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<Expression> {
    let text = reader.text(node, &site.place)?;
    reader.compiled(node, site, Expression::parse(text, site))
}

/// Reads a tree of templates.
pub(crate) fn read_value(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<ValueTemplate> {
    Some(ValueTemplate::new(read_value_node(reader, node, site)?, site.clone()))
}

fn read_value_node(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<ValueNode> {
    match &node.content {
        Content::Text(text) => reader.compiled(node, site, ValueNode::parse(text, site)),
        Content::List(items) => {
            let read =
                |reader: &mut Reader<'_>, item: &Node, place: &str| read_value_node(reader, item, &site.at(place));
            reader.each(items, &site.place, read).map(ValueNode::list)
        }
        Content::Map(entries) => {
            let fields = entries.iter().map(|entry| {
                let place = format!("{}.{}", site.place, entry.key);
                let mut value = read_value_node(reader, &entry.value, &site.at(&place));
                if crate::cel::is_template(&entry.key) {
                    let message = format!("{place}: keys are literal; build the map in one ${{…}}");
                    value = reader.refuse(entry.key_at, message);
                }
                value.map(|value| (entry.key.clone(), value))
            });
            all(fields).map(ValueNode::map)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(ValueNode::Constant(node.to_json())),
    }
}
