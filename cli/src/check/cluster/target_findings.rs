//! Answers of the cluster about one target.

use drift_api::condition::GenerationPlace;
use drift_kube::client::ResolvedKind;
use drift_kube::kinds::ExaminedKind;
use drift_language::{TypeMistake, UnknownField};

use crate::check::document::Severity;

/// Findings about one target.
#[derive(Default)]
pub(super) struct TargetFindings {
    /// The fields that the target reads or writes and that its kind lacks.
    pub(super) unknown: Vec<UnknownField>,
    /// The templates that do not fit the types of the kind.
    pub(super) mistakes: Vec<TypeMistake>,
    pub(super) said: Vec<(Severity, String)>,
    /// Of Secrets, by name.
    pub(super) secrets: Vec<(String, (Severity, String))>,
    /// The place of the generation in the conditions of the kind.
    pub(super) generation_place: GenerationPlace,
    /// The version in which objects are stored, if a write through the target's version changes other fields of them.
    pub(super) stored: Option<ResolvedKind>,
    /// The number of objects that the target selects.
    pub(super) objects: Option<u64>,
    /// The reason for which no write of the condition was tried, if it is no mistake.
    pub(super) untried: Option<String>,
    /// True if something could not be asked.
    pub(super) is_partial: bool,
}

impl TargetFindings {
    pub(super) fn error(&mut self, message: impl Into<String>) {
        self.said.push((Severity::Error, message.into()));
    }

    /// Takes the findings about a kind, and returns the kind and whether the target can work with it.
    pub(super) fn take(&mut self, text: &str, examined: ExaminedKind) -> (ResolvedKind, bool) {
        self.mistakes = examined.type_mistakes(text);
        let ExaminedKind { kind, generation_place, problems, doubts, unknown, stored, .. } = examined;
        self.said.extend(doubts.into_iter().map(|doubt| (Severity::Warning, doubt)));
        let is_usable = problems.is_empty() && unknown.is_empty();
        problems.into_iter().for_each(|problem| self.error(problem));
        (self.unknown, self.stored, self.generation_place) = (unknown, stored, generation_place);
        (kind, is_usable)
    }

    /// What the definition of a kind says that the cluster does not have yet. Of what is not there nothing else can be asked.
    pub(super) fn by_definition(&mut self, kind: &str, (text, examined): (&str, ExaminedKind)) {
        let message = format!(
            "the cluster has no kind {kind} yet: it is checked by its definition among the files, and rights, objects and a write of the \
             condition are not"
        );
        self.said.push((Severity::Warning, message));
        self.take(text, examined);
    }

    /// Notes a question without an answer, which is no mistake of the target.
    pub(super) fn unasked(&mut self, what: &str, error: impl std::fmt::Display) {
        self.is_partial = true;
        self.said.push((Severity::Warning, format!("{what} cannot be looked at, so that it is not checked: {error}")));
    }
}
