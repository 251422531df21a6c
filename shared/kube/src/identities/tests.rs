//! Who has a resource while an object is corrected for it.

use super::*;
use crate::cleanup::Selections;

fn target(name: &str) -> Target {
    drift_language::fixtures::target(&format!(
        "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: {name}}}, spec: {{objects: {{apiVersion: \
         demo.example/v1, kind: Proxy}}, scope: s, identity: x, read: {{http: {{url: 'https://h/x'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
    ))
}

fn wanting(created: u32) -> Claimant {
    let wants = ResourceName { scope: target("a").scope.id, identity: "x".into() };
    Claimant { wants: Some(wants), owns: None, created, claimed: 0, deleting: false }
}

fn owning(created: u32) -> Claimant {
    let wanting = wanting(created);
    Claimant { owns: wanting.wants.clone(), claimed: u32::MAX, ..wanting }
}

fn arrange(identities: &Identities, names: &[&str]) {
    let targets = names.iter().map(|name| ((*name).to_owned(), Arc::new(target(name)))).collect();
    let configuration = Configuration { targets, loaded: true, ..Configuration::default() };
    identities.state().arrange(&configuration, &Selections::default());
}

/// Both targets have read their lists, and everybody is known.
fn two_members(identities: &Identities) -> [Member; 2] {
    let members = ["a", "b"].map(|name| {
        let mut member = identities.join(&target(name));
        member.note_listed();
        member
    });
    arrange(identities, &["a", "b"]);
    assert!(members[0].is_scope_complete());
    members
}

/// The younger object of the first target is corrected, and the older one of the second wants the same.
fn corrected_beside_an_older(identities: &Identities) -> ([Member; 2], [Uid; 2], HeldClaim) {
    let [mut first, mut second] = two_members(identities);
    let (young, old) = (Uid::from("young"), Uid::from("old"));
    first.insert(&young, wanting(2));
    assert!(first.claim(&young, wanting(2)));
    let held = first.hold(&young, owning(2));
    second.insert(&old, wanting(1));
    ([first, second], [young, old], held)
}

#[test]
fn a_held_claim_outlives_its_target() {
    let identities = Identities::default();
    let ([first, second], [_, old], held) = corrected_beside_an_older(&identities);
    arrange(&identities, &["b"]);
    drop(first);
    arrange(&identities, &["b", "c"]);
    assert!(!second.rights(&old, &wanting(1)).has);
    drop(held);
    assert!(second.rights(&old, &wanting(1)).has);
}

#[test]
fn a_claim_holds_before_its_target_sees_it() {
    let identities = Identities::default();
    let ([mut first, second], [young, old], held) = corrected_beside_an_older(&identities);
    // The actor of the target's next text reads the object before the note has landed.
    first.insert(&young, wanting(2));
    assert!(!second.rights(&old, &wanting(1)).has);
    first.remove(&young);
    first.insert(&young, wanting(2));
    assert!(!second.rights(&old, &wanting(1)).has, "it left and came back");
    drop(held);
    assert!(second.rights(&old, &wanting(1)).has);
}

fn wakes(member: &mut Member) -> Vec<Wake> {
    std::iter::from_fn(|| member.wakes.try_recv().ok()).collect()
}

#[test]
fn void_claims_are_told_once_everybody_is_known() {
    let identities = Identities::default();
    let [mut first, mut second] = ["a", "b"].map(|name| identities.join(&target(name)));
    let (returned, adopting) = (Uid::from("returned"), Uid::from("adopting"));
    let noted = |claimed, created| Claimant { claimed, ..owning(created) };
    first.insert(&returned, noted(1, 1));
    second.insert(&adopting, noted(2, 2));
    let are_void = |first: &Member, second: &Member| {
        let is_void = |member: &Member, uid, claimant| member.rights(uid, &claimant).claim_void;
        [is_void(first, &returned, noted(1, 1)), is_void(second, &adopting, noted(2, 2))]
    };
    second.note_listed();
    arrange(&identities, &["a", "b"]);
    assert!(!first.is_scope_complete(), "the first target's list is not read");
    assert_eq!(are_void(&first, &second), [false, false]);
    first.note_listed();
    [&mut first, &mut second].into_iter().for_each(|member| drop(wakes(member)));
    arrange(&identities, &["a", "b"]);
    assert!(first.is_scope_complete());
    assert_eq!(are_void(&first, &second), [true, false]);
    assert_eq!(wakes(&mut first), [Wake::Object(returned.clone()), Wake::Scopes]);
    assert_eq!(wakes(&mut second), [Wake::Scopes]);
    arrange(&identities, &["a", "b"]);
    assert_eq!([&mut first, &mut second].map(wakes), [[], []], "told once");
}
