//! `as` and `lists`: the format of a response body.

use crate::section::{Section, list, text, words};
use crate::yaml::{Fields, Node, Reader};

/// Maximum names in `lists`. More are a mistake: one kind of response repeats only a few elements.
const MAX_LISTS: usize = 32;

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

/// The keys of the format.
#[derive(Section)]
#[section(value = Format, rules = check_lists, check = |format: Self, _, _, ()| Some(format.into_format()))]
pub(crate) struct WrittenFormat {
    /// Format of the response body. Default: json.
    #[key(words(WORDS), name = "as", default = JSON)]
    word: &'static str,
    /// With as: xml, names of elements that are always lists. 1 to 32.
    #[key(list(1..=MAX_LISTS, text(read_element)), default)]
    lists: Vec<String>,
}

const JSON: &str = "json";
const TEXT: &str = "text";
const XML: &str = "xml";
/// The values of `as`.
const WORDS: &[(&str, &str)] = &[(JSON, JSON), (TEXT, TEXT), (XML, XML)];

impl WrittenFormat {
    fn into_format(self) -> Format {
        match self.word {
            XML => Format::Xml { lists: self.lists },
            TEXT => Format::Text,
            _ => Format::Json,
        }
    }
}

fn check_lists(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    let word = fields.get("as").map_or(Some(JSON), Node::as_text);
    match fields.get("lists").filter(|_| matches!(word, Some(JSON | TEXT))) {
        Some(node) => reader.refuse(node.at, format!("{}: it belongs to as: xml", fields.place("lists"))),
        None => Some(()),
    }
}

fn read_element(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let name = reader.text(node, place)?;
    if name.contains(':') {
        return reader.refuse(node.at, format!("{place}: write the name without its prefix, which is dropped"));
    }
    Some(name.to_owned())
}
