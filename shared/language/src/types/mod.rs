//! Checks the templates of a document against the types of its kind.
//!
//! Finds what certainly fails on some object: an optional field that is read without `.?`, a number compared with a
//! text, a function of a text on a number. Reports nothing that the schema leaves open. Pure.

mod fields;
mod functions;
mod infer;
mod kind_schema;
mod ldap_texts;
mod spelling;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

use std::collections::BTreeSet;

use cel::common::ast::{IdedExpr, SourceInfo};

use crate::cel::Names;
use crate::cel::syntax::{characters_before, parse_source, start_of};
use crate::cel::{Piece, pieces};
use crate::types::infer::Inference;
use crate::yaml::{Content, Entry, Node, parse};

pub use crate::types::kind_schema::KindSchema;

/// Keys of conditions. The fields that they test are present where the rest of the target applies.
const CONDITIONS: [&str; 7] =
    ["that", "suspendWhen", "absentUntil", "absentWhen", "validWhen", "settlingWhen", "refusedWhen"];
/// The key of a condition that decides about the keys beside it.
const WHEN: &str = "when";
/// The key of secrets. They are read for the steps that use them, so the conditions of steps guard them.
const SECRETS: &str = "secrets";
/// The key of the status fields that polls write, and the actions of which only a verdict of drift can follow.
const PUBLISH: &str = "publish";
const AFTER_PUBLISHING: [&str; 2] = ["update", "replace"];
/// The key of names. They are checked where they are used.
const LET: &str = "let";

/// A mistake in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMistake {
    /// 1-based line and column in the document.
    pub place: (usize, usize),
    /// The mistake, and the expression to write instead.
    pub message: String,
}

/// Returns the templates of a document that certainly fail on some object of the kind. Nothing for a document that is
/// no YAML.
#[must_use]
pub fn type_mistakes(document: &str, kind: KindSchema<'_>) -> Vec<TypeMistake> {
    let Ok(root) = parse(document) else { return Vec::new() };
    let Some(spec) = root.get("spec") else { return Vec::new() };
    let mut check = Check {
        document,
        kind,
        names: lets(spec),
        steps: BTreeSet::new(),
        published: published(spec),
        found: Vec::new(),
    };
    check.steps = check.tests_of(spec, &[WHEN]);
    let mut assumed = check.tests_of(spec, &CONDITIONS);
    // Templates see an empty status where an object has none.
    assumed.insert("status".to_owned());
    check.visit(spec, &assumed);
    check.check_ldap(spec);
    merged(check.found)
}

/// A mistake, and the path of the field that may be missing, if it is that.
type Mistake = (TypeMistake, Option<String>);

/// Other places of one mistake that its message names. A person finds the rest by the first ones.
const MOST_PLACES: usize = 4;

/// The mistakes in the order of their places, with one for each field that may be missing.
fn merged(mut found: Vec<Mistake>) -> Vec<TypeMistake> {
    found.sort_by_key(|(mistake, _)| mistake.place);
    found.dedup();
    let mut merged: Vec<(Mistake, Vec<usize>)> = Vec::new();
    for (mistake, missing) in found {
        let is_same = |known: &&mut (Mistake, Vec<usize>)| missing.is_some() && known.0.1 == missing;
        match merged.iter_mut().find(is_same) {
            Some((_, others)) => others.push(mistake.place.0),
            None => merged.push(((mistake, missing), Vec::new())),
        }
    }
    let told = |((mistake, _), mut lines): (Mistake, Vec<usize>)| {
        lines.dedup();
        lines.retain(|line| *line != mistake.place.0);
        let more = lines.len().saturating_sub(MOST_PLACES);
        let named: Vec<_> = lines.iter().take(MOST_PLACES).map(|line| format!("line {line}")).collect();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let message = match named.is_empty() {
            true => mistake.message,
            false => format!("{} (also {}{more})", mistake.message, named.join(", ")),
        };
        TypeMistake { message, ..mistake }
    };
    merged.into_iter().map(told).collect()
}

