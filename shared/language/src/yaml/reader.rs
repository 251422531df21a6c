//! Reads the nodes of a document as typed values, and collects every problem.
//!
//! Read functions record a problem and return `None` if a value is invalid, so that one pass finds all problems
//! of a document.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::cel::{Names, Scope, Site, TemplateError, is_template};
use crate::misplaced_keys::why_misplaced;
use crate::suggest::{longer, nearest};
use crate::yaml::fields::Fields;
use crate::yaml::known_keys::KnownKeys;
use crate::yaml::node::{Content, Entry, Fault, Node};
use crate::yaml::position::Position;
use crate::yaml::shape_hints::shape_hint;
use crate::yaml::unmarked_expressions::unmarked_in;

/// The hint for a wrong template with backslashes in double quotes.
const ESCAPED: &str = "; YAML took the backslashes of the double quotes: write the template in single quotes";

/// Returns the sentence about the section that an unknown key of this place belongs in; `None` if there is none.
pub(crate) type FindHome = fn(place: &str, key: &str) -> Option<String>;

/// Reads nodes and collects the problems of one document.
pub(crate) struct Reader<'d> {
    document: &'d str,
    faults: Vec<Fault>,
    doubts: Vec<Fault>,
    names: Arc<Names>,
    known_keys: KnownKeys,
    find_home: Option<FindHome>,
}

impl<'d> Reader<'d> {
    pub(crate) fn new(document: &'d str) -> Self {
        let (names, known_keys) = (Arc::default(), KnownKeys::default());
        Self { document, faults: Vec::new(), doubts: Vec::new(), names, known_keys, find_home: None }
    }

    /// Looks for the sections of unknown keys with this function.
    pub(crate) fn finding_homes(self, find_home: FindHome) -> Self {
        Self { find_home: Some(find_home), ..self }
    }

    /// Creates a place with a scope and the names of the target.
    pub(crate) fn site(&self, place: &str, scope: Scope) -> Site {
        Site { names: self.names.clone(), ..Site::new(place, scope) }
    }

    /// Returns the names that templates know at present.
    pub(crate) fn names(&self) -> Arc<Names> {
        self.names.clone()
    }

    /// Restores names, at the end of a section that introduced others.
    pub(crate) fn set_names(&mut self, names: Arc<Names>) {
        self.names = names;
    }

    /// Returns the names of the target for modification.
    pub(crate) fn names_mut(&mut self) -> &mut Names {
        Arc::make_mut(&mut self.names)
    }

