//! The recipes and the table of forms in docs/reference/target/compare.md say what the poller says, and the target of
//! docs/guides/secrets.md sees a password that changed outside.

#![allow(clippy::unwrap_used, clippy::panic)]

use drift_api::object::object_view::ObjectView;
use drift_language::Target;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::drift::{Drift, Subject};
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../docs/reference/target/compare.md");
const SECRETS: &str = include_str!("../../docs/guides/secrets.md");

/// A recipe: an object's spec, the external state, and the result.
struct Recipe<'p> {
    spec: &'p str,
    observed: &'p str,
    message: &'p str,
    compare: &'p str,
}

fn recipes() -> Vec<Recipe<'static>> {
    let blocks = PAGE.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let parse = |block: &'static str| {
        let (spec, rest) = block.strip_prefix("# spec")?.split_once("\n# observed")?;
        let (observed, rest) = rest.split_once("\n# message")?;
        let (message, compare) = rest.split_once('\n')?;
        Some(Recipe { spec: spec.trim(), observed: observed.trim(), message: message.trim(), compare })
    };
    blocks.filter_map(parse).collect()
}

fn text(compare: &str) -> String {
    let indented: String = compare.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: recipe}}\nspec:\n  \
         objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}\n  identity: \"${{self.metadata.name}}\"\n  \
         read: {{http: {{url: \"http://h/x\"}}}}\n{indented}"
    )
}

fn target(compare: &str) -> Target {
    drift_language::fixtures::target(&text(compare))
}

#[test]
fn every_recipe_of_compare_says_what_it_promises() {
    let recipes = recipes();
    assert!(recipes.len() >= 6, "only {} recipes were found", recipes.len());
    for Recipe { spec, observed, message, compare } in recipes {
        let [spec, observed]: [Value; 2] = [spec, observed].map(|text| serde_json::from_str(text).unwrap());
        let target = target(compare);
        let object = json!({"metadata": {"name": "x"}, "spec": spec});
        let desired = target.desired_state_of(&object).unwrap();
        let drift = Drift::of(&target, Subject::from(&object), &desired.value, &observed).unwrap();
        assert_eq!(drift.map(|drift| drift.text).unwrap_or_default(), message, "{compare}");
    }
}

/// A row about a value that differs only in form: both notations of `/v`, and the effects of the rule for it.
struct FormRow {
    sides: [Value; 2],
    effects: &'static str,
}

fn form_rows() -> Vec<FormRow> {
    let (_, after) = PAGE.split_once("\n## The value differs only in form\n").unwrap();
    let (section, _) = after.split_once("\n## ").unwrap();
    let (table, _) = section.trim().split_once("\n\n").unwrap();
    let parse = |line: &'static str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, desired, observed, effects] = cells.as_slice() else { panic!("{line}") };
        let side = |cell: &str| match cell {
            "absent" => json!({"w": 1}),
            cell => json!({"v": serde_json::from_str::<Value>(cell.trim_matches('`')).unwrap(), "w": 1}),
        };
        FormRow { sides: [side(desired), side(observed)], effects: effects.trim_matches('`') }
    };
    table.lines().skip(2).map(parse).collect()
}

#[test]
fn every_row_about_forms_holds_in_both_directions() {
    let rows = form_rows();
    assert!(rows.len() >= 20, "only {} rows were found", rows.len());
    let is_in_sync = |rules: &str, [desired, observed]: [&Value; 2]| {
        let compare = format!("compare: {{desired: \"${{self.spec.x}}\", rules: [{rules}]}}");
        let target = drift_language::fixtures::parsed(&text(&compare)).ok()?;
        let object = json!({"metadata": {"name": "x"}, "spec": {"x": desired}});
        let desired = target.desired_state_of(&object).ok()?.value;
        Some(Drift::of(&target, Subject::from(&object), &desired, observed).unwrap().is_none())
    };
    let mut wrong = Vec::new();
    for FormRow { sides: [one, other], effects } in &rows {
        let rule = format!("{{path: /v, {effects}}}");
        let both = [[one, other], [other, one]];
        // Without the rule it is drift, except where `extra` finds it.
        let plain = if effects.starts_with("extra") { "{path: /v, extra: drift}" } else { "{path: /w, redact: true}" };
        let found = both.map(|sides| is_in_sync(&rule, sides));
        let is_drift = both.iter().any(|sides| is_in_sync(plain, *sides) == Some(false));
        if found != [Some(true); 2] || !is_drift {
            wrong.push(format!("{effects}: {one} and {other}: {found:?}, drift without it: {is_drift}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn the_guide_sees_a_password_that_changed_outside() {
    let blocks: Vec<_> = SECRETS.split("```yaml\n").filter_map(|rest| rest.split_once("```")).collect();
    let (document, _) = blocks.iter().find(|(block, _)| block.contains("kind: PollTarget")).unwrap();
    let target = drift_language::fixtures::target(document);
    let message = |status: Value, changed_at: &str| {
        let object = json!({"metadata": {"name": "x"}, "spec": {"login": "web", "team": "a"}, "status": status});
        let body = json!({"team": "a", "passwordChangedAt": changed_at}).to_string().into_bytes();
        let reply = HttpReply { status: StatusCode::OK, headers: HeaderMap::new(), body: ReplyBody::Whole(body) };
        let read = target.read.http().unwrap();
        let Progress::Done(observed) = Reading::new(read, &ObjectView::of(&object).open()).take(&reply) else {
            panic!("there is one request")
        };
        match compare(&target, &object, observed).finding {
            Finding::Differs(drift) => drift.text,
            other => format!("{other:?}"),
        }
    };
    let promised = SECRETS.split('`').find(|part| part.starts_with("1 field differs: /asSent")).unwrap();
    assert_eq!(message(json!({"passwordChangedAt": "9:00"}), "9:05"), promised);
    assert_eq!(message(json!({}), "9:05"), promised);
    assert_eq!(message(json!({"passwordChangedAt": "9:00"}), "9:00"), "InSync");
}