/// The paths of the status fields that a poll writes together with its verdict.
fn published(spec: &Node) -> BTreeSet<String> {
    match spec.get(PUBLISH).map(|publish| &publish.content) {
        Some(Content::Map(entries)) => entries.iter().map(|entry| format!("status.{}", entry.key)).collect(),
        _ => BTreeSet::new(),
    }
}

/// The expressions of `let`.
fn lets(spec: &Node) -> Names {
    let mut names = Names::default();
    if let Some(Node { content: Content::Map(entries), .. }) = spec.get(LET) {
        let texts: Vec<_> = entries.iter().filter_map(|entry| Some((&*entry.key, entry.value.as_text()?))).collect();
        // The document is checked for such errors before.
        let _ = names.define(&texts);
    }
    names
}

/// The check of one document.
struct Check<'d> {
    document: &'d str,
    kind: KindSchema<'d>,
    names: Names,
    /// The fields that conditions of steps test.
    steps: BTreeSet<String>,
    /// The status fields that are there once a poll has found drift.
    published: BTreeSet<String>,
    found: Vec<Mistake>,
}

impl Check<'_> {
    fn visit(&mut self, node: &Node, assumed: &BTreeSet<String>) {
        match &node.content {
            Content::Text(text) => self.check_template(node, text, assumed),
            Content::List(items) => items.iter().for_each(|item| self.visit(item, assumed)),
            Content::Map(entries) => {
                let mut within = assumed.clone();
                if let Some(text) = node.get(WHEN).and_then(Node::as_text) {
                    self.assume(text, true, &mut within);
                }
                for entry in entries.iter().filter(|entry| entry.key != LET) {
                    match entry.key.as_str() {
                        WHEN => self.visit(&entry.value, assumed),
                        SECRETS => self.visit(&entry.value, &within.union(&self.steps).cloned().collect()),
                        action if AFTER_PUBLISHING.contains(&action) => {
                            self.visit(&entry.value, &within.union(&self.published).cloned().collect());
                        }
                        _ => self.visit(&entry.value, &within),
                    }
                }
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => {}
        }
    }

    /// Returns the fields that conditions below a node test.
    fn tests_of(&self, node: &Node, keys: &[&str]) -> BTreeSet<String> {
        match &node.content {
            Content::List(items) => items.iter().flat_map(|item| self.tests_of(item, keys)).collect(),
            Content::Map(entries) => {
                let of_entry = |entry: &Entry| match &entry.value.content {
                    Content::Text(text) if keys.contains(&entry.key.as_str()) => {
                        let mut tested = BTreeSet::new();
                        self.assume(text, false, &mut tested);
                        tested
                    }
                    _ => self.tests_of(&entry.value, keys),
                };
                entries.iter().flat_map(of_entry).collect()
            }
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => BTreeSet::new(),
        }
    }

    /// Adds the fields that a condition tests, and with `depends` those beside the fields that it reads.
    fn assume(&self, text: &str, depends: bool, assumed: &mut BTreeSet<String>) {
        for (_, expression, _) in self.expressions(text) {
            let mut inference = Inference::new(self.kind, BTreeSet::new());
            inference.infer(&expression);
            assumed.extend(inference.tested);
            if depends {
                assumed.extend(inference.read);
            }
        }
    }

    /// Returns the expressions of a template with their offsets, names of `let` replaced.
    fn expressions(&self, text: &str) -> Vec<(usize, IdedExpr, SourceInfo)> {
        let parsed = |piece| {
            let Piece::Expression { source, offset } = piece else { return None };
            let (mut expression, info) = parse_source(source).ok()?;
            self.names.replace(&mut expression).ok()?;
            Some((offset, expression, info))
        };
        pieces(text).into_iter().flatten().filter_map(parsed).collect()
    }

    fn check_template(&mut self, node: &Node, text: &str, assumed: &BTreeSet<String>) {
        for (offset, expression, info) in self.expressions(text) {
            let mut inference = Inference::new(self.kind, assumed.clone());
            inference.infer(&expression);
            for found in inference.found {
                let before = characters_before(start_of(found.node, &info), &info);
                let at = node.locate(self.document, offset + before);
                let mistake = TypeMistake { place: (at.line, at.column), message: found.message };
                self.found.push((mistake, found.missing));
            }
        }
    }
}
