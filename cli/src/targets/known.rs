//! The targets as far as the cluster shows them: valid texts in ConfigMaps; and names, kinds and namespaces from the
//! poller's Lease for targets that run by an older text.
//!
//! A program keeps the last valid text in memory while a document is invalid or its ConfigMap is missing. No command
//! can read that text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::attestation::Attestation;
use drift_api::names::{TARGETS_LABEL, TRUE};
use drift_api::object::LeanObject;
use drift_api::unwritten::UnwrittenTargets;
use drift_language::manifests_of;
use drift_language::{
    Catalogue, CreationTimes, DocumentName, Folded, ObjectSelection, Problem, Refused, Target, Texts,
};
use serde_json::Value;

/// Active targets by the poller's Lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseNotes {
    /// The targets that it attests; none where no poller holds the Lease.
    pub(crate) attested: BTreeMap<String, Attestation>,
    /// The verdicts that it cannot write.
    pub(crate) unwritten: UnwrittenTargets,
    /// The hash of the whole document of each attested target.
    pub(crate) attested_texts: BTreeMap<String, String>,
    /// Places in which targets have, or had, objects.
    pub(crate) places: Vec<NotedPlace>,
    /// The sentence about a Lease that no poller holds.
    pub(crate) vacancy: Option<String>,
    /// The reason for which the Lease could not be read; then the rest is empty.
    pub(crate) unread: Option<String>,
}

/// A place in which a target has, or had, objects. Labels are not noted.
#[derive(Clone, Debug)]
pub(crate) struct NotedPlace {
    /// The target's name.
    pub(crate) target: String,
    /// The ConfigMap that last had it.
    pub(crate) config_map: String,
    /// The objects, labels aside.
    pub(crate) objects: ObjectSelection,
}

/// The known targets of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTargets {
    /// Targets by the texts in the ConfigMaps.
    pub(crate) good: Vec<Arc<Target>>,
    /// Targets by texts that are no longer there.
    pub(crate) by_last_good: Vec<Arc<ByLastGood>>,
    /// Problems, one sentence each. Equal ones of one ConfigMap are one.
    pub(crate) troubles: Vec<String>,
    /// The same with a sentence for each target and document, for programs.
    pub(crate) single_troubles: Vec<String>,
    /// The poller's attestations, none if no poller holds its Lease; `None` if the Lease could not be read.
    pub(crate) attested: Option<BTreeMap<String, Attestation>>,
    /// The verdicts that the poller cannot write.
    pub(crate) unwritten: UnwrittenTargets,
    /// The sentence about a Lease that no poller holds.
    pub(crate) vacancy: Option<String>,
}

/// The reason for which an edit of a good text may have no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditDoubt {
    /// The poller goes by another text, in a sentence.
    OtherText(String),
    /// Whether it does could not be looked at, in a sentence.
    Unread(String),
}

/// A target that the programs have by its last good text, which cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ByLastGood {
    /// Its name.
    pub(crate) name: String,
    /// The places of its objects, labels aside.
    pub(crate) objects: Vec<ObjectSelection>,
    /// The problem and its consequence.
    pub(crate) trouble: Problem,
    /// The ConfigMap that last had it and that is missing; `None` if a wrong document stands for the target.
    pub(crate) missing_map: Option<String>,
}

/// A target as far as it is known.
#[derive(Clone, Debug)]
pub(crate) enum KnownTarget {
    /// By the text in its ConfigMap.
    Text(Arc<Target>),
    /// By name and place alone.
    LastGood(Arc<ByLastGood>),
    /// The target of an object that no known text selects. These may select it: their labels are not known.
    Unknown(Vec<Arc<ByLastGood>>),
}

/// A document that is wrong.
struct Wrong {
    document: DocumentName,
    /// The name of its target, if it can be read.
    name: Option<String>,
    problems: String,
}