    /// Returns all recorded problems, in the order of the document.
    pub(crate) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| fault.at);
        self.faults
    }

    /// Returns true if a problem is recorded.
    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Records a problem. Always returns `None`.
    pub(crate) fn refuse<T>(&mut self, at: Position, message: impl Into<String>) -> Option<T> {
        self.faults.push(Fault { at, message: message.into() });
        None
    }

    /// Records a problem if none of these keys is written.
    pub(crate) fn at_least_one(&mut self, fields: &Fields<'_>, keys: &[&str]) -> Option<()> {
        if keys.iter().any(|key| fields.get(key).is_some()) {
            return Some(());
        }
        let message = format!("{}: at least one of {} is needed", fields.own_place(), keys.join(", "));
        self.refuse(fields.at(), message)
    }

    /// Records several problems.
    pub(crate) fn extend(&mut self, faults: Vec<Fault>) {
        self.faults.extend(faults);
    }

    /// Records that another type of value is needed.
    pub(crate) fn refuse_kind<T>(&mut self, node: &Node, place: &str, wanted: &str) -> Option<T> {
        if matches!(node.content, Content::Null) {
            return self.refuse_nothing(node, format!("{place}: {wanted} is needed here, not nothing"));
        }
        let hint = shape_hint(node, wanted);
        self.refuse(node.at, format!("{place}: {wanted} is needed here, not {}{hint}", node.kind()))
    }

    /// Reads a map with only the known keys.
    pub(crate) fn fields<'n>(&mut self, node: &'n Node, place: &str, known: &[&str]) -> Option<Fields<'n>> {
        self.known_keys.note(place, known);
        let mut fields = self.any_fields(node, place)?;
        let mut empty: Option<&Entry> = None;
        for entry in fields.entries() {
            let key = entry.key.as_str();
            let within = if place.is_empty() { String::new() } else { format!(" in {place}") };
            if known.contains(&key) {
                empty = matches!(entry.value.content, Content::Null).then_some(entry);
            } else if let Some(why) = why_misplaced(place, key) {
                self.refuse::<()>(entry.key_at, format!("{place}.{key}: {why}"));
            } else if let Some(near) =
                nearest(key, known.iter().copied()).or_else(|| longer(key, known.iter().copied()))
            {
                fields.mean(near, &entry.value);
                self.refuse::<()>(entry.key_at, format!("unknown key `{key}`{within}: did you mean `{near}`?"));
            } else if let Some((home, levels)) = self.known_keys.home_of(place, key) {
                let levels = if levels == 1 { "one level".to_owned() } else { format!("{levels} levels") };
                let message = format!("unknown key `{key}`{within}: it belongs to {home}; indent it {levels} less");
                self.refuse::<()>(entry.key_at, message);
            } else if let Some(above) = empty {
                let (above_key, known) = (&above.key, known.join(", "));
                let message = format!(
                    "`{above_key}`{within} is empty; if `{key}` belongs there, indent that and what follows; \
                     else it is unknown here; known: {known}"
                );
                self.refuse_nothing::<()>(&above.value, message);
            } else {
                let belongs = self.find_home.and_then(|find_home| find_home(place, key));
                let known = known.join(", ");
                let message = match belongs {
                    Some(belongs) => format!("{belongs}; known here: {known}"),
                    None => format!("unknown key `{key}`{within}; known: {known}"),
                };
                self.refuse::<()>(entry.key_at, message);
            }
        }
        Some(fields)
    }

    /// Records one error for a missing value, at most once for each position.
    fn refuse_nothing<T>(&mut self, node: &Node, message: String) -> Option<T> {
        if self.faults.iter().any(|fault| fault.at == node.at) { None } else { self.refuse(node.at, message) }
    }

    /// Reads a map with user-defined keys.
    pub(crate) fn any_fields<'n>(&mut self, node: &'n Node, place: &str) -> Option<Fields<'n>> {
        match &node.content {
            Content::Map(entries) => Some(Fields::new(entries, place, node)),
            _ if place.is_empty() => self.refuse(node.at, format!("a document is a map, not {}", node.kind())),
            _ => self.refuse_kind(node, place, "a map"),
        }
    }

    /// Reads the items of a list.
    pub(crate) fn items<'n>(
        &mut self,
        node: &'n Node,
        place: &str,
        length: RangeInclusive<usize>,
    ) -> Option<&'n [Node]> {
        let Content::List(items) = &node.content else {
            return self.refuse_kind(node, place, "a list");
        };
        if !length.contains(&items.len()) {
            let message = match (items.len(), length.start()) {
                (0, _) => format!("{place}: the list is empty; leave the key out instead"),
                _ => format!("{place}: at most {} items", length.end()),
            };
            return self.refuse(node.at, message);
        }
        Some(items)
    }

    /// Reads a text without templates.
    pub(crate) fn literal<'n>(&mut self, node: &'n Node, place: &str) -> Option<&'n str> {
        let Some(text) = node.as_text() else {
            return self.refuse_kind(node, place, "a text");
        };
        if is_template(text) {
            return self.refuse(node.at, format!("{place} is literal: no ${{…}} here"));
        }
        Some(text)
    }

    /// Reads a text that is a template.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, place: &str) -> Option<&'n str> {
        match node.as_text() {
            Some(text) => Some(text),
            None => self.refuse_kind(node, place, "a text"),
        }
    }

    /// Rejects a number if a URL is needed. The usual hint about quotes would not help.
    pub(crate) fn url_is_no_number(&mut self, node: &Node, place: &str) -> Option<()> {
        if matches!(node.content, Content::Number(_)) { self.refuse_kind(node, place, "a URL") } else { Some(()) }
    }

    /// Reads `true` or `false`.
    pub(crate) fn truth(&mut self, node: &Node, place: &str) -> Option<bool> {
        match node.content {
            Content::Bool(truth) => Some(truth),
            _ => self.refuse_kind(node, place, "true or false"),
        }
    }

    /// Reads a whole number within bounds.
    pub(crate) fn whole<T>(&mut self, node: &Node, place: &str, bounds: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let Content::Number(number) = &node.content else {
            return self.refuse_kind(node, place, "a whole number");
        };
        let whole = number.as_u64().and_then(|whole| T::try_from(whole).ok()).filter(|whole| bounds.contains(whole));
        match whole {
            Some(whole) => Some(whole),
            None => self.refuse(
                node.at,
                format!("{place}: a whole number from {} to {} is needed", bounds.start(), bounds.end()),
            ),
        }
    }

    /// Reads one of a few words.
    pub(crate) fn choice<T: Clone>(&mut self, node: &Node, place: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.literal(node, place)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(value.clone());
        }
        let known = choices.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        // A prefix can reverse the meaning of a known word: `unordered`.
        let near = nearest(text, known.iter().copied()).filter(|near| !text.ends_with(near));
        let hint = match near {
            Some(near) if known.len() == 1 => format!(": did you mean `{near}`?"),
            Some(near) => format!(": did you mean `{near}`? known: {}", known.join(", ")),
            None => format!("; known: {}", known.join(", ")),
        };
        self.refuse(node.at, format!("{place}: unknown `{text}`{hint}"))
    }

    /// Returns a compiled template, or records its errors at their positions in the document.
    pub(crate) fn compiled<T>(&mut self, node: &Node, site: &Site, result: Result<T, Vec<TemplateError>>) -> Option<T> {
        match result {
            Ok(compiled) => {
                self.doubt_unmarked(node, site);
                Some(compiled)
            }
            Err(errors) => self.refuse_template(node, &site.place, errors),
        }
    }

    /// Records the errors of a template.
    pub(crate) fn refuse_template<T>(&mut self, node: &Node, place: &str, errors: Vec<TemplateError>) -> Option<T> {
        let hint = if node.has_escapes(self.document) { ESCAPED } else { "" };
        for error in errors {
            let at = node.locate(self.document, error.offset);
            self.refuse::<()>(at, format!("{place}: {}{hint}", error.message));
        }
        None
    }

    /// Records a warning about literal text of a template that looks like an expression.
    pub(crate) fn doubt_unmarked(&mut self, node: &Node, site: &Site) {
        if let Some(found) = node.as_text().and_then(|text| unmarked_in(text, site)) {
            let at = node.locate(self.document, found.offset);
            self.doubts.push(Fault { at, message: found.message() });
        }
    }

    /// Records a warning about a likely mistake.
    pub(crate) fn doubt(&mut self, at: Position, message: impl Into<String>) {
        self.doubts.push(Fault { at, message: message.into() });
    }

    /// Returns the recorded warnings.
    pub(crate) fn take_doubts(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.doubts)
    }
}
