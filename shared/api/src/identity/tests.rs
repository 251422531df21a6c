//! Objects of several targets that come and go, and who has which resource.

use super::*;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const HERE: &str = "GET http://h/${…}";

fn name(identity: &str) -> ResourceName {
    ResourceName { scope: ScopeId::of(HERE), identity: identity.into() }
}

fn elsewhere(identity: &str) -> ResourceName {
    ResourceName { scope: ScopeId::of("elsewhere"), identity: identity.into() }
}

fn claimant(wants: &str, owns: Option<&str>, created: u32) -> Claimant {
    Claimant { wants: Some(name(wants)), owns: owns.map(name), created, claimed: 0, deleting: false }
}

fn of(target: &str, uid: &str) -> Selected {
    Selected { target: target.into(), uid: uid.into() }
}

fn one(uid: &str) -> Selected {
    of("t", uid)
}

fn has(index: &IdentityIndex, selected: &Selected, claimant: &Claimant) -> bool {
    index.rights(&selected.uid, claimant).has
}

fn is_shared(index: &IdentityIndex, selected: &Selected, claimant: &Claimant) -> bool {
    index.rights(&selected.uid, claimant).shared
}

fn index(claimants: &[(&Selected, &Claimant)]) -> IdentityIndex {
    let mut index = IdentityIndex::default();
    for (selected, claimant) in claimants {
        index.insert(selected, (*claimant).clone());
    }
    index
}

#[test]
fn a_scope_is_read_as_it_is_shown() {
    let scope = ScopeId::of(HERE);
    assert_eq!(ScopeId::parse(&scope.to_string()), Some(scope));
    assert!(["", "3f2a9c7", "3F2A9C71", "3f2a9c71a", "+f2a9c71"].iter().all(|text| ScopeId::parse(text).is_none()));
}

#[test]
fn of_two_targets_with_one_resource_one_object_has_it() {
    let claimant = claimant("db", None, 1);
    let (a, b) = (of("first", "a"), of("second", "b"));
    let index = index(&[(&a, &claimant), (&b, &claimant)]);
    assert!(has(&index, &a, &claimant) && !has(&index, &b, &claimant));
    assert!(is_shared(&index, &a, &claimant) && is_shared(&index, &b, &claimant));
}

#[test]
fn a_claim_holds_in_its_own_scope_alone() {
    let young = claimant("db", None, 2);
    let old = Claimant { wants: Some(elsewhere("db")), ..claimant("db", Some("db"), 1) };
    let (a, b) = (of("first", "a"), of("second", "b"));
    let moved = index(&[(&a, &old), (&b, &young)]);
    assert!(has(&moved, &a, &old), "nobody else is there");
    assert!(!has(&moved, &b, &young), "the claim of the former scope stands");
    let apart = Claimant { owns: None, ..old };
    let index = index(&[(&a, &apart), (&b, &young)]);
    assert!(has(&index, &a, &apart) && has(&index, &b, &young) && !is_shared(&index, &b, &young));
}

#[test]
fn an_object_of_two_targets_does_not_contend_with_itself() {
    let claimant = claimant("db", None, 1);
    let (first, second) = (of("first", "a"), of("second", "a"));
    let mut index = index(&[(&second, &claimant), (&first, &claimant)]);
    assert_eq!(index.rights(&first.uid, &claimant), Rights { has: true, shared: false, claim_void: false });
    index.remove(&first);
    assert!(index.rights(&"b".into(), &claimant).shared, "the second target sees it still");
}

#[test]
fn what_a_target_does_not_see_again_is_dropped() {
    let claimant = claimant("db", None, 1);
    let (a, b, c) = (of("first", "a"), of("first", "b"), of("second", "c"));
    let mut index = index(&[(&a, &claimant), (&b, &claimant), (&c, &claimant)]);
    assert_eq!(index.keep_only(&a.target, &HashSet::from([b.uid.clone()])), std::slice::from_ref(&b));
    assert_eq!(index.keep_only(&a.target, &HashSet::new()), std::slice::from_ref(&c));
    assert!(has(&index, &c, &claimant) && index.targets() == BTreeSet::from([c.target]));
}