impl LiveTargets {
    /// Of the ConfigMaps of a namespace.
    #[must_use]
    pub(crate) fn of(namespace: &str, (texts, created): (&Texts, &CreationTimes), notes: &LeaseNotes) -> Self {
        let catalogue = Catalogue::default().update_without(texts, created, &Refused::new());
        let good: Vec<_> = catalogue.targets().values().cloned().collect();
        let wrong = wrong_documents(texts, catalogue.problems());
        let by_last_good = by_last_good(namespace, (texts, &catalogue), (&wrong, notes));
        let mut problems: Vec<Problem> = by_last_good.iter().map(|target| target.trouble.clone()).collect();
        let is_told = |wrong: &&Wrong| by_last_good.iter().any(|target| may_be_of(wrong, &target.name, notes));
        problems.extend(wrong.iter().filter(|wrong| !is_told(wrong)).map(|wrong| wrong.problem(namespace)));
        let placed = |problem: Problem| Problem { document: in_namespace(namespace, problem.document), ..problem };
        problems.extend(catalogue.taken().into_iter().map(placed));
        problems.extend(good.iter().filter_map(|target| other_text(namespace, target, notes)).map(|problem| {
            let message = format!(
                "{}: that was edited a moment ago, or what the cluster has does not fit it (check --from-cluster says what)",
                problem.message
            );
            Problem { message, ..problem }
        }));
        let unread = notes
            .unread
            .iter()
            .map(|why| format!("{why}: targets that are active by an earlier text could not be looked for"));
        let troubles = Folded::all(&problems).iter().map(ToString::to_string).chain(unread.clone()).collect();
        let single_troubles = problems.iter().map(ToString::to_string).chain(unread).collect();
        let attested = notes.unread.is_none().then(|| notes.attested.clone());
        let (unwritten, vacancy) = (notes.unwritten.clone(), notes.vacancy.clone());
        Self { good, by_last_good, troubles, single_troubles, attested, unwritten, vacancy }
    }

    /// Targets that are not those of a cluster.
    #[must_use]
    pub(crate) fn tried(good: Vec<Arc<Target>>) -> Self {
        Self { good, ..Self::default() }
    }

    /// Returns true if every text that stands there is good, none is known not to be active, and the Lease could be asked for others.
    #[must_use]
    pub(crate) const fn is_whole(&self) -> bool {
        self.troubles.is_empty()
    }

    /// Each target with the objects of one kind, those with a text first.
    #[must_use]
    pub(crate) fn known(&self) -> Vec<(KnownTarget, ObjectSelection)> {
        let good = self.good.iter().map(|target| (KnownTarget::Text(target.clone()), target.objects.clone()));
        let by_last_good = self.by_last_good.iter().flat_map(|target| {
            let places = target.objects.iter().cloned();
            places.map(|objects| (KnownTarget::LastGood(target.clone()), objects))
        });
        good.chain(by_last_good).collect()
    }
}

/// Stands for the name of a target whose text is not known. An object without a known target is never shown under a name
/// that only may be right.
pub(crate) const UNKNOWN_TARGET: &str = "unknown";

impl KnownTarget {
    /// The target of an object, by all without a known text that may select it; `None` if there are none.
    #[must_use]
    pub(crate) fn without_text(mut candidates: Vec<Arc<ByLastGood>>) -> Option<Self> {
        candidates.dedup_by(|one, other| one.name == other.name);
        (!candidates.is_empty()).then_some(Self::Unknown(candidates))
    }

    /// Its text.
    ///
    /// # Errors
    /// A sentence, if the text is not known.
    pub(crate) fn into_text(self) -> Result<Arc<Target>, String> {
        match self {
            Self::Text(target) => Ok(target),
            Self::LastGood(target) => Err(doubt_of_target(&[target])),
            Self::Unknown(candidates) => Err(doubt_of_target(&candidates)),
        }
    }

