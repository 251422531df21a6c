//! Rights to a resource during a correction.

use super::*;
use drift_api::identity::{ObjectRef, ResourceName};

fn target(name: &str) -> Target {
    drift_language::fixtures::target(&format!(
        "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: {name}}}, spec: {{objects: {{apiVersion: \
         demo.example/v1, kind: Proxy}}, scope: s, identity: x, read: {{http: {{url: 'https://h/x'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
    ))
}

fn wanting(created: u32) -> Claimant {
    let wants = ResourceName { scope: target("a").scope.id, identity: "x".into() };
    let object = ObjectRef { kind: "Proxy.demo.example".into(), namespace: None, name: created.to_string().into() };
    Claimant { object, wants: Some(wants), owns: None, may_claim: true, created, deleting: false, claim_is_known: true }
}

fn owning(created: u32) -> Claimant {
    let wanting = wanting(created);
    Claimant { owns: wanting.wants.clone(), may_claim: false, ..wanting }
}

fn may_act(member: &Member, uid: &Uid) -> bool {
    matches!(member.rights(uid, &wanting(1)).ownership, Ownership::Free | Ownership::Held)
}

fn arrange(identities: &Identities, names: &[&str]) {
    let targets = names.iter().map(|name| ((*name).to_owned(), Arc::new(target(name)))).collect();
    let configuration = Configuration { targets, loaded: true, ..Configuration::default() };
    identities.arrange(&configuration, &Selections::default(), clock::now());
}

/// Both targets have complete lists, and all objects are known.
fn two_members(identities: &Identities) -> [Member; 2] {
    let members = ["a", "b"].map(|name| {
        let mut member = identities.join(&target(name));
        member.note_listed();
        member
    });
    arrange(identities, &["a", "b"]);
    assert!(members[0].is_scope_complete(true));
    members
}

/// The younger object of the first target is being corrected, and the older one of the second names the same resource.
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
    assert!(!may_act(&second, &old));
    drop(held);
    assert!(may_act(&second, &old));
}

#[test]
fn a_claim_holds_before_its_target_sees_it() {
    let identities = Identities::default();
    let ([mut first, second], [young, old], held) = corrected_beside_an_older(&identities);
    // The actor of the target's next version reads the object before the record is written.
    first.insert(&young, wanting(2));
    assert!(!may_act(&second, &old));
    first.remove(&young);
    first.insert(&young, wanting(2));
    assert!(!may_act(&second, &old), "it left and came back");
    drop(held);
    assert!(may_act(&second, &old));
}

fn wakes(member: &mut Member) -> Vec<Wake> {
    std::iter::from_fn(|| member.wakes.try_recv().ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_endless_list_holds_up_claims_for_five_minutes() {
    let identities = Identities::default();
    let [mut first, second] = ["a", "b"].map(|name| identities.join(&target(name)));
    let is_complete = |member: &Member| {
        arrange(&identities, &["a", "b"]);
        (member.is_scope_complete(false), member.is_scope_complete(true))
    };
    assert_eq!(is_complete(&first), (false, false));
    tokio::time::advance(LIST_WITHIN - Duration::from_secs(1)).await;
    assert_eq!(is_complete(&first), (false, false));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(is_complete(&first), (true, false), "a deletion waits");
    assert_eq!(first.awaited(true).as_deref(), Some("target a, b"));
    assert!(wakes(&mut first).contains(&Wake::Scopes));
    drop(second);
}
