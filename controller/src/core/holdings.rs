//! Which objects nothing is done for now, and why, for people who ask.
//!
//! It must not know how it is shown, nor who asks.

use drift_model::identity::Uid;
use drift_model::object::ObjectId;

use super::held::Held;

/// Most objects in one answer of a target: more than anybody reads.
pub const MOST_HOLDINGS: usize = 1_000;

/// Which objects people ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldQuestion {
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

/// The objects that are asked for.
pub fn holdings<'a>(
    held: impl Iterator<Item = (&'a Uid, Held)>,
    object: impl Fn(&Uid) -> Option<&'a ObjectId>,
    question: &HeldQuestion,
) -> Holdings {
    let is_meant = |why: Held| question.why.map_or_else(|| why.is_noteworthy(), |asked| asked == why);
    let meant = held.filter(|(_, why)| is_meant(*why));
    let named = meant.filter_map(|(uid, why)| Some((object(uid)?.to_string(), why)));
    let mut objects: Vec<_> = named.filter(|(name, _)| name.contains(&question.search)).collect();
    objects.sort_unstable();
    let matching = objects.len();
    objects.truncate(MOST_HOLDINGS);
    Holdings { matching, objects }
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
            let question = HeldQuestion { why, search: search.to_owned() };
            holdings(held.iter().map(|(uid, why)| (uid, *why)), object, &question)
        };
        let told = [("a".to_owned(), Held::Paused), ("c".to_owned(), Held::BreakerOpen)];
        assert_eq!(ask(None, ""), Holdings { matching: 2, objects: told.to_vec() });
        assert_eq!(ask(None, "a").objects, told[..1]);
        assert_eq!(ask(Some(Held::InSync), "").objects, [("b".to_owned(), Held::InSync)]);
    }
}
