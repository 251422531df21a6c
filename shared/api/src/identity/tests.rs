//! Objects of several targets that appear and disappear, and their rights to resources.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const HERE: &str = "GET http://h/${…}";

fn name(identity: &str) -> ResourceName {
    ResourceName { scope: ScopeId::of(HERE), identity: identity.into() }
}

fn object(uid: &str) -> ObjectRef {
    ObjectRef { kind: "Proxy.example.com".into(), namespace: Some("shop".into()), name: uid.into() }
}

/// An object without a claim that may claim its named resource.
fn candidate(uid: &str, created: u32) -> Claimant {
    let wants = Some(name("db"));
    Claimant { object: object(uid), wants, owns: None, may_claim: true, created, deleting: false, claim_is_known: true }
}

fn owner(uid: &str) -> Claimant {
    Claimant { owns: Some(name("db")), ..candidate(uid, 9) }
}

fn of(target: &str, uid: &str) -> Selected {
    Selected { target: target.into(), uid: uid.into() }
}

/// The rights of each object after all are added, each in its own target.
fn rights(claimants: &[Claimant]) -> Vec<Rights> {
    let mut index = IdentityIndex::default();
    let uid = |claimant: &Claimant| Uid::from(&*claimant.object.name);
    for claimant in claimants {
        index.insert(&of(&format!("target of {}", claimant.object.name), &uid(claimant)), claimant.clone());
    }
    claimants.iter().map(|claimant| index.rights(&uid(claimant), claimant)).collect()
}

fn ownership(claimants: &[Claimant]) -> Vec<Ownership> {
    rights(claimants).into_iter().map(|rights| rights.ownership).collect()
}

fn by(uids: &[&str]) -> Holders {
    Holders { named: uids.iter().map(|uid| object(uid)).collect(), has_more: false }
}

#[test]
fn a_scope_is_read_as_it_is_shown() {
    let scope = ScopeId::of(HERE);
    assert_eq!(ScopeId::parse(&scope.to_string()), Some(scope));
    assert!(["", "3f2a9c7", "3F2A9C71", "3f2a9c71a", "+f2a9c71"].iter().all(|text| ScopeId::parse(text).is_none()));
}

#[test]
fn the_number_of_claims_says_who_acts() {
    use Ownership::{Contested, Free, Held, Taken};
    let observing = Claimant { may_claim: false, ..candidate("observing", 0) };
    let table = [
        (vec![candidate("a", 2)], vec![Free]),
        (vec![candidate("a", 2), candidate("b", 1)], vec![Taken(by(&["b"])), Free]),
        (vec![candidate("a", 1), candidate("b", 1)], vec![Free, Taken(by(&["a"]))]),
        (vec![observing.clone(), candidate("a", 1)], vec![Taken(by(&["a"])), Free]),
        (vec![observing], vec![Free]),
        (vec![owner("a"), candidate("b", 1)], vec![Held, Taken(by(&["a"]))]),
        (
            vec![owner("a"), owner("b"), candidate("c", 1)],
            vec![Contested(by(&["b"])), Contested(by(&["a"])), Taken(by(&["a", "b"]))],
        ),
    ];
    for (claimants, expected) in table {
        assert_eq!(ownership(&claimants), expected, "{claimants:?}");
    }
}

#[test]
fn another_name_or_scope_is_another_resource() {
    let elsewhere = ResourceName { scope: ScopeId::of("elsewhere"), identity: "db".into() };
    for wants in [Some(elsewhere), Some(name("other")), None] {
        let apart = Claimant { wants: wants.clone(), ..candidate("apart", 0) };
        let rights = rights(&[owner("a"), apart]);
        assert_eq!(rights[0], Rights { ownership: Ownership::Held, shared: false }, "{wants:?}");
        let expected = wants.map_or(Ownership::None, |_| Ownership::Free);
        assert_eq!(rights[1].ownership, expected);
    }
}

#[test]
fn a_claim_counts_where_nothing_can_be_named() {
    let mute = Claimant { wants: None, ..owner("mute") };
    assert_eq!(ownership(&[mute, candidate("b", 1)]), [Ownership::Held, Ownership::Taken(by(&["mute"]))]);
}

