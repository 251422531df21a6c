//! Reports each change of a document's validity once, and equal changes of one ConfigMap together.
//!
//! An invalid document stays so for hours and is parsed again with every change of its neighbours. Repeating the report
//! would hide changes. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use drift_api::printable::first_names;
use drift_language::{DocumentName, Folded, Problem};

use crate::config::Configuration;
use crate::events::NoticeKind;

/// One change of documents of a ConfigMap to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// They are invalid, with all their problems.
    Invalid(Documents, String),
    /// They and documents of another ConfigMap take targets from each other.
    Taken(Documents, String),
    /// They were invalid or taken, and are active now.
    Mended(Documents),
    /// They are active, with likely mistakes.
    Doubtful(Documents, String),
}

/// Documents of one ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Documents {
    pub(crate) config_map: String,
    pub(crate) keys: Vec<String>,
}

/// The most keys that a sentence about mended documents names.
const MOST_KEYS: usize = 3;

/// The changes that were reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportedDocuments {
    bad: Told,
    taken: Told,
    doubtful: Told,
}

/// The problems of each document.
type Told = BTreeMap<DocumentName, Vec<Problem>>;

impl News {
    /// Returns the ConfigMap, and the kind, reason and note of an Event about it.
    pub(crate) fn event(self) -> (String, (NoticeKind, &'static str), String) {
        let (documents, meaning, text) = match self {
            Self::Invalid(documents, text) => (documents, (NoticeKind::Warning, "TargetInvalid"), text),
            Self::Taken(documents, text) => (documents, (NoticeKind::Warning, "TargetTaken"), text),
            Self::Doubtful(documents, text) => (documents, (NoticeKind::Warning, "TargetDoubtful"), text),
            Self::Mended(documents) => {
                let verb = if documents.keys.len() == 1 { "is" } else { "are" };
                let text = format!("{} {verb} active", first_names(&documents.keys, MOST_KEYS));
                (documents, (NoticeKind::Normal, "TargetLoaded"), text)
            }
        };
        (documents.config_map, meaning, text)
    }
}

/// All of them, for the log: `targets/a, targets/b`.
impl fmt::Display for Documents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.keys.iter().map(|key| format!("{}/{key}", self.config_map)).collect();
        formatter.write_str(&all.join(", "))
    }
}

impl Documents {
    /// Groups documents by their ConfigMaps.
    fn grouped<'d>(documents: impl Iterator<Item = &'d DocumentName>) -> impl Iterator<Item = Self> {
        let mut groups = BTreeMap::<&String, Vec<String>>::new();
        for DocumentName { config_map, key } in documents {
            groups.entry(config_map).or_default().push(key.clone());
        }
        groups.into_iter().map(|(config_map, keys)| Self { config_map: config_map.clone(), keys })
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
        let (mut bad, taken, doubtful) = (by_document(problems), by_document(taken), by_document(doubts));
        let current = self.bad.iter().filter(|(document, _)| unsettled.contains(document));
        bad.extend(current.map(|(document, problems)| (document.clone(), problems.clone())));
        let was_wrong: BTreeSet<_> = self.bad.keys().chain(self.taken.keys()).collect();
        let is_mended = |document: &&&DocumentName| {
            !bad.contains_key(document) && !taken.contains_key(document) && is_there(document)
        };
        let mended = Documents::grouped(was_wrong.iter().filter(is_mended).copied());
        let news = texts(changed(&bad, &self.bad))
            .map(|(documents, text)| News::Invalid(documents, text))
            .chain(texts(changed(&taken, &self.taken)).map(|(documents, text)| News::Taken(documents, text)))
            .chain(mended.map(News::Mended))
            .chain(texts(changed(&doubtful, &self.doubtful)).map(|(documents, text)| News::Doubtful(documents, text)))
            .collect();
        (self.bad, self.taken, self.doubtful) = (bad, taken, doubtful);
        news
    }
}

/// Returns the problems that were not reported before, by document.
fn changed<'t>(now: &'t Told, told: &Told) -> impl Iterator<Item = (&'t DocumentName, &'t Vec<Problem>)> {
    now.iter().filter(|(document, problems)| told.get(document) != Some(problems))
}

/// Returns all problems of each document.
pub(crate) fn by_document(problems: &[Problem]) -> BTreeMap<DocumentName, Vec<Problem>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for problem in problems {
        all.entry(problem.document.clone()).or_default().push(problem.clone());
    }
    all
}

