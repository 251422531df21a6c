//! Target documents as people wrote them, and remarks about places in them.

use std::sync::Arc;

use drift_language::{DocumentName, FoundDocument, HolderLabel, Places, Problem, find_documents};

/// A part of a draft that only a person can fill in.
pub(crate) const PLACEHOLDER: &str = "CHANGE-ME";

/// A text that people wrote, and what they call it.
#[derive(Debug)]
pub(crate) struct Source {
    /// A file's path, or a ConfigMap and its key.
    pub(crate) name: String,
    /// All of it.
    pub(crate) text: String,
}

/// A target document in a source.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) name: DocumentName,
    pub(super) text: String,
    /// The places in the text.
    pub(super) places: Places,
    pub(super) source: Arc<Source>,
    /// Its place in the source; `None` if it is the whole source.
    pub(super) found: Option<FoundDocument>,
}

/// The severity of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The target would not become active, or would not work.
    Error,
    /// It would, and perhaps not as it is meant.
    Warning,
}

/// One thing to say about a place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    /// The severity.
    pub(crate) severity: Severity,
    /// The source's name.
    pub(crate) source: String,
    /// 1-based line and column; `None` where it is about the whole source.
    pub(crate) place: Option<(usize, usize)>,
    /// The text of that line.
    pub(crate) line: String,
    /// The mistake and its remedy.
    pub(crate) message: String,
    /// The same of a missing target. People read equal ones once.
    pub(crate) missing: Option<Problem>,
}

impl Remark {
    /// A warning of a whole source.
    #[must_use]
    pub(crate) fn of_source(source: &str, message: &str) -> Self {
        let (source, message) = (source.to_owned(), message.to_owned());
        Self { severity: Severity::Warning, source, place: None, line: String::new(), message, missing: None }
    }
}

impl Document {
    /// A document that is all of its source, under the name by which the catalogue is to know it.
    #[must_use]
    pub(crate) fn whole(name: DocumentName, source: Source) -> Self {
        let (text, places) = (source.text.clone(), Places::of(&source.text));
        Self { name, text, places, source: Arc::new(source), found: None }
    }

    /// The document that has this name.
    #[must_use]
    pub(crate) fn find<'d>(documents: &'d [Self], name: &DocumentName) -> Option<&'d Self> {
        documents.iter().find(|document| document.name == *name)
    }

    /// Line and column of a word outside of whole lines of comments.
    pub(super) fn place_of(&self, word: &str) -> Option<(usize, usize)> {
        let lines = self.text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
        let place = |(line, number): (&str, usize)| Some((number, line[..line.find(word)?].chars().count() + 1));
        lines.into_iter().find_map(place)
    }

    pub(super) fn mistake(&self) -> Option<String> {
        self.found.as_ref().and_then(FoundDocument::mistake)
    }

    /// Returns true if the API server refuses the ConfigMap that holds it.
    pub(super) fn has_refused_holder(&self) -> bool {
        let holder = self.found.as_ref().and_then(|found| found.holder.as_ref());
        holder.is_some_and(|holder| matches!(holder.label, HolderLabel::Boolean(_)))
    }

    pub(super) fn remark(&self, severity: Severity, (line, column): (usize, usize), message: String) -> Remark {
        let (line, column) = match &self.found {
            Some(found) => found.place(line, column),
            None => (line.max(1), column.max(1)),
        };
        self.remark_in_source(severity, (line, column), message)
    }

    /// A remark about a place of the whole source.
    pub(super) fn remark_in_source(
        &self,
        severity: Severity,
        (line, column): (usize, usize),
        message: String,
    ) -> Remark {
        let text = self.source.text.lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
        let source = self.source.name.clone();
        Remark { severity, source, place: Some((line, column)), line: text, message, missing: None }
    }
}

/// The documents of some sources.
#[must_use]
pub(crate) fn documents_of(sources: Vec<Source>) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    for source in sources {
        let source = Arc::new(source);
        let found = find_documents(&source.text);
        let several = found.len() > 1;
        for (number, found) in found.into_iter().enumerate() {
            let mut name = name_of(&source.name, &found, several.then_some(number + 1));
            if documents.iter().any(|known| known.name == name) {
                // Of two ConfigMaps of one name, say for two namespaces.
                name.config_map = format!("{} (document {})", name.config_map, number + 1);
            }
            let (text, source) = (found.text.clone(), source.clone());
            let places = Places::of(&text);
            documents.push(Document { name, text, places, source, found: Some(found) });
        }
    }
    documents
}

/// The name of a document in messages: `FOLDER/FILE`, or `FILE:CONFIGMAP/KEY`.
fn name_of(source: &str, found: &FoundDocument, number: Option<usize>) -> DocumentName {
    if let Some(holder) = &found.holder {
        return DocumentName { config_map: format!("{source}:{}", holder.config_map), key: holder.key.clone() };
    }
    let (folder, file) = source.rsplit_once('/').unwrap_or((".", source));
    let number = number.map(|number| format!(" document {number}")).unwrap_or_default();
    DocumentName { config_map: folder.to_owned(), key: format!("{file}{number}") }
}
