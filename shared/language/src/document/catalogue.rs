//! The governing documents: the valid text of each target in the ConfigMaps, and the last text of one that is gone.
//!
//! An invalid edit never stops a working target, and a missing ConfigMap removes nothing. [`TargetState`] says what each
//! state means for its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::names::{TARGETS_LABEL, TRUE};

use crate::checks::lookalikes::{NO_TEMPLATE, lookalikes};
use crate::document::field_place::{locate_field, locate_written};
use crate::document::parse::{Parsed, parse};
use crate::document::places::Places;
use crate::document::sections::where_it_belongs;
use crate::target::Target;
use crate::target_state::TargetState;
use crate::yaml::problem::{DocumentName, Problem};
use crate::yaml::{Fault, Position};

/// The texts of the existing ConfigMaps, by ConfigMap and key.
pub type Texts = BTreeMap<String, BTreeMap<String, String>>;

/// The `creationTimestamp` of each ConfigMap. The API server writes them in UTC, so their texts sort by time.
pub type CreationTimes = BTreeMap<String, String>;

/// A field that the templates of a target read and no object of its kind has, or a kind that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// Its path below `self`. Empty for a missing kind.
    pub path: Vec<String>,
    /// The target key that writes it, `publish` or `store`. `None` if a template reads it.
    pub written_by: Option<&'static str>,
    /// The mistake and how to fix it.
    pub message: String,
}

/// Valid documents whose new text must not become active.
pub type Refused = BTreeMap<DocumentName, Vec<UnknownField>>;

/// The governing documents, and the problems of the others.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The valid texts of existing ConfigMaps.
    live: BTreeMap<DocumentName, Arc<Good>>,
    /// The documents by which targets are polled, by target.
    governing: BTreeMap<String, (DocumentName, Arc<Good>)>,
    targets: BTreeMap<String, Arc<Target>>,
    states: BTreeMap<String, TargetState>,
    problems: Vec<Problem>,
    /// The problems of two documents in conflict: of the one in the older ConfigMap, if it was valid alone, and of the
    /// other.
    conflicts: Vec<(Option<Problem>, Problem)>,
}

/// A valid document.
#[derive(Debug)]
struct Good {
    text: String,
    target: Arc<Target>,
    name_at: Position,
    objects_at: Position,
    /// Likely mistakes: values that look like templates, and keys that are indented too deep.
    doubts: Vec<Fault>,
}

/// The candidate versions of a document: its new text if valid, and the active version before.
struct Offer {
    name: DocumentName,
    new: Option<Arc<Good>>,
    current: Option<Arc<Good>>,
}

