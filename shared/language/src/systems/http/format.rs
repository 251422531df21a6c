//! `as` and `lists`: the format of a response body.

use crate::yaml::{Fields, Reader};

/// Maximum names in `lists`. More are a mistake: one kind of response repeats only a few elements.
const MAX_LISTS: usize = 32;

/// Keys of the format of a response.
pub(crate) const FORMAT_KEYS: &[&str] = &["as", "lists"];

/// Format of a response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON. Any other content is malformed.
    Json,
    /// Text, which is never malformed.
    Text,
    /// XML. Any other content is malformed.
    Xml {
        /// Names of elements that are always lists. One and many then look alike.
        lists: Vec<String>,
    },
}

/// Reads the format. Default: JSON.
pub(crate) fn read_format(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Format> {
    let lists = reader.or(fields, "lists", Vec::new(), |reader, node, place| {
        let items = reader.items(node, place, 1..=MAX_LISTS)?;
        reader.each(items, place, |reader, item, place| match reader.text(item, place)? {
            name if name.contains(':') => {
                reader.refuse(item.at, format!("{place}: write the name without its prefix, which is dropped"))
            }
            name => Some(name.to_owned()),
        })
    });
    let name = reader.or(fields, "as", "json", |reader, node, place| {
        reader.choice(node, place, &[("json", "json"), ("text", "text"), ("xml", "xml")])
    });
    match (name?, fields.get("lists")) {
        ("xml", _) => Some(Format::Xml { lists: lists? }),
        (_, Some(node)) => reader.refuse(node.at, format!("{}: it belongs to as: xml", fields.place("lists"))),
        ("text", None) => Some(Format::Text),
        (_, None) => Some(Format::Json),
    }
}
