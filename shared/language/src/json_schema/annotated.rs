//! An annotated target document: every key once, with its type, bounds and meaning.

use super::{ALIKE, DESCRIBED_AT, DESCRIPTIONS, REQUIRED, alike, below, description, types};
use crate::document::sections::RECORDED;
use crate::yaml::recording::{Expectation, Recording};

/// The longest line. A comment that does not fit beside its key goes above it.
const WIDTH: usize = 118;

/// The whole language as one commented YAML document, from the tables of the JSON Schema.
#[must_use]
pub fn annotated_target() -> String {
    let mut lines = Vec::new();
    section(&RECORDED, "", 0, &mut lines);
    lines.join("\n") + "\n"
}

fn section(recording: &Recording, place: &str, indent: usize, lines: &mut Vec<String>) {
    for key in keys(recording, place) {
        let named = below(place, &key);
        let necessity = if REQUIRED.contains(&&*named) { "required" } else { "optional" };
        let comment = format!("# {necessity}. {}", description(&alike(&named)).unwrap_or_default());
        let items = format!("{named}[]");
        if keys(recording, &named).is_empty() && keys(recording, &items).is_empty() || is_reference(recording, &named) {
            push(lines, indent, &format!("{key}: {}", value(recording, &named)), &comment);
            continue;
        }
        push(lines, indent, &format!("{key}:"), &comment);
        let inside = if recording.at(&named) == Some(&Expectation::List) { items } else { named };
        let first = lines.len();
        section(recording, &inside, indent + 2, lines);
        if inside.ends_with("[]") {
            mark_item(&mut lines[first..]);
        }
        if let Some(described) = described_elsewhere(&inside) {
            lines.push(format!("{}# and the keys of {described}", " ".repeat(indent + 4)));
        }
    }
}

/// The keys of a section that no other section describes, in the order of the descriptions.
fn keys(recording: &Recording, place: &str) -> Vec<String> {
    let Some(Expectation::Keys(keys)) = recording.at(place) else { return Vec::new() };
    let order = |key: &String| {
        let named = below(place, key);
        DESCRIPTIONS.iter().position(|(described, _)| *described == named || *described == alike(&named))
    };
    let is_alike = alike(place) != place || alike(&format!("{place}.")) != format!("{place}.");
    let is_own = |key: &&String| !is_alike && (described_elsewhere(place).is_none() || order(key).is_some());
    let mut own: Vec<String> = keys.iter().filter(is_own).cloned().collect();
    own.sort_by_key(|key| order(key).unwrap_or(usize::MAX));
    own
}

/// The section that describes the keys of this one too.
fn described_elsewhere(place: &str) -> Option<&'static str> {
    let of_key = [place.to_owned(), format!("{place}."), format!("{place}[]"), format!("{place}[].")];
    let mut tables = ALIKE.iter().chain(DESCRIBED_AT);
    tables
        .find(|(prefix, _)| of_key.iter().any(|place| place == prefix))
        .map(|(_, at)| at.trim_end_matches(['.', '[', ']']))
}

/// Returns true for a reference to a Secret, which fits into one line.
fn is_reference(recording: &Recording, place: &str) -> bool {
    let keys = keys(recording, place);
    !keys.is_empty() && keys.iter().all(|key| key == "name" || key == "key") && place.ends_with("Ref")
}

fn value(recording: &Recording, place: &str) -> String {
    if let Some(described) = described_elsewhere(place) {
        return format!("<as {described}>");
    }
    match (types(place), recording.at(place)) {
        (Some([]), _) => "<any>".to_owned(),
        (Some(types), _) => format!("<{}>", types.join(" or ")),
        (None, Some(Expectation::Text)) => "<string>".to_owned(),
        (None, Some(Expectation::Map)) => "<map>".to_owned(),
        (None, Some(Expectation::List)) => "[<item>]".to_owned(),
        (None, Some(Expectation::Truth)) => "true | false".to_owned(),
        (None, Some(Expectation::Whole(least, most))) => format!("<{least} to {most}>"),
        (None, Some(Expectation::Words(words))) => words.join(" | "),
        (None, Some(Expectation::Keys(keys))) => {
            let fields: Vec<String> = keys.iter().map(|key| format!("{key}: <string>")).collect();
            format!("{{{}}}", fields.join(", "))
        }
        (None, None) => "<string>".to_owned(),
    }
}

fn push(lines: &mut Vec<String>, indent: usize, key: &str, comment: &str) {
    let indent = " ".repeat(indent);
    let line = format!("{indent}{key}  {comment}");
    if line.chars().count() <= WIDTH {
        lines.push(line);
    } else {
        lines.extend([format!("{indent}{comment}"), format!("{indent}{key}")]);
    }
}

/// Makes the lines of a section one item of a list.
fn mark_item(lines: &mut [String]) {
    let is_key = |line: &&mut String| !line.trim_start().starts_with('#');
    let mut item = lines.iter_mut().skip_while(|line| !is_key(line));
    if let Some(first) = item.next() {
        let indent = first.len() - first.trim_start().len();
        *first = format!("{}- {}", " ".repeat(indent), first.trim_start());
    }
    item.for_each(|line| line.insert_str(0, "  "));
}
