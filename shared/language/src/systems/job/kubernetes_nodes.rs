//! Maps and lists of Kubernetes manifests inside a target.

use crate::suggest::nearest;
use crate::yaml::{Content, Entry, Node, Reader};

/// Reads a map with only these keys. [`Reader::fields`] is not used, because editors know these keys from
/// Kubernetes' own schema.
pub(super) fn entries<'n>(reader: &mut Reader<'_>, node: &'n Node, place: &str, known: &[&str]) -> Option<&'n [Entry]> {
    let Content::Map(entries) = &node.content else {
        return reader.refuse(node.at, format!("{place}: a map is needed here, not {}", node.kind()));
    };
    let mut is_good = true;
    for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        is_good = false;
        let hint = match nearest(&entry.key, known.iter().copied()) {
            Some(near) => format!(": did you mean `{near}`?"),
            None => format!("; a Job of ours may have: {}", known.join(", ")),
        };
        reader.refuse::<()>(entry.key_at, format!("unknown key `{}` in {place}{hint}", entry.key));
    }
    is_good.then_some(entries)
}

/// Reads the items of a list.
pub(super) fn items<'n>(reader: &mut Reader<'_>, node: &'n Node, place: &str) -> Option<&'n [Node]> {
    match &node.content {
        Content::List(items) => Some(items),
        _ => reader.refuse(node.at, format!("{place}: a list is needed here, not {}", node.kind())),
    }
}
