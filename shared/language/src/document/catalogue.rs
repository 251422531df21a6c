//! The active documents: the last valid version of each, until its ConfigMap shows that it was removed.
//!
//! A mistake must never stop a working target: a missing ConfigMap or an invalid document removes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checks::field_place::{locate_field, locate_written};
use crate::checks::lookalikes::{NO_TEMPLATE, lookalikes};
use crate::document::parse::{Parsed, parse};
use crate::document::places::place_of_key;
use crate::document::sections::where_it_belongs;
use crate::target::Target;
use crate::yaml::problem::{DocumentName, Problem};
use crate::yaml::{Fault, Position};

/// The texts of the existing ConfigMaps, by ConfigMap and key.
pub type Texts = BTreeMap<String, BTreeMap<String, String>>;

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

/// The active documents, and the problems of the others.
#[derive(Debug, Default)]
pub struct Catalogue {
    documents: BTreeMap<DocumentName, Arc<Good>>,
    targets: BTreeMap<String, Arc<Target>>,
    problems: Vec<Problem>,
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
    /// Every active target by its name.
    #[must_use]
    pub fn targets(&self) -> &BTreeMap<String, Arc<Target>> {
        &self.targets
    }

    /// The problems in the order of the documents. Line 0 if a whole document is missing.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Likely mistakes in active texts, in the order of the documents.
    #[must_use]
    pub fn doubts(&self) -> Vec<Problem> {
        let of = |(name, good): (&DocumentName, &Arc<Good>)| {
            good.doubts.iter().map(|doubt| Problem::new(name, doubt.at, doubt.message.clone())).collect::<Vec<_>>()
        };
        self.documents.iter().flat_map(of).collect()
    }

    /// Returns the catalogue after a change of ConfigMaps. A target with the same text keeps its value.
    #[must_use]
    pub fn update(&self, texts: &Texts) -> Self {
        self.update_without(texts, &Refused::new())
    }

    /// The targets of documents whose text differs in `next`, as pairs of the active one and the next one.
    pub fn edits<'c>(&'c self, next: &'c Self) -> impl Iterator<Item = (&'c Arc<Target>, &'c Arc<Target>)> {
        let both = self.documents.iter().filter_map(|(name, good)| Some((good, next.documents.get(name)?)));
        both.filter(|(before, after)| !Arc::ptr_eq(before, after))
            .map(|(before, after)| (&before.target, &after.target))
    }

    /// Updates like [`Self::update`], but keeps rejected documents unchanged.
    #[must_use]
    pub fn update_without(&self, texts: &Texts, refused: &Refused) -> Self {
        let mut problems = Vec::new();
        let mut offers = Vec::new();
        for (config_map, documents) in texts {
            offers.extend(self.offers_of(config_map, documents, refused, &mut problems));
        }
        for (name, good) in &self.documents {
            if !texts.contains_key(&name.config_map) {
                let message = "the ConfigMap is gone, or lacks the label driftpoller.dev/targets: \"true\"; its last good text stays \
                               active until the programs restart (to end its targets, apply it with the label and without them)";
                problems.push(Problem::new(name, Position::default(), message));
                offers.push(Offer { name: name.clone(), new: None, current: Some(good.clone()) });
            }
        }
        Self::assemble(in_order(offers), problems)
    }

    /// Returns the candidates of one existing ConfigMap.
    fn offers_of(
        &self,
        config_map: &str,
        documents: &BTreeMap<String, String>,
        refused: &Refused,
        problems: &mut Vec<Problem>,
    ) -> Vec<Offer> {
        let mut offers = Vec::new();
        let mut whole = true;
        for (key, text) in documents {
            let name = DocumentName { config_map: config_map.to_owned(), key: key.clone() };
            let current = self.documents.get(&name).cloned();
            let new = match &current {
                Some(good) if good.text == *text => Some(good.clone()),
                _ if refused.contains_key(&name) => {
                    problems.extend(refused[&name].iter().map(|field| field.problem(&name, text)));
                    None
                }
                _ => Good::parse(&name, text).map_err(|found| problems.extend(found)).ok(),
            };
            whole &= new.is_some();
            offers.push(Offer { name, new, current });
        }
        if !whole {
            // A text that does not parse may be the new place of a target that is missing elsewhere in the ConfigMap.
            let missing = self
                .documents
                .iter()
                .filter(|(name, _)| name.config_map == config_map && !documents.contains_key(&name.key));
            offers.extend(missing.map(|(name, good)| Offer {
                name: name.clone(),
                new: None,
                current: Some(good.clone()),
            }));
        }
        offers
    }

    /// Accepts each document's best candidate that does not conflict with the documents before it.
    fn assemble(offers: Vec<Offer>, mut problems: Vec<Problem>) -> Self {
        let mut documents: BTreeMap<DocumentName, Arc<Good>> = BTreeMap::new();
        for offer in offers {
            let refusal =
                |good: &Arc<Good>| documents.iter().find_map(|(name, taken)| good.conflict(&offer.name, name, taken));
            let candidates = [offer.new, offer.current];
            let mut chosen = None;
            for (position, good) in candidates.into_iter().flatten().enumerate() {
                match refusal(&good) {
                    None => {
                        chosen = Some(good);
                        break;
                    }
                    Some(problem) if position == 0 => problems.push(problem),
                    Some(_) => {}
                }
            }
            documents.extend(chosen.map(|good| (offer.name, good)));
        }
        problems.sort_by(|left, right| {
            (&left.document, left.line, left.column).cmp(&(&right.document, right.line, right.column))
        });
        let targets = documents.values().map(|good| (good.target.name.clone(), good.target.clone())).collect();
        Self { documents, targets, problems }
    }
}

impl UnknownField {
    fn problem(&self, document: &DocumentName, text: &str) -> Problem {
        let at = match (self.path.last(), self.written_by) {
            (None, _) => {
                let (line, column) = place_of_key(text, &["spec", "objects", "kind"]);
                Position { line, column }
            }
            (Some(field), Some(key)) => locate_written(text, key, field),
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
        let gone_problem = "m/a: the ConfigMap is gone, or lacks the label driftpoller.dev/targets: \"true\"; its last good text \
                            stays active until the programs restart (to end its targets, apply it with the label and \
                            without them)";
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
                vec!["m/x line 1 column 1: a document is a map, not a text"],
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
    fn of_two_documents_in_conflict_the_later_is_bad() {
        let (first, same_name, same_objects) =
            (document("a", "A", "1"), document("a", "B", "2"), document("b", "A", "3"));
        let catalogue = Catalogue::default().update(&texts(&[
            ("m", "2", &same_name),
            ("m", "1", &first),
            ("n", "1", &same_objects),
        ]));
        let name_problem = "m/2 line 3 column 18: the target name `a` is already taken by m/1";
        let objects_problem = "n/1 line 5 column 12: these objects already belong to target `a` of m/1";
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
        let after = before.update_without(&edited, &Refused::from([(name, vec![field])]));
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
}