#[test]
fn only_the_living_share_a_resource() {
    let deleting = Claimant { deleting: true, ..owner("deleting") };
    let shared =
        |claimants: &[Claimant]| -> Vec<bool> { rights(claimants).iter().map(|rights| rights.shared).collect() };
    assert_eq!(shared(&[owner("a")]), [false]);
    assert_eq!(shared(&[owner("a"), candidate("b", 1)]), [true, true]);
    assert_eq!(shared(&[deleting, candidate("b", 1)]), [true, false]);
}

#[test]
fn three_of_many_holders_are_named() {
    let claimants: Vec<_> = (0..6).map(|number| owner(&format!("o{number}"))).collect();
    let expected = Holders { has_more: true, ..by(&["o1", "o2", "o3"]) };
    assert_eq!(ownership(&claimants)[0], Ownership::Contested(expected));
}

#[test]
fn what_is_corrected_keeps_its_claim() {
    let mut index = IdentityIndex::default();
    index.insert(&of("t", "a"), owner("a"));
    index.insert(&Selected::correcting(&"a".into()), owner("a"));
    index.insert(&of("t", "b"), candidate("b", 1));
    index.remove(&of("t", "a"));
    let taken = index.rights(&"b".into(), &candidate("b", 1)).ownership;
    assert_eq!(taken, Ownership::Taken(by(&["a"])));
    assert_eq!(index.remove(&Selected::correcting(&"a".into())), [of("t", "b")]);
    assert_eq!(index.rights(&"b".into(), &candidate("b", 1)).ownership, Ownership::Free);
}

#[test]
fn a_resource_named_during_another_correction_is_shared() {
    let mut index = IdentityIndex::default();
    index.insert(&of("t", "a"), owner("a"));
    index.insert(&Selected::correcting(&"a".into()), owner("a"));
    let deleting = Claimant { wants: Some(name("other")), owns: Some(name("other")), deleting: true, ..owner("b") };
    index.insert(&of("t", "b"), deleting.clone());
    let edited = Claimant { wants: Some(name("other")), owns: None, ..owner("a") };
    assert_eq!(index.insert(&of("t", "a"), edited.clone()), [], "the claim of b decides as before");
    assert!(index.rights(&"b".into(), &deleting).shared);
    assert_eq!(index.rights(&"c".into(), &candidate("c", 1)).ownership, Ownership::Taken(by(&["a"])));
    index.remove(&Selected::correcting(&"a".into()));
    assert!(index.rights(&"b".into(), &deleting).shared);
    assert_eq!(index.rights(&"c".into(), &candidate("c", 1)).ownership, Ownership::Free);
    index.remove(&of("t", "a"));
    assert!(!index.rights(&"b".into(), &deleting).shared);
}

#[test]
fn a_change_among_ten_thousand_contenders_concerns_few() {
    let mut index = IdentityIndex::default();
    let numbered = |number: u32| (of("t", &format!("u{number:05}")), candidate(&format!("u{number:05}"), 1));
    let mut concerned = 0;
    for number in 0..10_000 {
        let (selected, claimant) = numbered(number);
        concerned += index.insert(&selected, claimant).len();
    }
    assert!(concerned <= 2, "{concerned} when they come");
    let (seventh, _) = numbered(7);
    assert_eq!(index.insert(&seventh, owner("u00007")), [numbered(0).0]);
    assert_eq!(index.remove(&seventh), [numbered(0).0]);
}

/// An object is added, changed or removed by one of three targets or by a running correction.
#[derive(Clone, Debug)]
enum Step {
    Seen { at: (u8, u8), wants: u8, owns: bool, may_claim: bool, created: u8, deleting: bool },
    Gone { at: (u8, u8) },
    ListedAnew { target: u8, kept: HashSet<u8> },
}

fn step() -> impl Strategy<Value = Step> {
    let at = || (0_u8..3, 0_u8..6);
    let seen = (at(), 0_u8..3, any::<bool>(), any::<bool>(), 0_u8..3, any::<bool>());
    prop_oneof![
        6 => seen.prop_map(|(at, wants, owns, may_claim, created, deleting)| {
            Step::Seen { at, wants, owns, may_claim, created, deleting }
        }),
        2 => at().prop_map(|at| Step::Gone { at }),
        1 => (0_u8..3, proptest::collection::hash_set(0_u8..6, 0..4))
            .prop_map(|(target, kept)| Step::ListedAnew { target, kept }),
    ]
}

fn numbered((target, uid): (u8, u8)) -> Selected {
    of(&target.to_string(), &uid.to_string())
}

