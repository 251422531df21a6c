//! Problems of documents and targets, with their positions.

use std::collections::BTreeMap;
use std::fmt;

use drift_api::printable::first_names;

use crate::yaml::position::Position;

/// The location of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentName {
    /// The ConfigMap name.
    pub config_map: String,
    /// Its data key.
    pub key: String,
}

/// One problem of a document or of its target: subject, mistake, and fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", Folded(vec![self]))]
pub struct Problem {
    /// The affected document. Its key is empty if only the ConfigMap is known.
    pub document: DocumentName,
    /// The line, 1-based. 0 if unknown.
    pub line: usize,
    /// The column, 1-based.
    pub column: usize,
    /// The target, if its whole document is missing or its text is not known.
    pub target: Option<String>,
    /// The mistake and how to fix it, without the target, so that equal problems have equal messages.
    pub message: String,
}

/// Equal problems of one ConfigMap, as one sentence. One mistake, such as a lost label, affects every target of its
/// ConfigMap.
#[derive(Clone, Debug)]
pub struct Folded<'p>(Vec<&'p Problem>);

/// The most targets or documents that a sentence names. More would hide the mistake behind them.
const MOST_NAMES: usize = 3;

impl Problem {
    /// The command in messages that removes a target. In the sentence about one target it has the name.
    pub const FORGET: &'static str = "kubectl drift forget TARGET";

    pub(crate) fn new(document: &DocumentName, at: Position, message: impl Into<String>) -> Self {
        let Position { line, column } = at;
        Self { document: document.clone(), line, column, target: None, message: message.into() }
    }

    /// Creates the problem of a target whose document is missing, or whose text is not known.
    #[must_use]
    pub fn of_target(document: DocumentName, target: impl Into<String>, message: impl Into<String>) -> Self {
        Self { document, line: 0, column: 0, target: Some(target.into()), message: message.into() }
    }

    /// Returns the target, or the document and the position in it.
    fn name(&self) -> String {
        let Self { document: DocumentName { config_map, key }, line, column, target, .. } = self;
        match target {
            Some(target) => target.clone(),
            None if *line == 0 => format!("{config_map}/{key}"),
            None => format!("{config_map}/{key} line {line} column {column}"),
        }
    }
}

impl<'p> Folded<'p> {
    /// Folds problems, in the order of the first of each.
    #[must_use]
    pub fn all(problems: impl IntoIterator<Item = &'p Problem>) -> Vec<Self> {
        let (mut all, mut numbers) = (Vec::<Self>::new(), BTreeMap::new());
        for problem in problems {
            let same = (&problem.document.config_map, problem.target.is_some(), &problem.message);
            let number = *numbers.entry(same).or_insert(all.len());
            match all.get_mut(number) {
                Some(Self(equal)) => equal.push(problem),
                None => all.push(Self(vec![problem])),
            }
        }
        all
    }

    /// The equal problems.
    #[must_use]
    pub fn problems(&self) -> &[&'p Problem] {
        &self.0
    }

    /// Returns the first targets or documents: `targets a, b, c and 18 more`, `map/key line 1 column 2`.
    #[must_use]
    pub fn subject(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|problem| problem.name()).collect();
        let noun = match (self.0.iter().any(|problem| problem.target.is_some()), names.len()) {
            (false, _) => "",
            (true, 1) => "target ",
            (true, _) => "targets ",
        };
        format!("{noun}{}", first_names(&names, MOST_NAMES))
    }

    /// Returns the mistake and how to fix it.
    #[must_use]
    pub fn message(&self) -> String {
        match &*self.0 {
            [Problem { target: Some(target), message, .. }] => {
                message.replace(Problem::FORGET, &format!("kubectl drift forget {target}"))
            }
            equal => equal.first().map(|problem| problem.message.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Folded<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.subject(), self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(config_map: &str, line: usize, message: &str) -> Problem {
        let document = DocumentName { config_map: config_map.to_owned(), key: format!("k{line}") };
        Problem::new(&document, Position { line, column: 2 }, message)
    }

    fn target(config_map: &str, name: &str, message: &str) -> Problem {
        let document = DocumentName { config_map: config_map.to_owned(), key: String::new() };
        Problem::of_target(document, name, message)
    }

    #[test]
    fn equal_problems_of_one_config_map_are_one_sentence() {
        let table = [
            (vec![], vec![]),
            (vec![document("m", 0, "x")], vec!["m/k0: x"]),
            (vec![document("m", 1, "TARGET")], vec!["m/k1 line 1 column 2: TARGET"]),
            (
                vec![document("m", 1, "x"), document("m", 2, "y"), document("m", 3, "x"), document("n", 1, "x")],
                vec![
                    "m/k1 line 1 column 2, m/k3 line 3 column 2: x",
                    "m/k2 line 2 column 2: y",
                    "n/k1 line 1 column 2: x",
                ],
            ),
            (vec![target("m", "a", Problem::FORGET)], vec!["target a: kubectl drift forget a"]),
            (
                ["a", "b", "c", "d", "e"].map(|name| target("m", name, Problem::FORGET)).to_vec(),
                vec!["targets a, b, c and 2 more: kubectl drift forget TARGET"],
            ),
            (
                vec![target("m", "a", "x"), target("m", "b", "y"), target("n", "c", "x"), document("m", 0, "x")],
                vec!["target a: x", "target b: y", "target c: x", "m/k0: x"],
            ),
        ];
        for (problems, expected) in table {
            let said: Vec<String> = Folded::all(&problems).iter().map(ToString::to_string).collect();
            assert_eq!(said, expected);
        }
        assert_eq!(target("m", "a", Problem::FORGET).to_string(), "target a: kubectl drift forget a");
    }
}