#[test]
fn the_claimant_has_it_else_the_oldest() {
    let old = claimant("db", None, 1);
    let young = claimant("db", None, 2);
    let claimant = claimant("db", Some("db"), 3);
    let (a, b, c) = (one("a"), one("b"), one("c"));
    let without_claim = index(&[(&a, &young), (&b, &old)]);
    assert!(has(&without_claim, &b, &old) && !has(&without_claim, &a, &young));
    let twins = index(&[(&b, &old), (&a, &old)]);
    assert!(has(&twins, &a, &old) && !has(&twins, &b, &old));
    let with_claim = index(&[(&a, &young), (&b, &old), (&c, &claimant)]);
    assert!(has(&with_claim, &c, &claimant) && !has(&with_claim, &b, &old) && !has(&with_claim, &a, &young));
}

#[test]
fn an_old_claim_that_comes_back_is_void() {
    let (old, young) = (claimant("db", Some("db"), 1), claimant("db", Some("db"), 2));
    let (a, b) = (of("first", "a"), of("second", "b"));
    let mut index = index(&[(&b, &young), (&a, &old)]);
    let told = |index: &IdentityIndex, selected: &Selected, claimant: &Claimant| {
        let Rights { has, claim_void, .. } = index.rights(&selected.uid, claimant);
        (has, claim_void)
    };
    let (holds, void) = ((true, false), (false, true));
    assert_eq!((told(&index, &a, &old), told(&index, &b, &young)), (void, holds));
    let deleting = Claimant { deleting: true, ..young };
    index.insert(&b, deleting.clone());
    assert_eq!((told(&index, &a, &old), told(&index, &b, &deleting)), (void, holds));
    let elsewhere = Claimant { wants: Some(name("new")), ..old.clone() };
    assert_eq!(told(&index, &a, &elsewhere), (true, true), "whatever it names by now");
    assert_eq!(index.remove(&b), std::slice::from_ref(&a));
    assert_eq!(told(&index, &a, &old), holds, "nobody else claims it any more");
}

#[test]
fn of_claims_seen_at_a_start_the_younger_counts() {
    let noted = |claimed, created| Claimant { claimed, ..claimant("db", Some("db"), created) };
    let (old, young) = (noted(1, 1), noted(2, 2));
    let (a, b) = (of("first", "a"), of("second", "b"));
    for order in [[(&a, &old), (&b, &young)], [(&b, &young), (&a, &old)]] {
        let mut index = IdentityIndex::default();
        order.iter().for_each(|(selected, claimant)| _ = index.insert_while_incomplete(selected, (*claimant).clone()));
        assert!(has(&index, &b, &young) && !has(&index, &a, &old));
        let is_void = |index: &IdentityIndex, one: &Selected, claims| index.rights(&one.uid, claims).claim_void;
        assert!(!is_void(&index, &a, &old) && !is_void(&index, &b, &young), "while not everybody is known");
        assert_eq!(index.note_complete(|scope| scope != ScopeId::of(HERE)), []);
        assert_eq!(index.note_complete(|_| true), std::slice::from_ref(&a));
        assert!(is_void(&index, &a, &old) && !is_void(&index, &b, &young));
    }
}

#[test]
fn of_notes_of_one_second_the_older_object_counts() {
    let noted = |created| Claimant { claimed: 7, ..claimant("db", Some("db"), created) };
    let (clone, original) = (of("first", "a"), of("second", "b"));
    for order in [[(&clone, noted(2)), (&original, noted(1))], [(&original, noted(1)), (&clone, noted(2))]] {
        let mut index = IdentityIndex::default();
        order.into_iter().for_each(|(selected, claimant)| _ = index.insert_while_incomplete(selected, claimant));
        assert!(has(&index, &original, &noted(1)) && !has(&index, &clone, &noted(2)));
    }
}

#[test]
fn of_claims_that_come_to_one_scope_one_stays() {
    // A note from before scopes were noted is of the scope that its target has now.
    let of_scope = |name: fn(&str) -> ResourceName, claimed| Claimant {
        wants: Some(name("db")),
        owns: Some(name("db")),
        claimed,
        ..claimant("db", None, 1)
    };
    let (a, b) = (of("first", "a"), of("second", "b"));
    let current = of_scope(name, 2);
    let told = |index: &IdentityIndex, selected: &Selected, claimant: &Claimant| {
        let Rights { has, claim_void, .. } = index.rights(&selected.uid, claimant);
        (has, claim_void)
    };
    let (holds, waits, void) = ((true, false), (false, false), (false, true));
    for (noted, comes_first) in [(1, false), (3, true)] {
        let (apart, together) = (of_scope(elsewhere, noted), of_scope(name, noted));
        let mut index = index(&[(&a, &apart), (&b, &current)]);
        assert_eq!((told(&index, &a, &apart), told(&index, &b, &current)), (holds, holds));
        let mut complete = index.clone();
        complete.insert(&a, together.clone());
        assert_eq!((told(&complete, &a, &together), told(&complete, &b, &current)), (void, holds));
        // An edit of the scope makes it incomplete until the list is read anew: the younger note counts.
        index.insert_while_incomplete(&a, together.clone());
        let both = |index: &IdentityIndex| (told(index, &a, &together), told(index, &b, &current));
        assert_eq!(both(&index), if comes_first { (holds, waits) } else { (waits, holds) });
        let loser = if comes_first { &b } else { &a };
        assert_eq!(index.note_complete(|_| true), std::slice::from_ref(loser));
        assert_eq!(both(&index), if comes_first { (holds, void) } else { (void, holds) });
    }
}

