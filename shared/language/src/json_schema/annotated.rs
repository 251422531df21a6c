//! An annotated target document: every key once, with its type, bounds and meaning.

use crate::document::sections::{LANGUAGE, place_below, section_in};
use crate::section::{Key, Schema};

/// The longest line. A comment that does not fit beside its key goes above it.
const WIDTH: usize = 118;

/// The fewest common keys for which another section is named in their place.
const ENOUGH: usize = 3;

/// The whole language as one commented YAML document.
#[must_use]
pub fn annotated_target() -> String {
    let mut document = Annotated::default();
    document.section(&LANGUAGE, "", 0);
    document.lines.join("\n") + "\n"
}

/// A section with keys of another.
struct Alike {
    place: String,
    keys: &'static [Key],
    /// The number of common keys.
    shared: usize,
}

#[derive(Default)]
struct Annotated {
    lines: Vec<String>,
    /// The sections so far, by their places.
    known: Vec<(String, &'static [Key])>,
}

impl Annotated {
    /// Writes the keys of a section that no section before it has.
    fn section(&mut self, keys: &'static [Key], place: &str, indent: usize) {
        let alike = self.alike(keys);
        self.known.push((place.to_owned(), keys));
        let known = alike.as_ref().map_or(&[][..], |alike| alike.keys);
        for key in keys.iter().filter(|key| !known.contains(key)) {
            self.key(key, place, indent);
        }
        if let Some(Alike { place, .. }) = alike {
            self.lines.push(format!("{}# as in {place}:", " ".repeat(indent)));
            let names = keys.iter().filter(|key| known.contains(key)).map(|key| key.name);
            self.wrap(indent, names);
        }
    }

    /// Writes names into comments.
    fn wrap<'n>(&mut self, indent: usize, names: impl Iterator<Item = &'n str>) {
        let start = format!("{}#   ", " ".repeat(indent));
        let mut line = start.clone();
        for name in names {
            let comma = if line == start { "" } else { ", " };
            if line.len() + comma.len() + name.len() > WIDTH {
                self.lines.push(std::mem::replace(&mut line, start.clone()));
                line.push_str(name);
            } else {
                line.push_str(comma);
                line.push_str(name);
            }
        }
        self.lines.push(line);
    }

    fn key(&mut self, key: &'static Key, place: &str, indent: usize) {
        let necessity = if key.is_required { "required" } else { "optional" };
        let comment = format!("# {necessity}. {}", key.description);
        let place = place_below(place, key.name);
        let Some((keys, suffix)) = section_in(&key.schema).filter(|(keys, _)| !is_reference(keys)) else {
            return self.push(indent, &format!("{}: {}", key.name, value(&key.schema)), &comment);
        };
        let place = format!("{place}{suffix}");
        if let Some(alike) = self.alike(keys).filter(|alike| alike.shared == keys.len()) {
            return self.push(indent, &format!("{}: <as {}>", key.name, alike.place), &comment);
        }
        self.push(indent, &format!("{}:", key.name), &comment);
        let first = self.lines.len();
        match suffix {
            "[]" => {
                self.section(keys, &place, indent + 2);
                mark_item(&mut self.lines[first..]);
            }
            ".*" => {
                self.lines.push(format!("{}NAME:", " ".repeat(indent + 2)));
                self.section(keys, &place, indent + 4);
            }
            _ => self.section(keys, &place, indent + 2),
        }
    }

    /// The section before with the most keys of this one, if these are enough.
    fn alike(&self, keys: &[Key]) -> Option<Alike> {
        let alike = self.known.iter().rev().map(|(place, known)| Alike {
            place: place.trim_end_matches("[]").to_owned(),
            keys: known,
            shared: keys.iter().filter(|key| known.contains(key)).count(),
        });
        alike.max_by_key(|alike| alike.shared).filter(|alike| alike.shared >= ENOUGH)
    }

    fn push(&mut self, indent: usize, key: &str, comment: &str) {
        let indent = " ".repeat(indent);
        let line = format!("{indent}{key}  {comment}");
        if line.chars().count() <= WIDTH {
            self.lines.push(line);
        } else {
            self.lines.extend([format!("{indent}{comment}"), format!("{indent}{key}")]);
        }
    }
}

/// Returns true for a reference to a Secret, which fits into one line.
fn is_reference(keys: &[Key]) -> bool {
    keys.iter().all(|key| matches!(key.name, "name" | "key"))
}

fn value(schema: &Schema) -> String {
    match schema {
        Schema::Types([]) => "<any>".to_owned(),
        Schema::Types(["object"]) => "<map>".to_owned(),
        Schema::Types(["boolean"]) => "true | false".to_owned(),
        Schema::Types(types) => format!("<{}>", types.join(" or ")),
        Schema::Whole(least, most) => format!("<{least} to {most}>"),
        Schema::Words(words) => words.join(" | "),
        Schema::OrText(long) => value(long),
        Schema::List(_) | Schema::OneOrList(_) => "[<item>]".to_owned(),
        Schema::Map(_) => "<map>".to_owned(),
        Schema::Keys(keys) => {
            let fields: Vec<String> = keys.iter().map(|key| format!("{}: {}", key.name, value(&key.schema))).collect();
            format!("{{{}}}", fields.join(", "))
        }
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
