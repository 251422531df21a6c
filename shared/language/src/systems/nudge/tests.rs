use crate::{Actions, Target};

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Image, labelSelector: "tier in (a, b)"}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h/x"}}
  compare: {desired: {a: "${self.spec.a}"}}
  correct:
    settle: 30s
    nudge: {annotations: {reconcile.example/requestedAt: "drift-${correction}"}}
"#;

const NUDGE: &str = r#"{annotations: {reconcile.example/requestedAt: "drift-${correction}"}}"#;

fn parse(text: &str) -> Result<Target, Vec<String>> {
    crate::fixtures::parsed(text)
}

#[test]
fn a_nudge_only_wakes() {
    let target = parse(TARGET).unwrap();
    assert_eq!(target.correct.actions(), Actions { nudge: true, ..Actions::default() });
    assert!(!target.uses_differs() && !target.replaces());
    let telling = TARGET.replace("drift-${correction}", "${differs.sort().join('.')}");
    assert!(parse(&telling).unwrap().uses_differs());
}

/// Invalid nudges and their errors.
const MISTAKES: &[(&str, &str)] = &[
    ("{}", "11:12 correct.nudge: exactly one of annotations, patch is needed"),
    ("{annotations: {}}", "11:26 correct.nudge.annotations: 1 to 16 names are needed"),
    ("{patch: {a: 1}, patches: {}}", "11:28 unknown key `patches` in correct.nudge: did you mean `patch`?"),
    (
        "{annotations: {a: b}, patch: {}}",
        "11:41 correct.nudge.patch: annotations is written too; write only one of annotations, patch",
    ),
    (
        "{annotations: {a b: c}}",
        "11:27 correct.nudge.annotations.a b: `a b` is no name; write it as the operator does, for example example.com/requestedAt",
    ),
    (
        "{annotations: {a: 7}}",
        "11:30 correct.nudge.annotations.a: a text is needed here, not a number: put it in quotes",
    ),
    ("{annotations: {a: null}}", "11:30 correct.nudge.annotations.a: a text is needed here, not nothing"),
    (
        "{annotations: {driftpoller.dev/paused: 'true'}}",
        "11:27 correct.nudge.annotations.driftpoller.dev/paused: it steers this project, and no operator listens to it",
    ),
    (
        "{annotations: {a: '${response.status}'}}",
        "11:33 correct.nudge.annotations.a: `response` does not exist here; known: self, desired, differs, correction",
    ),
    ("{patch: {}}", "11:20 correct.nudge.patch: an empty patch wakes nobody"),
    (
        "{patch: {spec: {a: 1}}}",
        "11:21 correct.nudge.patch.spec: the spec is the desired state that its author wrote; a nudge only wakes",
    ),
    ("{patch: {status: {a: 1}}}", "11:21 correct.nudge.patch.status: the status is its operator's word"),
    ("{patch: {kind: A}}", "11:21 correct.nudge.patch.kind: the kind is the target's"),
    (
        "{patch: {metadata: {finalizers: []}}}",
        "11:32 correct.nudge.patch.metadata.finalizers: of the metadata a nudge writes annotations and labels only",
    ),
    (
        "{patch: {metadata: {ownerReferences: null}}}",
        "11:32 correct.nudge.patch.metadata.ownerReferences: of the metadata a nudge writes annotations and labels only",
    ),
    (
        "{patch: {metadata: {labels: {tier: c}}}}",
        "11:40 correct.nudge.patch.metadata.labels.tier: the target selects its objects by it",
    ),
    ("{patch: '${self.metadata}'}", "11:20 correct.nudge.patch: a map is needed here, not a text"),
    (
        "{patch: {operation: {a: '${slef.a}'}}}",
        "11:39 correct.nudge.patch.operation.a: unknown variable `slef`: did you mean `self`?",
    ),
];

#[test]
fn every_mistake_in_a_nudge_is_told_with_its_place() {
    let mut wrong = Vec::new();
    for (nudge, expected) in MISTAKES {
        let found = parse(&TARGET.replace(NUDGE, nudge)).map(drop).unwrap_err();
        if found != [*expected] {
            wrong.push(format!("{nudge}\n   found    {found:?}\n   expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_operator_has_its_time() {
    let settle = |text: &str| parse(text).unwrap().correct.settle.as_secs();
    assert_eq!(settle(&TARGET.replace("    settle: 30s\n", "")), 30);
    assert_eq!(settle(&TARGET.replace("settle: 30s", "settle: 0s")), 0);
}

#[test]
fn a_nudge_has_nothing_to_do_with_what_is_outside() {
    let adopting = TARGET.replace("settle: 30s", "existing: Adopt");
    let refusal = "10:15 correct.existing: a nudge touches nothing outside, so it adopts nothing";
    assert_eq!(parse(&adopting).map(drop), Err(vec![refusal.to_owned()]));
    let replacing =
        TARGET.replace("{desired: {a: \"${self.spec.a}\"}}", "{desired: {a: 1}, rules: [{path: /a, change: replace}]}");
    let refusal = "8:57 compare.rules[0].change: how it is corrected is for the operator that is nudged to say";
    assert_eq!(parse(&replacing).map(drop), Err(vec![refusal.to_owned()]));
}