#[test]
fn a_claim_holds_while_the_claimant_wants_something_else() {
    let moved = claimant("new", Some("db"), 3);
    let other = claimant("db", None, 1);
    let index = index(&[(&one("a"), &moved), (&one("b"), &other)]);
    assert!(!has(&index, &one("b"), &other));
    assert!(has(&index, &one("a"), &moved));
}

#[test]
fn an_identity_is_shared_while_another_living_object_names_it() {
    let owner = claimant("db", Some("db"), 1);
    let mut other = claimant("db", None, 2);
    let (a, b) = (one("a"), one("b"));
    assert!(is_shared(&index(&[(&a, &owner), (&b, &other)]), &a, &owner));
    assert!(!is_shared(&index(&[(&a, &owner)]), &a, &owner));
    other.deleting = true;
    assert!(!is_shared(&index(&[(&a, &owner), (&b, &other)]), &a, &owner));
}

#[test]
fn whoever_shares_an_identity_is_told_when_it_changes_hands() {
    let first = claimant("db", None, 1);
    let second = claimant("db", None, 2);
    let (a, b) = (of("first", "a"), of("second", "b"));
    let mut index = index(&[(&a, &first)]);
    assert_eq!(index.insert(&b, second.clone()), std::slice::from_ref(&a));
    assert_eq!(index.insert(&b, second), []);
    assert_eq!(index.insert(&a, claimant("x", None, 0)), std::slice::from_ref(&b));
    assert_eq!(index.remove(&b), []);
}

#[test]
fn a_change_among_ten_thousand_contenders_concerns_two() {
    let mut index = IdentityIndex::default();
    let numbered = |number: u32| one(&format!("u{number:05}"));
    let mut concerned = 0;
    for number in 0..10_000 {
        concerned += index.insert(&numbered(number), claimant("db", None, 1)).len();
    }
    assert!(concerned <= 2, "{concerned} when they come");
    assert_eq!(index.insert(&numbered(7), claimant("db", Some("db"), 1)), [numbered(0)]);
    assert_eq!(index.remove(&numbered(7)), [numbered(0)]);
}

#[test]
fn each_of_many_is_found_by_its_resource() {
    const MANY: u32 = 500;
    let mut index = IdentityIndex::default();
    let at = |number: u32| one(&format!("u{number}"));
    let is_kept = |number: &u32| !number.is_multiple_of(5);
    for number in 0..MANY {
        index.insert(&at(number), claimant(&format!("former {number}"), None, 1));
    }
    // One claims what it named and wants something new, the next names something new alone.
    for number in 0..MANY {
        let owns = Some(format!("former {number}")).filter(|_| number.is_multiple_of(2));
        index.insert(&at(number), claimant(&format!("r{number}"), owns.as_deref(), 1));
    }
    (0..MANY).filter(|number| !is_kept(number)).for_each(|number| _ = index.remove(&at(number)));
    for number in 0..MANY {
        let kept = Some(number).filter(is_kept).map(|number| at(number).uid);
        assert_eq!(index.holder(&name(&format!("r{number}"))), kept);
        assert_eq!(index.holder(&name(&format!("former {number}"))), kept.filter(|_| number.is_multiple_of(2)));
    }
}

/// What the targets say, as a plain list, who has what was claimed, and who came with a claim to that.
#[derive(Default)]
struct Plain {
    claimants: BTreeMap<Selected, Claimant>,
    claimed_by: BTreeMap<ResourceName, Uid>,
    late: BTreeSet<(Uid, ResourceName)>,
}

impl Plain {
    /// The first target by name that sees an object counts, with the claim that it is corrected for where that has none.
    fn objects(&self) -> BTreeMap<&Uid, (&SharedText, Claimant)> {
        let mut objects = BTreeMap::new();
        for (Selected { target, uid }, claimant) in &self.claimants {
            let (_, counting) = objects.entry(uid).or_insert_with(|| (target, claimant.clone()));
            if **target == *CORRECTING && counting.owns.is_none() {
                (counting.owns, counting.claimed) = (claimant.owns.clone(), claimant.claimed);
            }
        }
        objects
    }

