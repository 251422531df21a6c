//! Finds expressions that are literal text because the `${…}` around them is missing:
//! `/queues/self.spec.name`, `{self.spec.name}`, `desired.size`.
//!
//! Only variables that exist at the place are searched for. In the middle of a text, only their known fields count,
//! unless they are in braces. Ordinary text must not match: prose, host names (`self.example.com`), file names
//! (`desired.json`) and names of tables.

use crate::cel::{Names, Piece, Shape, Site, pieces};

/// Places of SQL templates, in which `desired.size` may be a column.
const SQL: [&str; 4] = ["read.postgres.query", "correct.postgres.", "read.mysql.query", "correct.mysql."];
/// First fields of an object that are certain: nothing else is called `self.spec.name`.
const OF_OBJECTS: [&str; 3] = ["spec", "metadata", "status"];
/// Fields of a response.
const OF_ANSWERS: [&str; 4] = ["body", "headers", "status", "text"];
/// File extensions, which are not fields: `item.json`.
const ENDINGS: [&str; 18] = [
    "json", "yaml", "yml", "toml", "ini", "conf", "cfg", "xml", "html", "txt", "csv", "sql", "log", "sh", "py", "tf",
    "tar", "gz",
];
/// Characters allowed before an expression in the middle of a text. After a letter, a dot or a hyphen it is a part
/// of another word.
const BEFORE: &str = "/=:,;&?|+(<>\"'";

/// A literal text that looks like an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmarked {
    /// Characters of the text before it.
    pub(crate) offset: usize,
    /// The expression as written, without brackets around it.
    pub(crate) written: String,
}

impl Unmarked {
    /// Returns the warning about it.
    pub(crate) fn message(&self) -> String {
        let Self { written, .. } = self;
        let quoted = if written.contains('\'') { format!("\"{written}\"") } else { format!("'{written}'") };
        format!(
            "`{written}` stands here as a text, and no value takes its place: write `${{{written}}}`, or `${{{quoted}}}` where the text is meant"
        )
    }
}

/// Returns the first variable of this place that a template names outside of its `${…}`.
pub(crate) fn unmarked_in(text: &str, site: &Site) -> Option<Unmarked> {
    let pieces = pieces(text).ok()?;
    let (is_whole, is_sql) = (pieces.len() == 1, SQL.iter().any(|place| site.place.starts_with(place)));
    let mut begins = 0;
    pieces.into_iter().find_map(|piece| match piece {
        Piece::Expression { source, offset } => {
            begins = offset + source.chars().count() + 1;
            None
        }
        Piece::Literal(literal) => find_unmarked(&literal, is_whole, is_sql, &site.names, site.variables())
            .map(|found| Unmarked { offset: begins + found.offset, ..found }),
    })
}

/// Returns the first of these variables that a literal part of a template names without `${…}`.
fn find_unmarked<'v>(
    literal: &str,
    is_whole: bool,
    is_sql: bool,
    names: &Names,
    variables: impl Iterator<Item = &'v str> + Clone,
) -> Option<Unmarked> {
    let starts = literal.char_indices().map(|(at, _)| at);
    starts.filter(|at| !literal[..*at].ends_with("${")).find_map(|at| {
        let (before, rest) = literal.split_at(at);
        let root = variables.clone().find(|root| rest.strip_prefix(*root).is_some_and(|path| path.starts_with('.')))?;
        let written = path_of(rest);
        // A sentence may end with the word.
        if written == root {
            return None;
        }
        let is_alone = is_whole && before.is_empty() && written.len() == rest.len();
        let is_meant = is_bracketed(before, &rest[written.len()..])
            || begins_word(before) && is_expression(root, written, before, is_sql, is_alone, names);
        // Includes the `$` of another language. The offset adds the characters of each escaped `$${` that
        // the literal lacks.
        let marked = before.strip_suffix("$(").or_else(|| before.strip_suffix('$')).unwrap_or(before);
        let offset = marked.chars().count() + before.matches("${").count();
        is_meant.then(|| Unmarked { offset, written: written.to_owned() })
    })
}

/// The variable with its fields and items: `self.spec.tags[0].?name`.
fn path_of(rest: &str) -> &str {
    let mut end = word_length(rest);
    loop {
        let tail = &rest[end..];
        let step = if let Some(index) = tail.strip_prefix('[') {
            index
                .find(']')
                .filter(|length| *length > 0 && !index[..*length].contains(['[', ' ']))
                .map(|length| length + 2)
        } else {
            let opening = if tail.starts_with(".?") { 2 } else { 1 };
            let is_field =
                tail.starts_with('.') && tail[opening..].starts_with(|letter: char| letter.is_ascii_alphabetic());
            is_field.then(|| opening + word_length(&tail[opening..]))
        };
        match step {
            Some(length) => end += length,
            None => return &rest[..end],
        }
    }
}

fn word_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len())
}

/// Recognises `{self.spec.x}`, `$self.spec.x`, `$(self.spec.x)`.
fn is_bracketed(before: &str, after: &str) -> bool {
    before.ends_with('{') && after.starts_with('}')
        || before.ends_with("$(") && after.starts_with(')')
        || before.ends_with('$')
}

fn begins_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|letter| letter.is_whitespace() || BEFORE.contains(letter))
}

