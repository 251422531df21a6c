//! Reports each change of a document's validity once.
//!
//! An invalid document stays so for hours and is parsed again with every change of its neighbours. Repeating the report
//! would hide changes. Pure.

use std::collections::{BTreeMap, BTreeSet};

use drift_language::{DocumentName, Problem};

use crate::config::Configuration;
use crate::events::NoticeKind;

/// One change of a document to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is invalid, with all its problems.
    Invalid(DocumentName, String),
    /// It and a document of another ConfigMap take a target from each other.
    Taken(DocumentName, String),
    /// It was invalid or taken, and is active now.
    Mended(DocumentName),
    /// It is active, with likely mistakes.
    Doubtful(DocumentName, String),
}

/// The changes that were reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportedDocuments {
    bad: BTreeMap<DocumentName, String>,
    taken: BTreeMap<DocumentName, String>,
    doubtful: BTreeMap<DocumentName, String>,
}

impl News {
    /// Returns the document, and the kind, reason and note of an Event about it.
    pub(crate) fn event(self) -> (DocumentName, (NoticeKind, &'static str), String) {
        match self {
            Self::Invalid(document, text) => (document, (NoticeKind::Warning, "TargetInvalid"), text),
            Self::Taken(document, text) => (document, (NoticeKind::Warning, "TargetTaken"), text),
            Self::Doubtful(document, text) => (document, (NoticeKind::Warning, "TargetDoubtful"), text),
            Self::Mended(document) => {
                let text = format!("{} is active", document.key);
                (document, (NoticeKind::Normal, "TargetLoaded"), text)
            }
        }
    }
}

impl ReportedDocuments {
    /// Returns the new problems and doubts, and marks them as reported. `unsettled` documents are skipped. `is_there`
    /// returns true for an existing document: a deleted one is neither invalid nor fixed.
    pub(crate) fn catch_up(
        &mut self,
        configuration: &Configuration,
        is_there: impl Fn(&DocumentName) -> bool,
    ) -> Vec<News> {
        let Configuration { problems, taken, doubts, unsettled, .. } = configuration;
        let (mut bad, taken) = (texts(problems), texts(taken));
        let current = self.bad.iter().filter(|(document, _)| unsettled.contains(document));
        bad.extend(current.map(|(document, text)| (document.clone(), text.clone())));
        let doubtful = texts(doubts);
        let invalid = changed(&bad, &self.bad);
        let was_wrong: BTreeSet<_> = self.bad.keys().chain(self.taken.keys()).collect();
        let is_mended = |document: &&&DocumentName| {
            !bad.contains_key(document) && !taken.contains_key(document) && is_there(document)
        };
        let mended = was_wrong.iter().filter(is_mended).copied();
        let news = invalid
            .map(|(document, text)| News::Invalid(document.clone(), text.clone()))
            .chain(changed(&taken, &self.taken).map(|(document, text)| News::Taken(document.clone(), text.clone())))
            .chain(mended.map(|document| News::Mended(document.clone())))
            .chain(
                changed(&doubtful, &self.doubtful)
                    .map(|(document, text)| News::Doubtful(document.clone(), text.clone())),
            )
            .collect();
        (self.bad, self.taken, self.doubtful) = (bad, taken, doubtful);
        news
    }
}

/// Returns the texts that were not reported before.
fn changed<'t>(
    texts: &'t BTreeMap<DocumentName, String>,
    told: &BTreeMap<DocumentName, String>,
) -> impl Iterator<Item = (&'t DocumentName, &'t String)> {
    texts.iter().filter(|(document, text)| told.get(document) != Some(text))
}

/// Joins all problems of each document in one text.
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

    fn of(problems: &[Problem], taken: &[Problem], doubts: &[Problem]) -> Configuration {
        let (problems, taken, doubts) = (problems.to_vec(), taken.to_vec(), doubts.to_vec());
        Configuration { problems, taken, doubts, ..Configuration::default() }
    }

    #[test]
    fn what_may_still_be_bad_is_not_called_mended() {
        let mut told = ReportedDocuments::default();
        let unsettled = Configuration { unsettled: BTreeSet::from([document("a")]), ..Configuration::default() };
        told.catch_up(&of(&[problem("a", "x")], &[], &[]), |_| true);
        assert_eq!(told.catch_up(&unsettled, |_| true), []);
        assert_eq!(told.catch_up(&Configuration::default(), |_| true), [News::Mended(document("a"))]);
    }

    #[test]
    fn a_taken_document_is_told_once_and_then_active() {
        let mut told = ReportedDocuments::default();
        let mut say = |taken: &[Problem], is_there: bool| told.catch_up(&of(&[], taken, &[]), |_| is_there);
        let taken = |key: &str| News::Taken(document(key), format!("targets/{key} line 1 column 2: x"));
        assert_eq!(say(&[problem("a", "x"), problem("b", "x")], true), [taken("a"), taken("b")]);
        assert_eq!(say(&[problem("a", "x"), problem("b", "x")], true), []);
        assert_eq!(say(&[problem("b", "x")], true), [News::Mended(document("a"))]);
        assert_eq!(say(&[], false), [], "a deleted document is not active");
    }

    #[test]
    fn each_doubt_is_told_once() {
        let mut told = ReportedDocuments::default();
        let mut doubt = |doubts: &[Problem]| told.catch_up(&of(&[], &[], doubts), |_| true);
        let doubtful = |text: &str| News::Doubtful(document("a"), format!("targets/a line 1 column 2: {text}"));
        assert_eq!(doubt(&[problem("a", "x")]), [doubtful("x")]);
        assert_eq!(doubt(&[problem("a", "x")]), []);
        assert_eq!(doubt(&[problem("a", "y")]), [doubtful("y")]);
        assert_eq!(doubt(&[]), [], "who mended it knows");
    }

    #[test]
    fn each_change_is_told_once() {
        let mut told = ReportedDocuments::default();
        let mut catch_up = |problems: &[Problem], is_there: bool| told.catch_up(&of(problems, &[], &[]), |_| is_there);
        let bad = [problem("a", "x"), problem("a", "y"), problem("b", "z")];
        let first = "targets/a line 1 column 2: x; targets/a line 1 column 2: y".to_owned();
        let other = "targets/b line 1 column 2: z".to_owned();
        let news = [News::Invalid(document("a"), first), News::Invalid(document("b"), other)];
        assert_eq!(catch_up(&bad, true), news);
        assert_eq!(catch_up(&bad, true), []);
        let later = "targets/b line 1 column 2: worse".to_owned();
        let news = [News::Invalid(document("b"), later), News::Mended(document("a"))];
        assert_eq!(catch_up(&[problem("b", "worse")], true), news);
        assert_eq!(catch_up(&[], false), [], "a deleted document is not mended");
        assert_eq!(catch_up(&[], true), []);
    }
}