    /// Who claims what, the youngest note first.
    fn claims(&self) -> BTreeMap<ResourceName, BTreeSet<(Reverse<u32>, u32, Uid)>> {
        let mut claims: BTreeMap<ResourceName, BTreeSet<(Reverse<u32>, u32, Uid)>> = BTreeMap::new();
        for (uid, (_, claimant)) in self.objects() {
            let owned = claimant.owns.iter().cloned();
            owned.for_each(|owned| {
                _ = claims.entry(owned).or_default().insert((Reverse(claimant.claimed), claimant.created, uid.clone()))
            });
        }
        claims
    }

    fn set(&mut self, selected: &Selected, claimant: Option<Claimant>, is_complete: bool) {
        let before = self.claims();
        match claimant {
            Some(claimant) => _ = self.claimants.insert(selected.clone(), claimant),
            None => _ = self.claimants.remove(selected),
        }
        let mut claimed_by = BTreeMap::new();
        for (resource, claims) in self.claims() {
            let claims_it =
                |claims: &BTreeSet<(Reverse<u32>, u32, Uid)>, uid: &Uid| claims.iter().any(|(_, _, one)| one == uid);
            let holder = self.claimed_by.get(&resource).and_then(|uid| claims.iter().find(|(_, _, one)| one == uid));
            let came = claims.iter().find(|(_, _, uid)| {
                *uid == selected.uid && !before.get(&resource).is_some_and(|before| claims_it(before, uid))
            });
            let (_, _, first) = match (holder, came) {
                (None, _) => claims.first().unwrap(),
                (Some(holder), Some(came)) if !is_complete => holder.min(came),
                (Some(holder), Some(_)) => {
                    self.late.insert((selected.uid.clone(), resource.clone()));
                    holder
                }
                (Some(holder), None) => holder,
            };
            claimed_by.insert(resource, first.clone());
        }
        self.claimed_by = claimed_by;
        let claims = self.claims();
        self.late.retain(|(uid, resource)| {
            let still = claims.get(resource).is_some_and(|claims| claims.iter().any(|(_, _, one)| one == uid));
            still && self.claimed_by.get(resource) != Some(uid)
        });
    }

    /// Everybody is known.
    fn note_complete(&mut self) {
        for (resource, claims) in self.claims() {
            let void = claims.into_iter().filter(|(_, _, uid)| self.claimed_by.get(&resource) != Some(uid));
            self.late.extend(void.map(|(_, _, uid)| (uid, resource.clone())));
        }
    }

    /// What each object may do, found the long way.
    fn rights(&self) -> BTreeMap<Selected, Rights> {
        let objects = self.objects();
        let holder = |resource: &ResourceName| {
            let wanting = objects.iter().filter(|(_, (_, claimant))| claimant.wants.as_ref() == Some(resource));
            let oldest = || wanting.min_by_key(|(uid, (_, claimant))| (claimant.created, **uid)).map(|(uid, _)| *uid);
            self.claimed_by.get(resource).or_else(oldest)
        };
        let of = |(uid, (target, claimant)): (&&Uid, &(&SharedText, Claimant))| {
            let selected = Selected { target: (*target).clone(), uid: (*uid).clone() };
            let names = |other: &Claimant| resources(other).any(|named| Some(named) == claimant.wants.as_ref());
            let others = objects.iter().filter(|(other, (_, theirs))| *other != uid && names(theirs));
            let rights = Rights {
                has: claimant.wants.as_ref().and_then(holder) == Some(uid),
                shared: others.into_iter().any(|(_, (_, theirs))| !theirs.deleting),
                claim_void: claimant
                    .owns
                    .as_ref()
                    .is_some_and(|owned| self.late.contains(&((*uid).clone(), owned.clone()))),
            };
            (selected, rights)
        };
        objects.iter().map(of).collect()
    }
}

/// What happens to the objects of three targets and of whoever corrects: one comes or changes, one goes, or a target reads its list anew.
#[derive(Clone, Debug)]
enum Step {
    Seen { at: (u8, u8), names: (u8, u8), since: (u8, u8), deleting: bool, is_complete: bool },
    Complete,
    Gone { target: u8, uid: u8 },
    ListedAnew { target: u8, kept: HashSet<u8> },
}

