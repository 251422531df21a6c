//! Finds texts in `desired` that are compared with an attribute of an LDAP entry. An attribute is a list, so a text
//! differs in every poll.

use std::collections::BTreeSet;

use crate::types::infer::Inference;
use crate::types::kind_schema::Type;
use crate::types::{Check, TypeMistake};
use crate::yaml::{Content, Node};

impl Check<'_> {
    /// Checks the keys of `desired` that are attributes of the read.
    pub(super) fn check_ldap(&mut self, spec: &Node) {
        let Some(ldap) = spec.get("read").and_then(|read| read.get("ldap")) else { return };
        let desired = spec.get("compare").and_then(|compare| compare.get("desired"));
        // Only without `observed` are the values those of the entry.
        let (Some(Node { content: Content::Map(entries), .. }), None) = (desired, ldap.get("observed")) else { return };
        let attributes: BTreeSet<_> = texts(ldap.get("attributes")).collect();
        for entry in entries.iter().filter(|entry| attributes.contains(entry.key.as_str())) {
            let Some(kind) = self.single(&entry.value) else { continue };
            let (key, at) = (&entry.key, entry.value.at);
            let value = entry.value.as_text().map_or("…".to_owned(), |text| format!("\"{text}\""));
            let message =
                format!("an attribute of an LDAP entry is a list of texts, and `{key}` is {kind}: write [{value}]");
            self.found.push((TypeMistake { place: (at.line, at.column), message }, None));
        }
    }

    /// Returns the type of a value that is certainly no list.
    fn single(&self, node: &Node) -> Option<&'static str> {
        match &node.content {
            Content::Text(text) => {
                let expressions = self.expressions(text);
                let is_whole = text.starts_with("${") && text.ends_with('}');
                let ([(_, expression, _)], true) = (expressions.as_slice(), is_whole) else { return Some("a text") };
                let mut inference = Inference::new(self.kind, BTreeSet::new());
                match inference.infer(expression) {
                    Type::Optional(inner) => described(&inner),
                    found => described(&found),
                }
            }
            Content::Bool(_) | Content::Number(_) => Some("no list"),
            Content::Null | Content::List(_) | Content::Map(_) => None,
        }
    }
}

fn described(found: &Type<'_>) -> Option<&'static str> {
    match found {
        Type::Text => Some("a text"),
        Type::Bool | Type::Number => Some("no list"),
        _ => None,
    }
}

fn texts(node: Option<&Node>) -> impl Iterator<Item = &str> {
    let items = match node.map(|node| &node.content) {
        Some(Content::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(Node::as_text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::types::{KindSchema, type_mistakes};
    use serde_json::json;

    fn mistakes(observed: &str, desired: &str) -> Vec<String> {
        let text = json!({"type": "string"});
        let properties = json!({"mail": text, "list": {"type": "array", "items": text}, "open": {}});
        let required = json!(["mail", "list", "open"]);
        let spec = json!({"type": "object", "required": required, "properties": properties});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let document = format!(
            "spec:\n  read: {{ldap: {{attributes: [mail, cn]{observed}}}}}\n  compare: {{desired: {{{desired}}}}}"
        );
        let kind = KindSchema { name: "g/v1 A", root: &schema, document: &schema, is_complete: true };
        type_mistakes(&document, kind).into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn a_text_for_an_attribute_is_told() {
        let message =
            "an attribute of an LDAP entry is a list of texts, and `mail` is a text: write [\"${self.spec.mail}\"]";
        assert_eq!(mistakes("", "mail: '${self.spec.mail}'"), [message]);
        for single in ["ann", "'a@${self.spec.mail}'", "'${string(1)}'", "1", "'${self.spec.?mail}'"] {
            assert_eq!(mistakes("", &format!("mail: {single}")).len(), 1, "{single}");
        }
        for list in ["['${self.spec.mail}']", "'${self.spec.list}'", "'${[self.spec.mail]}'", "'${self.spec.open}'"] {
            assert_eq!(mistakes("", &format!("mail: {list}")), Vec::<String>::new(), "{list}");
        }
        assert_eq!(mistakes("", "other: a"), Vec::<String>::new());
        assert_eq!(mistakes(", observed: '${row}'", "mail: a"), Vec::<String>::new());
    }
}
