//! Finds the position of a field of an object in a document.
//!
//! Templates are compiled without positions, and the check against the kind's schema knows nothing of documents. So the
//! position is searched for in the text.

use crate::document::places::Places;
use crate::yaml::{Content, Node, Position};

/// Characters allowed between two fields of a chain: `a.b`, `a.?b`, `a['b']`, `a[?"b"]`.
const BETWEEN: [char; 6] = ['.', '?', '[', '\'', '"', '\\'];

/// Position at which the last field of a path is first selected on the field before it, or else on anything. Line 0 if
/// the text contains nothing like it.
pub(crate) fn locate_field(text: &str, path: &[String]) -> Position {
    let Some((field, around)) = path.split_last() else { return Position::default() };
    let parent = around.last().map_or("self", String::as_str);
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let selected = text.match_indices(field.as_str()).filter(|(start, _)| {
        let ends = !text[start + field.len()..].starts_with(is_word);
        ends && text[..*start].ends_with(BETWEEN)
    });
    let starts: Vec<usize> = selected.map(|(start, _)| start).collect();
    let of_parent = |start: &&usize| text[..**start].trim_end_matches(BETWEEN).ends_with(parent);
    starts.iter().find(of_parent).or(starts.first()).map_or_else(Position::default, |start| place(text, *start))
}

/// Position of the first `publish` or `store` of that status field, or of `ready`, or line 0.
pub(crate) fn locate_written(places: &Places, key: &str, field: &str) -> Position {
    // A field of the desired state may also be called `publish`, so only `spec.publish` counts. `store` occurs
    // only in steps.
    let found = places.spec().and_then(|spec| match key {
        "store" => stored(spec.get("correct")?, field),
        "ready" => key_place(spec, key),
        _ => key_place(spec.get(key)?, field),
    });
    found.unwrap_or_default()
}

/// Position of the first `store` of the field in or below a node.
fn stored(node: &Node, field: &str) -> Option<Position> {
    let below = |node: &Node| stored(node, field);
    match &node.content {
        Content::Map(entries) => entries.iter().find_map(|entry| {
            let here = (entry.key == "store").then(|| key_place(&entry.value, field)).flatten();
            here.or_else(|| below(&entry.value))
        }),
        Content::List(items) => items.iter().find_map(below),
        _ => None,
    }
}

fn key_place(map: &Node, key: &str) -> Option<Position> {
    let Content::Map(entries) = &map.content else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_at)
}

fn place(text: &str, start: usize) -> Position {
    let before = &text[..start];
    let line = before.rsplit('\n').next().unwrap_or_default();
    Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_field_is_found_where_it_is_written() {
        let text = "spec:\n  compare: {desired: {publish: {id: 1}, store: {id: 1}}}\n  publish: {size: 1, id: 2}\n  correct:\n    http:\n      create: \
                    [{store: {size: 1}}, {body: {store: 3}, store: {id: 1}}]";
        let table = [
            ("publish", "id", (3, 22)),
            ("store", "id", (6, 63)),
            ("store", "none", (0, 0)),
            ("publish", "none", (0, 0)),
        ];
        for (key, field, (line, column)) in table {
            assert_eq!(locate_written(&Places::of(text), key, field), Position { line, column }, "{key} {field}");
        }
        assert_eq!(locate_written(&Places::of(": ["), "publish", "id"), Position::default());
    }

    #[test]
    fn a_field_is_found_where_it_is_selected() {
        let text = "tll: 'é ${self.spec.?tllx}'\n b: \"${self.status.tll + self.spec[?'tll']}\"\nc: ${x.zone.name}";
        let table = [
            (&["spec", "tll"][..], (2, 38)),
            (&["status", "tll"], (2, 20)),
            (&["spec", "tllx"], (1, 22)),
            (&["spec", "zone", "name"], (3, 13)),
            (&["status", "zone"], (3, 8)),
            (&["spec", "absent"], (0, 0)),
            (&["spec"], (1, 16)),
        ];
        for (path, (line, column)) in table {
            let path: Vec<String> = path.iter().map(|field| (*field).to_owned()).collect();
            assert_eq!(locate_field(text, &path), Position { line, column }, "{path:?}");
        }
    }
}