    /// Its name.
    #[must_use]
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Text(target) => &target.name,
            Self::LastGood(target) => &target.name,
            Self::Unknown(_) => UNKNOWN_TARGET,
        }
    }

    /// Its text, where that is known.
    #[must_use]
    pub(crate) fn text(&self) -> Option<&Target> {
        match self {
            Self::Text(target) => Some(target),
            Self::LastGood(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns true if an object of its kind is one of its objects. Of a text that is not known the selector is not known either: what
    /// carries a condition of ours may be its object.
    #[must_use]
    pub(crate) fn lists(&self, objects: &ObjectSelection, object: &LeanObject, labels: Option<&Value>) -> bool {
        let is_ours = || object.conditions.observed().is_some() || object.conditions.corrected().is_some();
        objects.selects(object.id.namespace.as_deref(), labels) && (self.text().is_some() || is_ours())
    }
}

/// The sentence about an object that no known text selects.
fn doubt_of_target(candidates: &[Arc<ByLastGood>]) -> String {
    let names: Vec<_> = candidates.iter().map(|target| target.name.as_str()).collect();
    let trouble = candidates.first().map(|target| target.trouble.to_string()).unwrap_or_default();
    format!("its target is unknown; it may be {}, whose text cannot be read: {trouble}", names.join(" or "))
}

/// Names the ConfigMap with its namespace, for sentences.
fn in_namespace(namespace: &str, DocumentName { config_map, key }: DocumentName) -> DocumentName {
    DocumentName { config_map: format!("ConfigMap {namespace}/{config_map}"), key }
}

impl Wrong {
    fn sentence(&self, namespace: &str) -> String {
        let DocumentName { config_map, key } = &self.document;
        format!("the text in ConfigMap {namespace}/{config_map}, key {key}, is wrong ({})", self.problems)
    }

    /// The problem of a document that is that of no known target.
    fn problem(&self, namespace: &str) -> Problem {
        Problem {
            document: in_namespace(namespace, self.document.clone()),
            line: 0,
            column: 0,
            target: None,
            message: format!("the text is wrong ({}); no earlier text is known to be active", self.problems),
        }
    }
}

fn wrong_documents(texts: &Texts, problems: &[Problem]) -> Vec<Wrong> {
    let mut wrong: Vec<Wrong> = Vec::new();
    for Problem { document, line, column, message, .. } in problems {
        let said = if *line == 0 { message.clone() } else { format!("line {line} column {column}: {message}") };
        match wrong.last_mut().filter(|last| last.document == *document) {
            Some(last) => last.problems = format!("{}; {said}", last.problems),
            None => {
                let text = texts.get(&document.config_map).and_then(|documents| documents.get(&document.key));
                let manifest = text.and_then(|text| manifests_of(text).into_iter().next());
                let name = manifest.and_then(|manifest| Some(manifest.pointer("/metadata/name")?.as_str()?.to_owned()));
                wrong.push(Wrong { document: document.clone(), name, problems: said });
            }
        }
    }
    wrong
}

/// Returns true if a wrong document may be what became of this target: by its name, or where it has none, or one that nobody knows, by its
/// ConfigMap.
fn may_be_of(wrong: &Wrong, target: &str, notes: &LeaseNotes) -> bool {
    let is_noted = |name: &String| notes.places.iter().any(|place| place.target == *name);
    match wrong.name.as_ref().filter(|name| is_noted(name)) {
        Some(name) => name == target,
        None => {
            let was_there =
                |place: &NotedPlace| place.target == target && place.config_map == wrong.document.config_map;
            notes.places.iter().any(was_there)
        }
    }
}

fn by_last_good(
    namespace: &str,
    (texts, catalogue): (&Texts, &Catalogue),
    (wrong, notes): (&[Wrong], &LeaseNotes),
) -> Vec<Arc<ByLastGood>> {
    let names: BTreeSet<&String> = notes.places.iter().map(|place| &place.target).collect();
    let lost = names.into_iter().filter(|name| !catalogue.targets().contains_key(*name));
    let of = |name: &String| {
        let places: Vec<_> = notes.places.iter().filter(|place| place.target == *name).collect();
        let is_attested = notes.attested.contains_key(name);
        let said: Vec<_> = wrong.iter().filter(|wrong| may_be_of(wrong, name, notes)).collect();
        let missing_map = places.iter().map(|place| &place.config_map).find(|map| !texts.contains_key(*map));
        let missing_map = missing_map.filter(|_| said.is_empty()).cloned();
        let (document, named, cause) = match (&*said, &missing_map) {
            // The key is beside the name, so that equal mistakes of several documents have equal messages.
            ([wrong], _) if wrong.name.as_ref() == Some(name) => {
                let DocumentName { config_map, key } = &wrong.document;
                let cause = format!("the text in ConfigMap {namespace}/{config_map} is wrong ({})", wrong.problems);
                (wrong.document.clone(), format!("{name} (key {key})"), cause)
            }
            ([wrong, ..], _) => {
                let all: Vec<_> = said.iter().map(|wrong| wrong.sentence(namespace)).collect();
                (wrong.document.clone(), name.clone(), all.join(", and "))
            }
            ([], Some(map)) => {
                let cause =
                    format!("ConfigMap {namespace}/{map} is gone or lacks the label {TARGETS_LABEL}: \"{TRUE}\"");
                (DocumentName { config_map: map.clone(), key: String::new() }, name.clone(), cause)
            }
            // A ConfigMap that stands there lacks the target: it was removed, and the programs clean up after it.
            ([], None) => return None,
        };
        let consequence = match (is_attested, &missing_map) {
            (_, Some(_)) => &format!(
                "nothing is created or updated, and after a restart nothing is polled or deleted; apply the ConfigMap with the \
                     label again, or remove the target with `{}`",
                Problem::FORGET
            ),
            (true, None) => "the programs go on by the last good text, which cannot be read from here",
            (false, None) => {
                "whether the programs go on by an earlier text is unknown: the poller does not attest one at the moment"
            }
        };
        let objects = places.iter().map(|place| place.objects.clone()).collect();
        let trouble = Problem::of_target(document, named, format!("{cause}; {consequence}"));
        Some(Arc::new(ByLastGood { name: name.clone(), objects, trouble, missing_map }))
    };
    lost.filter_map(of).collect()
}

/// The warning that the poller attests another text of a target than the one in its ConfigMap.
#[must_use]
pub(crate) fn other_text(namespace: &str, target: &Target, notes: &LeaseNotes) -> Option<Problem> {
    let is_other = |attestation: &&Attestation| {
        let text = notes.attested_texts.get(&target.name);
        attestation.hash != target.verdict_hash || text.is_some_and(|text| *text != target.document_hash)
    };
    notes.attested.get(&target.name).filter(is_other)?;
    let DocumentName { config_map, key } = &target.document;
    let message = format!("the poller goes by another text than the one in ConfigMap {namespace}/{config_map}");
    Some(Problem::of_target(target.document.clone(), format!("{} (key {key})", target.name), message))
}

/// Why `suspend: true` or `suspend: false` in the text of this target may have no effect; `None` where nothing speaks against it.
/// The brake is part of no verdict, so a text in which it was just written is not another one.
#[must_use]
pub(crate) fn doubt_of_brake(
    namespace: &str,
    (target, suspend): (&Target, bool),
    notes: &LeaseNotes,
) -> Option<EditDoubt> {
    if let Some(why) = &notes.unread {
        return Some(EditDoubt::Unread(format!(
            "{why}: whether the text of target {} is active could not be looked at",
            target.name
        )));
    }
    let verdicts_alone = LeaseNotes { attested_texts: BTreeMap::new(), ..notes.clone() };
    let problem = other_text(namespace, target, &verdicts_alone)?;
    let (instead, brake) = match suspend {
        true => {
            (format!("; `kubectl drift pause {} --all` holds corrections meanwhile", target.objects.kind), "suspending")
        }
        false => (String::new(), "unsuspending"),
    };
    Some(EditDoubt::OtherText(format!(
        "{problem}: unless that was edited seconds ago it was refused (check --from-cluster says why), and {brake} the target takes effect \
         once it is mended{instead}"
    )))
}

#[cfg(test)]
mod tests;