/// The documents of existing ConfigMaps.
#[derive(Default)]
struct Existing {
    live: BTreeMap<DocumentName, Arc<Good>>,
    /// ConfigMaps without a problem.
    whole: BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Offer {
    /// Returns true if its text differs from the active one.
    fn is_new(&self) -> bool {
        match (&self.new, &self.current) {
            (Some(new), Some(current)) => !Arc::ptr_eq(new, current),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

impl Catalogue {
    /// Every target with a text by which it is polled or deleted, by name: live, taken and former ones.
    #[must_use]
    pub fn targets(&self) -> &BTreeMap<String, Arc<Target>> {
        &self.targets
    }

    /// The states of targets, including taken ones that another target's document keeps from being polled.
    #[must_use]
    pub const fn states(&self) -> &BTreeMap<String, TargetState> {
        &self.states
    }

    /// The problems in the order of the documents. Those of former targets name the target.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The valid documents of which two ConfigMaps have different texts, or texts about the same objects: a problem of
    /// each.
    #[must_use]
    pub fn taken(&self) -> Vec<Problem> {
        let both = self.conflicts.iter().flat_map(|(older, newer)| older.iter().chain([newer]));
        in_text_order(both.cloned().collect())
    }

    /// The same conflicts, each once: at the document in the newer ConfigMap.
    #[must_use]
    pub fn conflicts(&self) -> Vec<Problem> {
        in_text_order(self.conflicts.iter().map(|(_, newer)| newer.clone()).collect())
    }

    /// Likely mistakes in active texts, in the order of the documents.
    #[must_use]
    pub fn doubts(&self) -> Vec<Problem> {
        let of = |(name, good): (&DocumentName, &Arc<Good>)| {
            good.doubts.iter().map(|doubt| Problem::new(name, doubt.at, doubt.message.clone())).collect::<Vec<_>>()
        };
        let former = self.governing.values().filter(|(name, _)| !self.live.contains_key(name));
        let all: BTreeMap<_, _> = self.live.iter().chain(former.map(|(name, good)| (name, good))).collect();
        all.into_iter().flat_map(of).collect()
    }

    /// Returns the catalogue after a change of ConfigMaps. A target with the same text keeps its value.
    #[must_use]
    pub fn update(&self, texts: &Texts) -> Self {
        self.update_without(texts, &CreationTimes::new(), &Refused::new())
    }

    /// The targets of documents whose text differs in `next`, as pairs of the active one and the next one.
    pub fn edits<'c>(&'c self, next: &'c Self) -> impl Iterator<Item = (&'c Arc<Target>, &'c Arc<Target>)> {
        let both = self.live.iter().filter_map(|(name, good)| Some((good, next.live.get(name)?)));
        both.filter(|(before, after)| !Arc::ptr_eq(before, after))
            .map(|(before, after)| (&before.target, &after.target))
    }

    /// Updates like [`Self::update`], but keeps rejected documents unchanged.
    #[must_use]
    pub fn update_without(&self, texts: &Texts, created: &CreationTimes, refused: &Refused) -> Self {
        let mut existing = Existing::default();
        for (config_map, documents) in texts {
            self.take_config_map(config_map, documents, refused, &mut existing);
        }
        let mut next = Self { live: existing.live, problems: existing.problems, ..Self::default() };
        next.choose_governing(created);
        self.leave_former(&mut next, texts, &existing.whole);
        next.problems = in_text_order(next.problems);
        let targets = next.governing.iter().map(|(name, (_, good))| (name.clone(), good.target.clone()));
        next.targets = targets.collect();
        next
    }

    /// Ends a former target, because a person removed it on purpose.
    pub fn forget(&mut self, target: &str) {
        if self.governing.remove(target).is_none() {
            return;
        }
        self.targets.remove(target);
        self.states.remove(target);
        self.problems.retain(|problem| problem.target.as_deref() != Some(target));
    }

    /// Adds the documents of one existing ConfigMap.
    fn take_config_map(
        &self,
        config_map: &str,
        documents: &BTreeMap<String, String>,
        refused: &Refused,
        existing: &mut Existing,
    ) {
        let before = existing.problems.len();
        let mut offers = Vec::new();
        for (key, text) in documents {
            let name = DocumentName { config_map: config_map.to_owned(), key: key.clone() };
            let current = self.live.get(&name).cloned();
            let new = match current.as_ref().or_else(|| self.former_text(&name)) {
                Some(good) if good.text == *text => Some(good.clone()),
                _ if refused.contains_key(&name) => {
                    let places = Places::of(text);
                    let problem = |field: &UnknownField| field.problem(&name, (text, &places));
                    existing.problems.extend(refused[&name].iter().map(problem));
                    None
                }
                _ => Good::parse(&name, text).map_err(|found| existing.problems.extend(found)).ok(),
            };
            offers.push(Offer { name, new, current });
        }
        accept(in_order(offers), existing);
        if existing.problems.len() == before {
            existing.whole.insert(config_map.to_owned());
        }
    }

    /// Returns the last text of a document whose ConfigMap was gone.
    fn former_text(&self, name: &DocumentName) -> Option<&Arc<Good>> {
        self.governing.values().find(|(one, _)| one == name).map(|(_, good)| good)
    }

    /// Chooses among the live documents. Of two in conflict, the one in the older ConfigMap is polled, so that both
    /// programs choose the same, also after a restart.
    fn choose_governing(&mut self, created: &CreationTimes) {
        let mut ordered: Vec<(&DocumentName, &Arc<Good>)> = self.live.iter().collect();
        ordered.sort_by_key(|(name, _)| (created.get(&name.config_map), *name));
        for (number, (name, good)) in ordered.iter().enumerate() {
            let mut is_governing = true;
            for (earlier, taken) in &ordered[..number] {
                let Some(conflict) = good.conflict(name, earlier, taken) else { continue };
                let governs = |(by, _): &(DocumentName, Arc<Good>)| by == *earlier;
                is_governing &= !self.governing.get(&taken.target.name).is_some_and(governs);
                if good.target.document_hash != taken.target.document_hash {
                    let back = taken.conflict(earlier, name, good);
                    self.conflicts.push((back.map(with_consequence), with_consequence(conflict)));
                    let both = [good.target.name.clone(), taken.target.name.clone()];
                    self.states.extend(both.map(|name| (name, TargetState::Taken)));
                }
            }
            if is_governing {
                let (target, document) = (good.target.name.clone(), ((*name).clone(), (*good).clone()));
                self.states.entry(target.clone()).or_insert(TargetState::Live);
                self.governing.insert(target, document);
            }
        }
    }

    /// Keeps the last texts of targets that are gone without proof of removal: their ConfigMap does not exist, or a
    /// document in it is invalid, which may be their new text. A live document of the same name or objects ends them.
    fn leave_former(&self, next: &mut Self, texts: &Texts, whole: &BTreeSet<String>) {
        for (target, (name, good)) in &self.governing {
            let is_succeeded = || next.live.iter().any(|(one, live)| live.conflict(one, name, good).is_some());
            if whole.contains(&name.config_map) || next.states.contains_key(target) || is_succeeded() {
                continue;
            }
            let (config_map, forget) = (&name.config_map, Problem::FORGET);
            let why = match texts.contains_key(config_map) {
                false => format!("ConfigMap {config_map} is gone or lacks the label {TARGETS_LABEL}: \"{TRUE}\""),
                true => format!("ConfigMap {config_map} lacks the document, and another one in it is invalid"),
            };
            let message = format!(
                "{why}; nothing is created or updated, and deletions go on by the last text until the programs restart \
                 (apply the document again, or remove the target with `{forget}`)"
            );
            next.problems.push(Problem::of_target(name.clone(), target, message));
            next.states.insert(target.clone(), TargetState::Former);
            next.governing.insert(target.clone(), (name.clone(), good.clone()));
        }
    }
}

/// Accepts each document's best candidate that does not conflict with the documents before it in its ConfigMap.
fn accept(offers: Vec<Offer>, existing: &mut Existing) {
    let mut accepted: BTreeMap<DocumentName, Arc<Good>> = BTreeMap::new();
    for offer in offers {
        let refusal =
            |good: &Arc<Good>| accepted.iter().find_map(|(name, taken)| good.conflict(&offer.name, name, taken));
        let candidates = [offer.new, offer.current];
        let mut chosen = None;
        for (position, good) in candidates.into_iter().flatten().enumerate() {
            match refusal(&good) {
                None => {
                    chosen = Some(good);
                    break;
                }
                Some(problem) if position == 0 => existing.problems.push(problem),
                Some(_) => {}
            }
        }
        accepted.extend(chosen.map(|good| (offer.name, good)));
    }
    existing.live.extend(accepted);
}

/// Sorts problems by document and place.
fn in_text_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    let place = |problem: &Problem| (problem.document.clone(), problem.line, problem.column);
    problems.sort_by_key(place);
    problems
}

/// Says what follows for one of two documents in different ConfigMaps that conflict.
fn with_consequence(conflict: Problem) -> Problem {
    let consequence =
        "the text in the older ConfigMap is polled, and nothing is corrected or deleted until one is gone";
    Problem { message: format!("{}; {consequence}", conflict.message), ..conflict }
}

impl UnknownField {
    fn problem(&self, document: &DocumentName, (text, places): (&str, &Places)) -> Problem {
        let at = match (self.path.last(), self.written_by) {
            (None, _) => {
                let (line, column) = places.of_key(&["spec", "objects", "kind"]);
                Position { line, column }
            }
            (Some(field), Some(key)) => locate_written(places, key, field),
            (Some(_), None) => locate_field(text, &self.path),
        };
        Problem::new(document, at, self.message.clone())
    }
}

/// Orders candidates: active ones before new ones, so that a mistaken copy cannot replace its original. New ones that
/// claim the name or the objects of an active document come last, so that they do not block an edit of that document.
fn in_order(offers: Vec<Offer>) -> Vec<Offer> {
    let current: Vec<_> =
        offers.iter().filter_map(|offer| Some((offer.name.clone(), offer.current.clone()?))).collect();
    let intrudes = |offer: &Offer| {
        let conflicts = |good: &Arc<Good>| {
            let others = current.iter().filter(|(name, _)| *name != offer.name);
            others.into_iter().any(|(name, taken)| good.conflict(&offer.name, name, taken).is_some())
        };
        offer.is_new() && offer.new.as_ref().is_some_and(conflicts)
    };
    let mut offers: Vec<_> = offers.into_iter().map(|offer| ((offer.is_new(), intrudes(&offer)), offer)).collect();
    offers.sort_by(|(left, one), (right, other)| (left, &one.name).cmp(&(right, &other.name)));
    offers.into_iter().map(|(_, offer)| offer).collect()
}

impl Good {
    fn parse(name: &DocumentName, text: &str) -> Result<Arc<Self>, Vec<Problem>> {
        let Parsed { target, name_at, objects_at, doubts } = parse(name, text, where_it_belongs)?;
        let lookalikes = lookalikes(text).into_iter().map(|at| Fault { at, message: NO_TEMPLATE.to_owned() });
        let mut doubts: Vec<Fault> = doubts.into_iter().chain(lookalikes).collect();
        // One message per position.
        doubts.sort_by_key(|doubt| doubt.at);
        doubts.dedup_by_key(|doubt| doubt.at);
        Ok(Arc::new(Self { text: text.to_owned(), target: Arc::new(target), name_at, objects_at, doubts }))
    }

    /// Returns the conflict of this document with an earlier one.
    fn conflict(&self, name: &DocumentName, earlier: &DocumentName, taken: &Self) -> Option<Problem> {
        let place = format!("{}/{}", earlier.config_map, earlier.key);
        if self.target.name == taken.target.name {
            let message = format!("the target name `{}` is already taken by {place}", taken.target.name);
            return Some(Problem::new(name, self.name_at, message));
        }
        self.target.objects.overlaps(&taken.target.objects).then(|| {
            let message = format!("these objects already belong to target `{}` of {place}", taken.target.name);
            Problem::new(name, self.objects_at, message)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::yaml::problem::Folded;

    fn document(name: &str, kind: &str, path: &str) -> String {
        format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {name}}}\nspec:\n  objects: {{apiVersion: demo.example/v1, kind: {kind}}}\n  identity: x\n  read: {{http: {{url: 'http://h.example/{path}'}}}}\n  compare: {{desired: {{a: 1}}}}\n"
        )
    }

    fn texts(documents: &[(&str, &str, &str)]) -> Texts {
        let mut texts = Texts::new();
        for (config_map, key, text) in documents {
            texts.entry((*config_map).to_owned()).or_default().insert((*key).to_owned(), (*text).to_owned());
        }
        texts
    }

    /// `name@document:path` of each target, and `document: message` of each problem.
    fn shown(catalogue: &Catalogue) -> (Vec<String>, Vec<String>) {
        let targets = catalogue.targets().values().map(|target| {
            let read = target.read.http().unwrap();
            let url = read.render(&serde_json::json!({})).unwrap().url;
            format!("{}@{}/{}:{}", target.name, target.document.config_map, target.document.key, url.path())
        });
        (targets.collect(), catalogue.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn last_good_documents_stay_active() {
        let (first, second, other) = (document("a", "A", "1"), document("a", "A", "2"), document("b", "B", "1"));
        let good = Catalogue::default().update(&texts(&[("m", "a", &first), ("n", "b", &other)]));
        assert_eq!(shown(&good), (vec!["a@m/a:/1".to_owned(), "b@n/b:/1".to_owned()], vec![]));
        let wrong = first.replace("identity", "identitie");
        let wrong_problem = "m/a line 6 column 3: unknown key `identitie` in spec: did you mean `identity`?";
        let gone_problem = "target a: ConfigMap m is gone or lacks the label driftpoller.dev/targets: \"true\"; nothing is \
                            created or updated, and deletions go on by the last text until the programs restart (apply \
                            the document again, or remove the target with `kubectl drift forget a`)";
        let lost_problem = "target a: ConfigMap m lacks the document, and another one in it is invalid; nothing is \
                            created or updated, and deletions go on by the last text until the programs restart (apply the \
                            document again, or remove the target with `kubectl drift forget a`)";
        let renamed = document("c", "A", "3");
        let table: [(&str, Texts, Vec<&str>, Vec<&str>); 7] = [
            ("a good edit", texts(&[("m", "a", &second), ("n", "b", &other)]), vec!["a@m/a:/2", "b@n/b:/1"], vec![]),
            (
                "a bad edit",
                texts(&[("m", "a", &wrong), ("n", "b", &other)]),
                vec!["a@m/a:/1", "b@n/b:/1"],
                vec![wrong_problem],
            ),
            ("a ConfigMap is gone", texts(&[("n", "b", &other)]), vec!["a@m/a:/1", "b@n/b:/1"], vec![gone_problem]),
            (
                "a key is gone",
                texts(&[("m", "x", &document("x", "X", "1")), ("n", "b", &other)]),
                vec!["b@n/b:/1", "x@m/x:/1"],
                vec![],
            ),
            (
                "a key is gone and another is bad",
                texts(&[("m", "x", "nonsense"), ("n", "b", &other)]),
                vec!["a@m/a:/1", "b@n/b:/1"],
                vec![lost_problem, "m/x line 1 column 1: a document is a map, not a text"],
            ),
            (
                "an empty ConfigMap",
                [("m".to_owned(), BTreeMap::new()), texts(&[("n", "b", &other)]).pop_first().unwrap()].into(),
                vec!["b@n/b:/1"],
                vec![],
            ),
            ("another name", texts(&[("m", "a", &renamed), ("n", "b", &other)]), vec!["b@n/b:/1", "c@m/a:/3"], vec![]),
        ];
        for (case, texts, targets, problems) in table {
            let (found_targets, found_problems) = shown(&good.update(&texts));
            assert_eq!(
                (found_targets, found_problems),
                (targets.into_iter().map(str::to_owned).collect(), problems.into_iter().map(str::to_owned).collect()),
                "{case}"
            );
        }
    }

    #[test]
    fn a_lost_config_map_is_one_problem() {
        let all = ["a", "b", "c", "d", "e"].map(|name| document(name, &name.to_uppercase(), "1"));
        let of_m: Vec<_> =
            ["a", "b", "c", "d", "e"].into_iter().zip(&all).map(|(key, text)| ("m", key, &**text)).collect();
        let good = Catalogue::default().update(&texts(&of_m));
        for (left, why) in [
            (vec![], "ConfigMap m is gone or lacks the label"),
            (vec![("m", "x", "nonsense")], "ConfigMap m lacks the document, and another one in it is invalid; nothing"),
        ] {
            let former = good.update(&texts(&left));
            let said: Vec<String> = Folded::all(former.problems()).iter().map(ToString::to_string).collect();
            assert_eq!(said.len(), 1 + left.len(), "{said:?}");
            assert!(said[0].starts_with(&format!("targets a, b, c and 2 more: {why}")), "{said:?}");
            assert!(said[0].ends_with("`kubectl drift forget TARGET`)"), "{said:?}");
            assert_eq!(former.problems().iter().filter(|problem| problem.target.is_some()).count(), 5);
        }
    }

    #[test]
    fn what_is_active_may_be_doubtful() {
        let odd = document("a", "A", "1").replace("{a: 1}", "{a: self.spec.a}");
        let first = Catalogue::default().update(&texts(&[("m", "a", &odd)]));
        let doubts: Vec<_> = first.doubts().iter().map(|doubt| (doubt.line, doubt.column)).collect();
        assert_eq!(doubts, [(8, 26)]);
        let wrong = odd.replace("identity", "identitie");
        assert_eq!(first.update(&texts(&[("m", "a", &wrong)])).doubts().len(), 1, "of the active text");
        assert!(first.update(&texts(&[("m", "a", &document("a", "A", "1"))])).doubts().is_empty());
        let deep = odd.replace("{a: self.spec.a}", "{rules: [{path: /a, list: set}], a: self.spec.a}");
        let doubts = Catalogue::default().update(&texts(&[("m", "a", &deep)])).doubts();
        assert_eq!(doubts.iter().map(|doubt| doubt.column).collect::<Vec<_>>(), [23, 58], "in the order of the text");
        let unmarked = document("a", "A", "self.spec.a").replace("{a: 1}", "{a: \"$self.spec.a\"}");
        let doubts = Catalogue::default().update(&texts(&[("m", "a", &unmarked)])).doubts();
        let doubts: Vec<_> = doubts.iter().map(|doubt| (doubt.line, doubt.column)).collect();
        assert_eq!(doubts, [(7, 40), (8, 27)], "each once");
    }

    #[test]
    fn of_two_documents_in_one_config_map_the_later_is_bad() {
        let (first, same_name, same_objects) =
            (document("a", "A", "1"), document("a", "B", "2"), document("b", "A", "3"));
        let catalogue = Catalogue::default().update(&texts(&[
            ("m", "2", &same_name),
            ("m", "1", &first),
            ("m", "3", &same_objects),
        ]));
        let name_problem = "m/2 line 3 column 18: the target name `a` is already taken by m/1";
        let objects_problem = "m/3 line 5 column 12: these objects already belong to target `a` of m/1";
        assert_eq!(
            shown(&catalogue),
            (vec!["a@m/1:/1".to_owned()], vec![name_problem.to_owned(), objects_problem.to_owned()])
        );

        let before = Catalogue::default().update(&texts(&[("m", "1", &first), ("m", "2", &document("b", "B", "2"))]));
        let after = before.update(&texts(&[("m", "1", &first), ("m", "2", &same_name)]));
        assert_eq!(shown(&after), (vec!["a@m/1:/1".to_owned(), "b@m/2:/2".to_owned()], vec![name_problem.to_owned()]));
        let healed = after.update(&texts(&[("m", "1", &first), ("m", "2", &document("b", "B", "4"))]));
        assert_eq!(shown(&healed), (vec!["a@m/1:/1".to_owned(), "b@m/2:/4".to_owned()], vec![]));
    }

    #[test]
    fn a_copy_under_an_earlier_name_spares_its_original() {
        let original = document("a", "A", "1");
        let before = Catalogue::default().update(&texts(&[("m", "5", &original)]));
        let after = before.update(&texts(&[("m", "1", &original), ("m", "5", &original)]));
        let problem = "m/1 line 3 column 18: the target name `a` is already taken by m/5";
        assert_eq!(shown(&after), (vec!["a@m/5:/1".to_owned()], vec![problem.to_owned()]));
    }

    #[test]
    fn two_edits_at_once_do_not_take_an_owner_down() {
        let current = [("m", "1", document("a", "A", "1")), ("m", "2", document("b", "B", "1"))];
        let texts_of = |all: &[(&str, &str, String)]| {
            texts(&all.iter().map(|(map, key, text)| (*map, *key, text.as_str())).collect::<Vec<_>>())
        };
        let before = Catalogue::default().update(&texts_of(&current));
        let edited = document("b", "B", "2");
        for taken in [document("b", "A", "2"), document("a", "B", "2")] {
            let after = before.update(&texts_of(&[("m", "1", taken), ("m", "2", edited.clone())]));
            let (targets, problems) = shown(&after);
            assert_eq!(targets, ["a@m/1:/1", "b@m/2:/2"], "{problems:?}");
            assert_eq!(problems.len(), 1, "{problems:?}");
        }
        let swapped =
            before.update(&texts_of(&[("m", "1", document("b", "B", "3")), ("m", "2", document("a", "A", "3"))]));
        assert_eq!(shown(&swapped), (vec!["a@m/2:/3".to_owned(), "b@m/1:/3".to_owned()], vec![]));
    }

    #[test]
    fn an_edit_that_is_refused_leaves_the_last_good_text() {
        let (first, second, other) = (document("a", "A", "1"), document("a", "A", "2"), document("b", "B", "1"));
        let second = second.replace("identity: x", "identity: '${self.spec.?tll}'");
        let before = Catalogue::default().update(&texts(&[("m", "a", &first), ("m", "b", &other)]));
        let edited = texts(&[("m", "a", &second), ("m", "b", &other)]);
        let next = before.update(&edited);
        let edits: Vec<_> = before.edits(&next).map(|(old, new)| (old.name.as_str(), new.name.as_str())).collect();
        assert_eq!(edits, [("a", "a")]);
        let name = DocumentName { config_map: "m".to_owned(), key: "a".to_owned() };
        let path = vec!["spec".to_owned(), "tll".to_owned()];
        let field = UnknownField { path, written_by: None, message: "no".to_owned() };
        let after = before.update_without(&edited, &CreationTimes::new(), &Refused::from([(name, vec![field])]));
        assert_eq!(
            shown(&after),
            (vec!["a@m/a:/1".to_owned(), "b@m/b:/1".to_owned()], vec!["m/a line 6 column 27: no".to_owned()])
        );
        assert!(Arc::ptr_eq(&before.targets()["a"], &after.targets()["a"]));
        assert_eq!(shown(&after.update(&edited)).0, ["a@m/a:/2", "b@m/b:/1"]);
    }

    #[test]
    fn an_unchanged_text_keeps_its_target() {
        let texts = texts(&[("m", "a", &document("a", "A", "1"))]);
        let before = Catalogue::default().update(&texts);
        let after = before.update(&texts);
        assert!(Arc::ptr_eq(&before.targets()["a"], &after.targets()["a"]));
    }

    /// `name=state:path` of each target.
    fn states(catalogue: &Catalogue) -> Vec<String> {
        let shown = catalogue.states().iter().map(|(name, state)| {
            let path = catalogue.targets().get(name).map_or_else(String::new, |target| {
                target.read.http().unwrap().render(&serde_json::json!({})).unwrap().url.path().to_owned()
            });
            format!("{name}={}:{path}", state.as_str())
        });
        shown.collect()
    }

    /// One step of a sequence: the documents, and the states that follow.
    type Step<'t> = (&'t [(&'t str, &'t str, &'t str)], &'t [&'t str]);

    fn play(case: &str, created: &[(&str, &str)], steps: &[Step<'_>]) {
        let created = created.iter().map(|(map, at)| ((*map).to_owned(), (*at).to_owned())).collect();
        let mut catalogue = Catalogue::default();
        for (number, (documents, expected)) in steps.iter().enumerate() {
            catalogue = catalogue.update_without(&texts(documents), &created, &Refused::new());
            assert_eq!(states(&catalogue), *expected, "{case}, step {number}: {:?}", catalogue.problems());
        }
    }

    #[test]
    fn a_live_text_beats_a_former_one() {
        let (one, two, bad) = (document("a", "A", "1"), document("a", "A", "2"), document("a", "X", "1"));
        let bad = bad.replace("identity", "identitie");
        play(
            "new, then old",
            &[("m", "1"), ("n", "2")],
            &[
                (&[("m", "k", &one)], &["a=live:/1"]),
                (&[("m", "k", &one), ("n", "k", &two)], &["a=taken:/1"]),
                (&[("n", "k", &two)], &["a=live:/2"]),
            ],
        );
        play(
            "old, then new",
            &[],
            &[(&[("m", "k", &one)], &["a=live:/1"]), (&[], &["a=former:/1"]), (&[("n", "k", &two)], &["a=live:/2"])],
        );
        play(
            "the new text is invalid",
            &[],
            &[
                (&[("m", "k", &one)], &["a=live:/1"]),
                (&[("n", "k", &bad)], &["a=former:/1"]),
                (&[("m", "k", &bad)], &["a=former:/1"]),
                (&[("m", "k", &one)], &["a=live:/1"]),
            ],
        );
        let other = document("b", "A", "2");
        play("another name", &[], &[(&[("m", "k", &one)], &["a=live:/1"]), (&[("n", "k", &other)], &["b=live:/2"])]);
    }

    #[test]
    fn two_different_texts_take_a_target() {
        let (one, two, other) = (document("a", "A", "1"), document("a", "A", "2"), document("b", "A", "3"));
        play(
            "by name where the times are equal",
            &[("m", "1"), ("n", "1")],
            &[(&[("n", "k", &two)], &["a=live:/2"]), (&[("m", "k", &one), ("n", "k", &two)], &["a=taken:/1"])],
        );
        play("by age", &[("m", "2"), ("n", "1")], &[(&[("m", "k", &one), ("n", "k", &two)], &["a=taken:/2"])]);
        play(
            "by objects",
            &[("m", "1"), ("n", "2")],
            &[
                (&[("m", "k", &one), ("n", "k", &other)], &["a=taken:/1", "b=taken:"]),
                (&[("n", "k", &other)], &["b=live:/3"]),
            ],
        );
        play(
            "equal",
            &[("m", "1"), ("n", "2")],
            &[(&[("m", "k", &one), ("n", "k", &one)], &["a=live:/1"]), (&[("n", "k", &one)], &["a=live:/1"])],
        );
        play(
            "three",
            &[("m", "1"), ("n", "2"), ("o", "3")],
            &[
                (&[("m", "k", &one), ("n", "k", &two), ("o", "k", &two)], &["a=taken:/1"]),
                (&[("n", "k", &two), ("o", "k", &two)], &["a=live:/2"]),
            ],
        );
        play(
            "both gone",
            &[("m", "1"), ("n", "2")],
            &[(&[("m", "k", &one), ("n", "k", &two)], &["a=taken:/1"]), (&[], &["a=former:/1"])],
        );
    }

    #[test]
    fn a_removed_key_needs_a_whole_config_map() {
        let (one, good, bad) = (document("a", "A", "1"), document("b", "B", "1"), "nonsense");
        play(
            "a neighbour is invalid",
            &[],
            &[
                (&[("m", "a", &one), ("m", "b", &good)], &["a=live:/1", "b=live:/1"]),
                (&[("m", "b", bad)], &["a=former:/1", "b=live:/1"]),
                (&[("m", "b", &good)], &["b=live:/1"]),
            ],
        );
        let renamed = document("c", "C", "1");
        play(
            "a rename beside an invalid one",
            &[],
            &[
                (&[("m", "a", &one), ("m", "b", &good)], &["a=live:/1", "b=live:/1"]),
                (&[("m", "a", &renamed), ("m", "b", bad)], &["a=former:/1", "b=live:/1", "c=live:/1"]),
                (&[("m", "a", &renamed), ("m", "b", &good)], &["b=live:/1", "c=live:/1"]),
            ],
        );
    }

    #[test]
    fn both_documents_name_the_other() {
        let (one, two) = (document("a", "A", "1"), document("a", "A", "2"));
        let created = [("m".to_owned(), "2".to_owned()), ("n".to_owned(), "1".to_owned())].into();
        let both = texts(&[("m", "k", &one), ("n", "k", &two)]);
        let catalogue = Catalogue::default().update_without(&both, &created, &Refused::new());
        let said: Vec<_> = catalogue.taken().iter().map(ToString::to_string).collect();
        let rest = "the text in the older ConfigMap is polled, and nothing is corrected or deleted until one is gone";
        let at = |map: &str, other: &str| {
            format!("{map}/k line 3 column 18: the target name `a` is already taken by {other}/k; {rest}")
        };
        assert_eq!(said, [at("m", "n"), at("n", "m")]);
        assert!(catalogue.problems().is_empty());
    }
}
