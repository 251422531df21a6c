//! Which objects nothing is done for now, and why, for people who ask.
//!
//! It must not know how it is shown, nor who asks.

use drift_model::first::first;
use drift_model::identity::Uid;
use drift_model::object::ObjectId;

use super::held::Held;

/// Most objects in one answer of a target: more than anybody reads.
pub const MOST_HOLDINGS: usize = 1_000;

/// Which objects people ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldQuestion {
    /// Of one target alone; of all without.
    pub target: Option<String>,
    /// Held for this alone; `None` for all that keep back a correction.
    pub why: Option<Held>,
    /// Stands somewhere in `namespace/name`; empty for all.
    pub search: String,
}

/// What one target holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// How many objects the question means.
    pub matching: usize,
    /// The first of them by name, at most [`MOST_HOLDINGS`], each with why.
    pub objects: Vec<(String, Held)>,
}

/// The objects of the target of that name that are asked for. It takes time in proportion to the objects, and room for those
/// that are told.
pub fn holdings<'a>(
    target: &str,
    held: impl Iterator<Item = (&'a Uid, Held)>,
    object: impl Fn(&Uid) -> Option<&'a ObjectId>,
    question: &HeldQuestion,
) -> Holdings {
    if question.target.as_ref().is_some_and(|asked| asked != target) {
        return Holdings::default();
    }
    let is_meant = |why: Held| question.why.map_or_else(|| why.is_noteworthy(), |asked| asked == why);
    let known = held.filter(|(_, why)| is_meant(*why)).filter_map(|(uid, why)| Some((object(uid)?, why)));
    let meant: Vec<_> = known.filter(|(id, _)| id.is_found_by(&question.search)).collect();
    let matching = meant.len();
    let told = first(meant, MOST_HOLDINGS, Ord::cmp);
    Holdings { matching, objects: told.into_iter().map(|(id, why)| (id.to_string(), why)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_back_a_correction_is_told_unasked() {
        let ids = ["a", "b", "c"].map(|name| ObjectId { namespace: None, name: name.into(), uid: name.into() });
        let held =
            [(Uid::from("c"), Held::BreakerOpen), (Uid::from("a"), Held::Paused), (Uid::from("b"), Held::InSync)];
        let ask = |why, search: &str| {
            let object = |uid: &Uid| ids.iter().find(|id| *id.uid == *uid.to_string());
            let question = HeldQuestion { why, search: search.to_owned(), target: None };
            holdings("t", held.iter().map(|(uid, why)| (uid, *why)), object, &question)
        };
        let told = [("a".to_owned(), Held::Paused), ("c".to_owned(), Held::BreakerOpen)];
        assert_eq!(ask(None, ""), Holdings { matching: 2, objects: told.to_vec() });
        assert_eq!(ask(None, "a").objects, told[..1]);
        assert_eq!(ask(Some(Held::InSync), "").objects, [("b".to_owned(), Held::InSync)]);
    }
}
