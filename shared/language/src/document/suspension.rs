//! Sets `spec.suspend` in the text of a document. It changes one line and keeps every other character.
//!
//! The position of the edit comes from the syntax tree. The edited text is parsed again, so an unexpected YAML notation
//! is rejected and never corrupted.

use std::ops::Range;

use serde_json::Value;

use crate::yaml::{self, Content, Entry, Position};

/// The path of the edited key.
const SPEC: &str = "spec";
const SUSPEND: &str = "suspend";

/// An edited document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole document.
    pub text: String,
    /// The new or changed line, from 1.
    pub line: usize,
}

/// The notation of the text does not allow an edit of a single line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`spec.suspend` cannot be set in this text by a change of one line: edit it by hand")]
pub struct NotEditable;

/// Sets `spec.suspend` in the text of a document. `None` if it already has the value, explicitly or by default.
///
/// # Errors
/// Returns [`NotEditable`], also if the text is not a document.
pub fn set_suspend(text: &str, suspend: bool) -> Result<Option<Edited>, NotEditable> {
    let root = yaml::parse(text).map_err(|_| NotEditable)?;
    let spec = entry(&root.content, SPEC).ok_or(NotEditable)?;
    let (bytes, written) = match entry(&spec.value.content, SUSPEND) {
        Some(known) if known.value.to_json() == Value::Bool(suspend) => return Ok(None),
        Some(known) => (known.value.bytes(), suspend.to_string()),
        None if !suspend => return Ok(None),
        None => addition(text, spec).ok_or(NotEditable)?,
    };
    let (before, after) = (text.get(..bytes.start), text.get(bytes.end..));
    let (before, after) = before.zip(after).ok_or(NotEditable)?;
    let line = before.matches('\n').count() + 1;
    let edited = format!("{before}{written}{after}");
    let mut desired = root.to_json();
    desired[SPEC][SUSPEND] = Value::Bool(suspend);
    let is_as_desired = yaml::parse(&edited).is_ok_and(|read| read.to_json() == desired);
    if is_as_desired { Ok(Some(Edited { text: edited, line })) } else { Err(NotEditable) }
}

fn entry<'n>(content: &'n Content, key: &str) -> Option<&'n Entry> {
    let Content::Map(entries) = content else { return None };
    entries.iter().find(|entry| entry.key == key)
}

/// Position and text of the new key in a `spec` that lacks it. It becomes the first key.
fn addition(text: &str, spec: &Entry) -> Option<(Range<usize>, String)> {
    let Content::Map(keys) = &spec.value.content else { return None };
    let first = byte_at(text, keys.first()?.key_at)?;
    let line_start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[line_start..first];
    let is_alone = indent.bytes().all(|byte| byte == b' ');
    if text[..first].trim_end().ends_with('{') {
        let key = if text[first..].starts_with('"') { "\"suspend\"" } else { SUSPEND };
        let gap = if is_alone { format!("\n{indent}") } else { " ".to_owned() };
        return Some((first..first, format!("{key}: true,{gap}")));
    }
    // Inserted right below the line of `spec`, so that a comment above the first key stays with that key.
    let below = byte_at(text, spec.key_at)?;
    let below = below + text[below..].find('\n')? + 1;
    let end_of_line = if text[..below].ends_with("\r\n") { "\r\n" } else { "\n" };
    is_alone.then(|| (below..below, format!("{indent}{SUSPEND}: true{end_of_line}")))
}

fn byte_at(text: &str, at: Position) -> Option<usize> {
    let line: usize = text.split_inclusive('\n').take(at.line.checked_sub(1)?).map(str::len).sum();
    let column = text[line..].char_indices().nth(at.column.checked_sub(1)?)?;
    Some(line + column.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(text: &str, suspend: bool, (expected, line): (&str, usize)) {
        let edited = set_suspend(text, suspend).unwrap().unwrap();
        assert_eq!((edited.text.as_str(), edited.line), (expected, line));
    }

    #[test]
    fn one_line_changes_and_the_rest_stays() {
        let block =
            "# é\nmetadata: {name: t}\nspec:   # ours\n  # which\n  objects: {kind: A}   # all\n\n  interval: 5m\n";
        let suspended = "# é\nmetadata: {name: t}\nspec:   # ours\n  suspend: true\n  # which\n  objects: {kind: A}   # all\n\n  interval: 5m\n";
        becomes(block, true, (suspended, 4));
        becomes(suspended, false, (&suspended.replace("true", "false"), 4));
        becomes(
            "spec:\n    a: é\n    suspend:  false  # why\n",
            true,
            ("spec:\n    a: é\n    suspend:  true  # why\n", 3),
        );
        becomes("spec:\r\n  a: 1\r\n", true, ("spec:\r\n  suspend: true\r\n  a: 1\r\n", 2));
    }

    #[test]
    fn documents_on_one_line_and_json_are_edited_too() {
        becomes("{kind: P, spec: {objects: x}}", true, ("{kind: P, spec: {suspend: true, objects: x}}", 1));
        becomes("{\"spec\": {\"a\": 1}}\n", true, ("{\"spec\": {\"suspend\": true, \"a\": 1}}\n", 1));
        let json = "{\n  \"spec\": {\n    \"a\": 1\n  }\n}\n";
        becomes(json, true, ("{\n  \"spec\": {\n    \"suspend\": true,\n    \"a\": 1\n  }\n}\n", 3));
        becomes("spec: {a: 1, suspend: true}\n", false, ("spec: {a: 1, suspend: false}\n", 1));
        becomes("spec:\n  {a: 1}\n", true, ("spec:\n  {suspend: true, a: 1}\n", 2));
    }

    #[test]
    fn what_says_so_already_stays() {
        for (text, suspend) in
            [("spec: {a: 1}", false), ("spec: {suspend: true}", true), ("spec: {suspend: false}", false)]
        {
            assert_eq!(set_suspend(text, suspend), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_no_line_can_change_is_refused() {
        for text in [
            "",
            "a: 1",
            "spec:\n",
            "spec: []",
            "spec: {}",
            "spec: {suspend: 1x, suspend: 2}",
            ": [",
            "a: &x {b: 1}\nspec: *x\n",
        ] {
            assert_eq!(set_suspend(text, true), Err(NotEditable), "{text}");
        }
    }
}