fn is_expression(root: &str, written: &str, before: &str, is_sql: bool, is_alone: bool, names: &Names) -> bool {
    let mut fields = written.split(['.', '[']).skip(1).map(|field| field.trim_start_matches('?'));
    let first = fields.next().unwrap_or_default();
    let last = fields.last().unwrap_or(first);
    let (is_host, names_file) = (before.ends_with("//"), ENDINGS.contains(&last));
    // A whole text that is a known field is an expression, even if it ends like a file name.
    let is_field_of = |shape| match has_field(shape, first) {
        Some(has) => has && (is_alone || !names_file),
        None => is_alone && !names_file,
    };
    match root {
        // A host may be called `self.status.example.com`.
        "self" if first == "status" && is_host => false,
        "self" => OF_OBJECTS.contains(&first) && last != first,
        _ if is_sql || is_host => false,
        "response" => OF_ANSWERS.contains(&first),
        "desired" => is_field_of(&names.desired.desired),
        "observed" => is_field_of(&names.observed),
        _ if names_file => false,
        "steps" => last != first && names.steps.iter().any(|step| step == first),
        // Prose and names contain such words: `this item.other`.
        _ => is_alone,
    }
}

/// Returns true if a variable of this shape has a field. `None` if it depends on the object.
fn has_field(shape: &Shape, name: &str) -> Option<bool> {
    match shape {
        Shape::Map(fields) => Some(fields.contains_key(name)),
        Shape::Unknown | Shape::Ignored => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::KnownDesired;
    use std::sync::Arc;

    /// Creates names with these fields of `desired` and `observed`, and a step `find`.
    fn names(desired: &[&str], observed: &[&str]) -> Names {
        let shape =
            |fields: &[&str]| Shape::Map(fields.iter().map(|&field| (field.to_owned(), Shape::Unknown)).collect());
        Names {
            desired: Arc::new(KnownDesired { desired: shape(desired), differing: None }),
            observed: Arc::new(shape(observed)),
            steps: vec!["find".to_owned()],
            ..Names::default()
        }
    }

    #[test]
    fn what_was_meant_is_told_from_ordinary_texts() {
        let all = ["self", "desired", "observed", "response", "item", "steps", "resource"];
        let names = names(&["size", "toml", "example"], &["id"]);
        // The expected match is between « and », including the `$` of another language.
        let texts = [
            "/queues/«self.spec.name»",
            "https://h.example/{«self.spec.name»}/x",
            "«desired.size»",
            "/x?size=«desired.size»&y=1",
            "/x/«desired.?size»",
            "«observed.id»",
            "/«steps.find.body.id»",
            "{«desired.other»}",
            "é «response.body.items[0].id»",
            "«item.name»",
            "/at/{«item.name»}",
            "/x/«$self.spec.name»",
            "«$(self.metadata.name»)",
            "«self.metadata.labels['app']»",
            "«self.spec.?name»",
            "https://«self.spec.host»/x",
            "https://self.example.com/x",
            "https://self.status.example.com/x",
            "self.example.com",
            "https://my-self.spec.example/x",
            "/files/desired.json",
            "/item.html",
            "every item.another",
            "names of the item. resource.",
            "${self.spec.name}",
            "the response.is here",
            "herself.spec.name",
            "desired",
            "set back to what is desired.",
            "as was observed.",
            "see the steps. Then wait.",
            "what is desired.Later it is left",
            "costs $desired.",
            "/x/desired.other",
            "observed.other",
            "https://desired.example.com/x",
            "https://response.body.example/x",
            "«desired.toml»",
            "/x/desired.toml",
            "/x/observed.conf",
            "/x/desired.tar.gz",
            "item.tf",
            "/x/steps.other.body",
            "/x/steps.find",
        ];
        for text in texts {
            let found = find_unmarked(&text.replace(['«', '»'], ""), true, false, &names, all.into_iter());
            let expected = text.split_once('«').and_then(|(before, rest)| Some((before, rest.split_once('»')?.0)));
            let expected = expected
                .map(|(before, meant)| (before.chars().count(), meant.trim_start_matches(['$', '(']).to_owned()));
            assert_eq!(found.map(|found| (found.offset, found.written)), expected, "{text}");
        }
    }

    #[test]
    fn only_variables_of_the_place_count() {
        let names = names(&["b"], &[]);
        let found =
            |text, is_sql| find_unmarked(text, false, is_sql, &names, ["self", "desired"].into_iter()).is_some();
        assert!(!found("response.body.id", false));
        assert!(found("SELECT * FROM a WHERE b = 'x' AND c = self.spec.name", true));
        assert!(!found("MERGE INTO a USING (VALUES (1)) AS desired(b) ON a.b = desired.b", true));
        assert!(found("SELECT '{desired.b}'", true));
    }

    #[test]
    fn fields_that_only_an_object_tells_count_alone() {
        let names = Names::default();
        let found = |text| find_unmarked(text, true, false, &names, ["desired", "observed"].into_iter()).is_some();
        assert!(["desired.size", "observed.id", "/{desired.size}"].into_iter().all(found));
        assert!(!["/x/desired.size", "what is desired.Later", "desired.toml", "desired."].into_iter().any(found));
    }

    #[test]
    fn it_is_said_how_a_text_is_meant() {
        let message = |written: &str| Unmarked { offset: 0, written: written.to_owned() }.message();
        assert!(
            message("self.spec.x").ends_with("write `${self.spec.x}`, or `${'self.spec.x'}` where the text is meant")
        );
        assert!(message("self.metadata.labels['a']").contains("`${\"self.metadata.labels['a']\"}`"));
    }
}
