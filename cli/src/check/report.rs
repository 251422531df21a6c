//! The report of a check: mistakes and doubts in target documents, and the requests that polls send.

mod rates;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::names::{TARGETS_LABEL, TRUE};
use drift_language::{Catalogue, CreationTimes, HolderLabel, Problem, Refused, Target, Texts, TypeMistake};

pub(crate) use rates::{Rate, requests_of, total_rates};

use crate::check::document::PLACEHOLDER;
use crate::check::document::{Document, Remark, Severity};
use warnings::warnings;

/// Error for the placeholder of a draft.
const UNFINISHED: &str = "CHANGE-ME stands where `kubectl drift draft` knew no value: write that of your system";

/// A target that would become active.
#[derive(Debug)]
pub(crate) struct Good {
    /// The target.
    pub(crate) target: Arc<Target>,
    /// The name of its source.
    pub(crate) source: String,
    /// The number of objects that it selects, where a cluster was asked.
    pub(crate) objects: Option<u64>,
    /// The reason for which no write of the condition was tried, if the user may not do it.
    pub(crate) untried: Option<String>,
    /// The first polls of its objects, if they were waited for.
    pub(crate) waited: Option<Waited>,
    /// True if it can be read, and would not work all the same.
    pub(crate) has_error: bool,
}

/// The first polls of a target's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// The number of objects whose external resource was read.
    pub(crate) read: u64,
    /// The numbers of the others, by the reasons of their verdicts.
    pub(crate) unread: BTreeMap<String, u64>,
    /// Secrets that could not be looked at, with the programs that use them.
    pub(crate) unread_secrets: BTreeSet<String>,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// In the order of the sources.
    pub(crate) remarks: Vec<Remark>,
    /// By name.
    pub(crate) targets: Vec<Good>,
    /// True if something could not be looked at, so that nothing is said of it.
    pub(crate) is_partial: bool,
    /// Kinds whose fields are not checked, because neither a file nor a cluster was given that defines them.
    pub(crate) undefined: BTreeSet<String>,
}

impl Report {
    /// Returns true if something would not work.
    #[must_use]
    pub(crate) fn is_bad(&self) -> bool {
        self.remarks.iter().any(|remark| remark.severity == Severity::Error)
    }

    /// Adds to what is said of one document.
    pub(crate) fn say(&mut self, document: &Document, severity: Severity, message: impl Into<String>) {
        self.say_here(document, (0, 0), (severity, message.into()));
    }

    /// Says that something could not be looked at.
    pub(crate) fn unasked(&mut self, document: &Document, what: &str, why: &str) {
        self.is_partial = true;
        self.say(document, Severity::Warning, format!("{what} cannot be looked at, so that it is not checked: {why}"));
    }

    /// The same about the key at a path of the document, or the nearest one above it.
    pub(crate) fn say_at(&mut self, document: &Document, path: &[&str], said: (Severity, String)) {
        self.say_here(document, document.places.of_key(path), said);
    }

    /// The same about the place where the document names a Secret.
    pub(crate) fn say_of_secret(&mut self, document: &Document, name: &str, said: (Severity, String)) {
        self.say_here(document, document.places.of_secret(name), said);
    }

    /// Adds errors of templates that do not fit the kind of the document's target.
    pub(crate) fn say_types(&mut self, document: &Document, mistakes: Vec<TypeMistake>) {
        for TypeMistake { place, message } in mistakes {
            self.say_here(document, place, (Severity::Error, message));
        }
    }

    /// Adds an error for each document with a placeholder of a draft. `explain` tries such a document.
    pub(crate) fn refuse_unfinished(&mut self, documents: &[Document]) {
        for document in documents {
            if let Some(place) = document.place_of(PLACEHOLDER) {
                self.say_here(document, place, (Severity::Error, UNFINISHED.to_owned()));
            }
        }
    }

    fn say_here(&mut self, document: &Document, place: (usize, usize), (severity, message): (Severity, String)) {
        self.remarks.push(document.remark(severity, place, message));
        let of_document = self.targets.iter_mut().filter(|good| good.target.document == document.name);
        of_document.for_each(|good| good.has_error |= severity == Severity::Error);
    }

    /// Adds remarks.
    pub(crate) fn extend(&mut self, remarks: impl IntoIterator<Item = Remark>) {
        self.remarks.extend(remarks);
        self.sort();
    }

    /// Adds remarks about the cluster before all others: without them, what follows may be out of date.
    pub(crate) fn say_first(&mut self, remarks: impl IntoIterator<Item = Remark>) {
        let before = self.remarks.len();
        self.remarks.splice(..0, remarks);
        self.is_partial |= self.remarks.len() > before;
    }

