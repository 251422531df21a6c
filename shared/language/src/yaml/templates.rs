//! Nodes of a document as templates: one expression, or a tree of them.
//!
//! It must not know where in a target they stand.

use crate::cel::{Expression, Node as ValueNode, Site, ValueTemplate};
use crate::yaml::raw::Reader;
use crate::yaml::{Content, Node};

/// One `${…}` and nothing else.
pub(crate) fn read_expression(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<Expression> {
    let text = reader.text(node, &site.place)?;
    reader.compiled(node, site, Expression::parse(text, site))
}

/// A tree of templates.
pub(crate) fn read_value(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<ValueTemplate> {
    Some(ValueTemplate::new(read_value_node(reader, node, site)?, site.clone()))
}

fn read_value_node(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<ValueNode> {
    match &node.content {
        Content::Text(text) => reader.compiled(node, site, ValueNode::parse(text, site)),
        Content::List(items) => {
            let items: Vec<Option<ValueNode>> = items
                .iter()
                .enumerate()
                .map(|(position, item)| read_value_node(reader, item, &site.at(&format!("{}[{position}]", site.place))))
                .collect();
            items.into_iter().collect::<Option<_>>().map(ValueNode::list)
        }
        Content::Map(entries) => {
            let mut fields = Vec::with_capacity(entries.len());
            for entry in entries {
                let place = format!("{}.{}", site.place, entry.key);
                let mut value = read_value_node(reader, &entry.value, &site.at(&place));
                if crate::cel::is_template(&entry.key) {
                    let message = format!("{place}: keys are literal; build the map in one ${{…}}");
                    value = reader.refuse(entry.key_at, message);
                }
                fields.push(value.map(|value| (entry.key.clone(), value)));
            }
            fields.into_iter().collect::<Option<_>>().map(ValueNode::map)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(ValueNode::Constant(node.to_json())),
    }
}