fn step() -> impl Strategy<Value = Step> {
    let seen = ((0_u8..=CORRECTOR, 0_u8..6), (0_u8..5, 0_u8..5), (0_u8..3, 0_u8..3), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => seen.prop_map(|(at, names, since, deleting, is_complete)| {
            Step::Seen { at, names, since, deleting, is_complete }
        }),
        1 => Just(Step::Complete),
        2 => (0_u8..=CORRECTOR, 0_u8..6).prop_map(|(target, uid)| Step::Gone { target, uid }),
        2 => (0_u8..3, proptest::collection::hash_set(0_u8..6, 0..4))
            .prop_map(|(target, kept)| Step::ListedAnew { target, kept }),
    ]
}

/// Two identities in each of two scopes, or none.
fn numbered_name(number: u8) -> Option<ResourceName> {
    let identity = (number % 2).to_string();
    match number {
        0 => None,
        1 | 2 => Some(name(&identity)),
        _ => Some(elsewhere(&identity)),
    }
}

/// Stands for whoever corrects, after the targets.
const CORRECTOR: u8 = 3;

fn numbered(target: u8, uid: u8) -> Selected {
    let selected = of(&target.to_string(), &uid.to_string());
    if target == CORRECTOR { Selected::correcting(&selected.uid) } else { selected }
}

/// Does the step to the index and to the plain list; gives whom the index names as concerned.
fn take(index: &mut IdentityIndex, plain: &mut Plain, step: Step) -> Vec<Selected> {
    let at = numbered;
    match step {
        Step::Seen { at: (target, uid), names: (wants, owns), since: (created, claimed), deleting, is_complete } => {
            let (wants, owns) = (numbered_name(wants), numbered_name(owns));
            let claimant = Claimant { wants, owns, created: created.into(), claimed: claimed.into(), deleting };
            plain.set(&at(target, uid), Some(claimant.clone()), is_complete);
            match is_complete {
                true => index.insert(&at(target, uid), claimant),
                false => index.insert_while_incomplete(&at(target, uid), claimant),
            }
        }
        Step::Complete => {
            plain.note_complete();
            index.note_complete(|_| true)
        }
        Step::Gone { target, uid } => {
            plain.set(&at(target, uid), None, true);
            index.remove(&at(target, uid))
        }
        Step::ListedAnew { target, kept } => {
            let kept: HashSet<Uid> = kept.into_iter().map(|uid| at(target, uid).uid).collect();
            let target = at(target, 0).target;
            let goes = |selected: &&Selected| selected.target == target && !kept.contains(&selected.uid);
            let gone: Vec<Selected> = plain.claimants.keys().filter(goes).cloned().collect();
            gone.iter().for_each(|selected| plain.set(selected, None, true));
            index.keep_only(&target, &kept)
        }
    }
}

proptest! {
    #[test]
    fn whatever_targets_do_rights_are_as_found_the_long_way(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut index, mut plain) = (IdentityIndex::default(), Plain::default());
        for step in steps {
            let before = plain.rights();
            let is_own = |other: &Selected| match step {
                // Whoever corrects an object ends by looking at it.
                Step::Seen { at: (CORRECTOR, uid), .. } | Step::Gone { target: CORRECTOR, uid } => *other.uid == *uid.to_string(),
                Step::Seen { at: (target, uid), .. } => *other == numbered(target, uid),
                _ => false,
            };
            let told = take(&mut index, &mut plain, step.clone());
            let (after, objects) = (plain.rights(), plain.objects());
            for (other, right) in &after {
                prop_assert_eq!(&index.rights(&other.uid, &objects[&other.uid].1), right);
                let was_told = is_own(other) || told.contains(other);
                prop_assert!(was_told || before.get(other).is_none_or(|before| before == right), "{:?} was not told", other);
            }
            // Whatever happens, of the objects that name one resource one has it.
            for resource in objects.values().filter_map(|(_, claimant)| claimant.wants.as_ref()) {
                let having = after.iter().filter(|(other, right)| right.has && objects[&other.uid].1.wants.as_ref() == Some(resource));
                let having: BTreeSet<_> = having.map(|(other, _)| &other.uid).collect();
                prop_assert!(having.len() <= 1, "{:?} have {:?}", having, resource);
            }
        }
        prop_assert!(!plain.claimants.is_empty() || index.resources.is_empty());
    }
}

#[test]
fn an_object_without_identity_has_none() {
    let nameless = Claimant { wants: None, ..claimant("", None, 0) };
    assert!(!has(&IdentityIndex::default(), &one("a"), &nameless));
}