    /// Returns true if there are warnings.
    #[must_use]
    pub(crate) fn has_warnings(&self) -> bool {
        self.remarks.iter().any(|remark| remark.severity == Severity::Warning)
    }

    /// Notes how many objects a target selects, and why no write of the condition was tried on one.
    pub(crate) fn note(&mut self, target: &str, (objects, untried): (Option<u64>, Option<String>)) {
        if let Some(good) = self.targets.iter_mut().find(|good| good.target.name == target) {
            (good.objects, good.untried) = (objects, untried);
        }
    }

    /// Notes how many objects a target selects, and how far their first polls are.
    pub(crate) fn note_first_polls(&mut self, target: &str, (objects, waited): (Option<u64>, Waited)) {
        if let Some(good) = self.targets.iter_mut().find(|good| good.target.name == target) {
            (good.objects, good.waited) = (objects, Some(waited));
        }
    }

    /// Sorts the remarks by their place, and removes duplicates.
    pub(crate) fn sort(&mut self) {
        self.remarks.sort_by(|left, right| (&left.source, left.place).cmp(&(&right.source, right.place)));
        self.remarks.dedup();
    }
}

/// Checks documents together: each for itself, and whether they go with one another.
#[must_use]
pub(crate) fn check(documents: &[Document]) -> Report {
    check_without(documents, &Refused::new())
}

/// The same, where the kinds of some targets lack what these read or write.
#[must_use]
pub(crate) fn check_without(documents: &[Document], refused: &Refused) -> Report {
    let mut texts = Texts::new();
    for document in documents.iter().filter(|document| document.mistake().is_none()) {
        let keys = texts.entry(document.name.config_map.clone()).or_default();
        keys.insert(document.name.key.clone(), document.text.clone());
    }
    let catalogue = Catalogue::default().update_without(&texts, &CreationTimes::new(), refused);
    let mut report = Report::default();
    let mut tell = |severity, problems: &[Problem]| {
        for Problem { document, line, column, message, .. } in problems {
            let document = Document::find(documents, document);
            report.remarks.extend(document.map(|found| found.remark(severity, (*line, *column), message.clone())));
        }
    };
    tell(Severity::Error, catalogue.problems());
    // Of two documents that take a target from each other, one error names both.
    tell(Severity::Error, &catalogue.conflicts());
    let good = |target: &Arc<Target>| {
        let document = Document::find(documents, &target.document)?;
        Some((document, target.clone()))
    };
    let good: Vec<_> = catalogue.targets().values().filter_map(good).collect();
    let no_document = |document: &Document| Some(document.remark(Severity::Error, (0, 0), document.mistake()?));
    report.remarks.extend(documents.iter().filter_map(no_document));
    report.remarks.extend(unlabelled(documents));
    report.remarks.extend(warnings(&good, &catalogue.doubts()));
    let of_source = |(document, target): (&Document, Arc<Target>)| Good {
        target,
        source: document.source.name.clone(),
        objects: None,
        untried: None,
        waited: None,
        has_error: document.has_refused_holder(),
    };
    report.targets = good.into_iter().map(of_source).collect();
    report.sort();
    report
}

/// A remark about each ConfigMap that holds documents and lacks the label by which the programs find it. The label may come from
/// elsewhere, for example kustomize.
fn unlabelled(documents: &[Document]) -> impl Iterator<Item = Remark> {
    documents.iter().filter_map(|document| {
        let holder = document.found.as_ref()?.holder.as_ref()?;
        let (name, label) = (&holder.config_map, format!("{TARGETS_LABEL}: \"{TRUE}\""));
        match holder.label {
            HolderLabel::Set => None,
            HolderLabel::Boolean(place) => {
                let message = format!("the API server refuses ConfigMap {name}: a label is a text, so write {label} in quotes");
                Some(document.remark_in_source(Severity::Error, place, message))
            }
            HolderLabel::Missing(place) => {
                let message = format!(
                    "ConfigMap {name} holds a target and lacks the label {label}: unless something adds it, the programs ignore the target"
                );
                Some(document.remark_in_source(Severity::Warning, place, message))
            }
        }
    })
}

/// The ConfigMaps that hold documents and say another namespace than the one in which the programs read them.
#[must_use]
pub(crate) fn misplaced(documents: &[Document], namespace: &str) -> Vec<Remark> {
    let remark = |document: &Document| {
        let holder = document.found.as_ref()?.holder.as_ref()?;
        let stated = holder.namespace.as_deref().filter(|stated| *stated != namespace)?;
        let message = format!(
            "ConfigMap {} is for namespace {stated}, and the programs read targets in their own, {namespace} (--namespace names another)",
            holder.config_map
        );
        Some(document.remark_in_source(Severity::Warning, holder.namespace_at, message))
    };
    documents.iter().filter_map(remark).collect()
}

#[cfg(test)]
mod tests;
