//! What there is to tell about documents: each change for the worse or the better, once.
//!
//! A bad document stays bad for hours and is read again with every change nearby; saying so each time would bury the
//! news. Pure; this file must not know who is told, or how.

use std::collections::BTreeMap;

use drift_target::{DocumentName, Problem};

/// One thing to tell about a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is bad, and why: every problem of it.
    Invalid(DocumentName, String),
    /// It was bad and is in force now.
    Mended(DocumentName),
}

/// What was told already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    bad: BTreeMap<DocumentName, String>,
}

impl Told {
    /// What is new, and counts as told with this. `is_there` says whether a document still exists: one that was
    /// deleted is neither bad nor mended.
    pub(crate) fn catch_up(&mut self, problems: &[Problem], is_there: impl Fn(&DocumentName) -> bool) -> Vec<News> {
        let bad = texts(problems);
        let invalid = bad.iter().filter(|(document, text)| self.bad.get(document) != Some(text));
        let mended = self.bad.keys().filter(|document| !bad.contains_key(document) && is_there(document));
        let news = invalid
            .map(|(document, text)| News::Invalid(document.clone(), text.clone()))
            .chain(mended.map(|document| News::Mended(document.clone())))
            .collect();
        self.bad = bad;
        news
    }
}

/// All problems of each document in one text.
pub(crate) fn texts(problems: &[Problem]) -> BTreeMap<DocumentName, String> {
    let mut texts = BTreeMap::<DocumentName, String>::new();
    for problem in problems {
        let text = texts.entry(problem.document.clone()).or_default();
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&problem.to_string());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(key: &str) -> DocumentName {
        DocumentName { config_map: "targets".to_owned(), key: key.to_owned() }
    }

    fn problem(key: &str, message: &str) -> Problem {
        Problem { document: document(key), line: 1, column: 2, message: message.to_owned() }
    }

    #[test]
    fn each_change_is_told_once() {
        let mut told = Told::default();
        let bad = [problem("a", "x"), problem("a", "y"), problem("b", "z")];
        let first = "targets/a line 1 column 2: x; targets/a line 1 column 2: y".to_owned();
        let other = "targets/b line 1 column 2: z".to_owned();
        let news = [News::Invalid(document("a"), first), News::Invalid(document("b"), other)];
        assert_eq!(told.catch_up(&bad, |_| true), news);
        assert_eq!(told.catch_up(&bad, |_| true), []);
        let later = "targets/b line 1 column 2: worse".to_owned();
        let news = [News::Invalid(document("b"), later), News::Mended(document("a"))];
        assert_eq!(told.catch_up(&[problem("b", "worse")], |_| true), news);
        assert_eq!(told.catch_up(&[], |_| false), [], "a deleted document is not mended");
        assert_eq!(told.catch_up(&[], |_| true), []);
    }
}