/// The effective claimants by brute force: for each object, that of its first target.
fn counting(all: &BTreeMap<Selected, Claimant>) -> BTreeMap<Uid, (Selected, Claimant)> {
    let mut counting = BTreeMap::new();
    for (selected, claimant) in all {
        counting.entry(selected.uid.clone()).or_insert_with(|| (selected.clone(), claimant.clone()));
    }
    counting
}

/// Applies the step to both. Returns the objects that the index reports as affected.
fn take(index: &mut IdentityIndex, all: &mut BTreeMap<Selected, Claimant>, step: Step) -> Vec<Selected> {
    match step {
        Step::Seen { at, wants, owns, may_claim, created, deleting } => {
            let wants = (wants > 0).then(|| name(&wants.to_string()));
            let owns = wants.clone().filter(|_| owns);
            let (may_claim, created) = (may_claim && owns.is_none(), created.into());
            let claimant = Claimant {
                object: object(&at.1.to_string()),
                wants,
                owns,
                may_claim,
                created,
                deleting,
                claim_is_known: true,
            };
            all.insert(numbered(at), claimant.clone());
            index.insert(&numbered(at), claimant)
        }
        Step::Gone { at } => {
            all.remove(&numbered(at));
            index.remove(&numbered(at))
        }
        Step::ListedAnew { target, kept } => {
            let kept: HashSet<Uid> = kept.into_iter().map(|uid| numbered((target, uid)).uid).collect();
            let target = numbered((target, 0)).target;
            all.retain(|selected, _| selected.target != target || kept.contains(&selected.uid));
            index.keep_only(&target, &kept)
        }
    }
}

fn rights_of(index: &IdentityIndex, all: &BTreeMap<Selected, Claimant>) -> BTreeMap<Selected, Rights> {
    let rights = |(uid, (selected, claimant))| (selected, index.rights(&uid, &claimant));
    counting(all).into_iter().map(rights).collect()
}

proptest! {
    #[test]
    fn whatever_targets_do_at_most_one_object_may_act(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut index, mut all) = (IdentityIndex::default(), BTreeMap::new());
        for step in steps {
            let before = rights_of(&index, &all);
            let own = match &step {
                Step::Seen { at, .. } | Step::Gone { at } => Some(numbered(*at).uid),
                Step::ListedAnew { .. } => None,
            };
            let told = take(&mut index, &mut all, step);
            let objects = counting(&all);
            let after = rights_of(&index, &all);
            let may_act = |ownership: &Ownership| matches!(ownership, Ownership::Free | Ownership::Held);
            for (selected, right) in &after {
                let (_, claimant) = &objects[&selected.uid];
                let others = || objects.values().filter(|(other, one)| {
                    other.uid != selected.uid && one.resource().is_some() && one.resource() == claimant.resource()
                });
                let claims = others().filter(|(_, one)| one.owns.is_some()).count();
                let older = others().any(|(other, one)| {
                    one.may_claim && (one.created, &other.uid) < (claimant.created, &selected.uid)
                });
                let first = others().any(|(_, one)| one.may_claim) && (!claimant.may_claim || older);
                match (claimant.resource(), &right.ownership) {
                    (None, Ownership::None) => {}
                    (Some(_), Ownership::Held) => prop_assert!(claimant.owns.is_some() && claims == 0),
                    (Some(_), Ownership::Free) => prop_assert!(claimant.owns.is_none() && claims == 0 && !first),
                    (Some(_), Ownership::Taken(_)) => prop_assert!(claimant.owns.is_none() && (claims > 0 || first)),
                    (Some(_), Ownership::Contested(_)) => prop_assert!(claimant.owns.is_some() && claims > 0),
                    (resource, ownership) => prop_assert!(false, "{:?} of {:?}", ownership, resource),
                }
                prop_assert_eq!(right.shared, claimant.resource().is_some() && others().any(|(_, one)| !one.deleting));
                let was_told = own.as_ref() == Some(&selected.uid) || told.contains(selected);
                let gains = |before: &Rights| may_act(&right.ownership) == may_act(&before.ownership);
                let can_act = claimant.owns.is_some() || claimant.may_claim;
                prop_assert!(
                    was_told || !can_act || before.get(selected).is_none_or(gains),
                    "{:?} was not told", selected
                );
            }
        }
        prop_assert!(!all.is_empty() || index.resources.is_empty());
    }
}