/// Joins all problems of each document in one text. Documents of one ConfigMap with equal problems share it.
pub(crate) fn texts<'t>(
    problems: impl IntoIterator<Item = (&'t DocumentName, &'t Vec<Problem>)>,
) -> impl Iterator<Item = (Documents, String)> {
    let (mut groups, mut numbers) = (Vec::<(Documents, Vec<&Problem>)>::new(), BTreeMap::new());
    for (DocumentName { config_map, key }, problems) in problems {
        let equal: Vec<_> = problems.iter().map(|problem| (problem.target.is_some(), &problem.message)).collect();
        let number = *numbers.entry((config_map, equal)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((documents, all)) => {
                documents.keys.push(key.clone());
                all.extend(problems);
            }
            None => {
                let documents = Documents { config_map: config_map.clone(), keys: vec![key.clone()] };
                groups.push((documents, problems.iter().collect()));
            }
        }
    }
    groups.into_iter().map(|(documents, problems)| {
        let sentences = Folded::all(problems).iter().map(ToString::to_string).collect::<Vec<_>>();
        (documents, sentences.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(key: &str) -> DocumentName {
        DocumentName { config_map: "targets".to_owned(), key: key.to_owned() }
    }

    fn problem(key: &str, message: &str) -> Problem {
        Problem { document: document(key), line: 1, column: 2, target: None, message: message.to_owned() }
    }

    fn documents(keys: &[&str]) -> Documents {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Documents { config_map: "targets".to_owned(), keys }
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
        assert_eq!(told.catch_up(&Configuration::default(), |_| true), [News::Mended(documents(&["a"]))]);
    }

    #[test]
    fn a_taken_document_is_told_once_and_then_active() {
        let mut told = ReportedDocuments::default();
        let mut say = |taken: &[Problem], is_there: bool| told.catch_up(&of(&[], taken, &[]), |_| is_there);
        let taken =
            |key: &str, by: &str| News::Taken(documents(&[key]), format!("targets/{key} line 1 column 2: {by}"));
        assert_eq!(say(&[problem("a", "x"), problem("b", "y")], true), [taken("a", "x"), taken("b", "y")]);
        assert_eq!(say(&[problem("a", "x"), problem("b", "y")], true), []);
        assert_eq!(say(&[problem("b", "y")], true), [News::Mended(documents(&["a"]))]);
        assert_eq!(say(&[], false), [], "a deleted document is not active");
    }

    #[test]
    fn each_doubt_is_told_once() {
        let mut told = ReportedDocuments::default();
        let mut doubt = |doubts: &[Problem]| told.catch_up(&of(&[], &[], doubts), |_| true);
        let doubtful = |text: &str| News::Doubtful(documents(&["a"]), format!("targets/a line 1 column 2: {text}"));
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
        let news = [News::Invalid(documents(&["a"]), first), News::Invalid(documents(&["b"]), other)];
        assert_eq!(catch_up(&bad, true), news);
        assert_eq!(catch_up(&bad, true), []);
        let later = "targets/b line 1 column 2: worse".to_owned();
        let news = [News::Invalid(documents(&["b"]), later), News::Mended(documents(&["a"]))];
        assert_eq!(catch_up(&[problem("b", "worse")], true), news);
        assert_eq!(catch_up(&[], false), [], "a deleted document is not mended");
        assert_eq!(catch_up(&[], true), []);
    }

    #[test]
    fn equal_changes_are_told_together() {
        let mut told = ReportedDocuments::default();
        let mut catch_up = |problems: &[Problem]| {
            let news = told.catch_up(&of(problems, &[], &[]), |_| true).into_iter().map(News::event);
            news.map(|(config_map, (_, reason), note)| format!("{config_map} {reason}: {note}")).collect::<Vec<_>>()
        };
        let keys = ["a", "b", "c", "d", "e"];
        let lost = |key: &&str| Problem::of_target(document(key), format!("t{key}"), "the label is lost");
        let all: Vec<_> = keys.iter().map(lost).collect();
        assert_eq!(catch_up(&all[..1]), ["targets TargetInvalid: target ta: the label is lost"]);
        assert_eq!(catch_up(&all), ["targets TargetInvalid: targets tb, tc, td and 1 more: the label is lost"]);
        assert_eq!(catch_up(&all), [""; 0]);
        let mixed = [problem("a", "x"), problem("a", "y"), problem("b", "x"), problem("b", "y"), problem("c", "x")];
        let both = "targets/a line 1 column 2, targets/b line 1 column 2";
        assert_eq!(
            catch_up(&mixed),
            [
                format!("targets TargetInvalid: {both}: x; {both}: y"),
                "targets TargetInvalid: targets/c line 1 column 2: x".to_owned(),
                "targets TargetLoaded: d, e are active".to_owned(),
            ]
        );
        assert_eq!(catch_up(&[]), ["targets TargetLoaded: a, b, c are active"]);
    }
}
