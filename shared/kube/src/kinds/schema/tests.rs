use super::*;
use serde_json::json;

fn schema_problems(document: &Value, kind: &ResolvedKind) -> Vec<String> {
    Schema { document, kind }.problems(Advice::default())
}

fn kind() -> ResolvedKind {
    let resource = kube::core::ApiResource {
        group: "demo.example".to_owned(),
        version: "v1".to_owned(),
        api_version: "demo.example/v1".to_owned(),
        kind: "Proxy".to_owned(),
        plural: "proxies".to_owned(),
    };
    ResolvedKind { resource, namespaced: true }
}

fn items() -> Value {
    let time = json!({"type": "string", "format": "date-time"});
    json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
        "message": {"type": "string"}, "observedGeneration": {"type": "integer"}, "lastTransitionTime": time}})
}

fn document(status: &Value) -> Value {
    json!({
        "paths": {"/apis/demo.example/v1/namespaces/{namespace}/proxies/{name}/status": {"get": {}, "patch": {}}},
        "components": {"schemas": {
            "other": {"type": "object"},
            "shared.Condition": items(),
            "example.demo.v1.Proxy": {
                "type": "object",
                "properties": {"spec": {"type": "object"}, "status": status},
                "x-kubernetes-group-version-kind": [{"group": "demo.example", "version": "v1", "kind": "Proxy"}]}}}
    })
}

fn status(items: &Value) -> Value {
    json!({"type": "object", "properties": {"conditions": {"type": "array", "items": items}}})
}

#[test]
fn a_kind_that_can_carry_conditions_has_no_problem() {
    let preserve = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let shared = json!({"default": {}, "allOf": [{"$ref": "#/components/schemas/shared.Condition"}]});
    let mut free = document(&Value::Null);
    free.pointer_mut("/components/schemas/example.demo.v1.Proxy/properties")
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove("status");
    free["components"]["schemas"]["example.demo.v1.Proxy"]["x-kubernetes-preserve-unknown-fields"] = json!(true);
    let good = [
        document(&status(&items())),
        document(&status(&preserve)),
        document(&status(&shared)),
        document(&status(&json!({"$ref": "#/components/schemas/shared.Condition"}))),
        document(&preserve),
        free,
    ];
    for document in good {
        assert_eq!(schema_problems(&document, &kind()), Vec::<String>::new(), "{document}");
    }
}

#[test]
fn what_is_missing_is_said_with_its_place() {
    let place = "at .spec.versions[name=v1].schema.openAPIV3Schema.properties";
    let crd = "of CustomResourceDefinition proxies.demo.example";
    let mut old = items();
    old["properties"].as_object_mut().unwrap().remove("observedGeneration");
    let mut typed = items();
    typed["properties"]["observedGeneration"]["type"] = json!("string");
    let generation = "observedGeneration: {type: integer}";
    let cases = [
        (
            json!({"type": "object"}),
            format!(
                "demo.example/v1 Proxy has no .status.conditions: add a list of conditions {place}.status.properties {crd}"
            ),
        ),
        (
            json!({"type": "object", "properties": {"conditions": {"type": "object"}}}),
            format!(
                "demo.example/v1 Proxy has a .status.conditions that is no list: add type: array {place}.status.properties.conditions {crd}"
            ),
        ),
        (
            status(&old),
            format!(
                "demo.example/v1 Proxy has no field observedGeneration in the items of .status.conditions: add {generation} {place}.status.properties.conditions.items.properties {crd}, or correct with correct.nudge, or only observe the objects with mode: Observe"
            ),
        ),
        (
            status(&typed),
            format!(
                "demo.example/v1 Proxy has a field observedGeneration of type string in the items of .status.conditions: add {generation} {place}.status.properties.conditions.items.properties {crd}"
            ),
        ),
    ];
    for (status, expected) in cases {
        assert_eq!(schema_problems(&document(&status), &kind()), [expected], "{status}");
    }
}

#[test]
fn a_kind_without_the_subresource_is_refused() {
    let mut document = document(&status(&items()));
    document["paths"] = json!({"/apis/demo.example/v1/namespaces/{namespace}/others/{name}/status": {"patch": {}}});
    let problems = schema_problems(&document, &kind());
    assert_eq!(
        problems,
        [
            "demo.example/v1 Proxy has no /status subresource: add subresources: {status: {}} at .spec.versions[name=v1] of CustomResourceDefinition proxies.demo.example"
        ]
    );
}

#[test]
fn nobody_is_told_to_change_a_built_in_kind() {
    let mut built_in = kind();
    built_in.resource.group = String::new();
    let problems = schema_problems(&json!({}), &built_in);
    assert_eq!(problems[0], "demo.example/v1 Proxy has no /status subresource, and a built-in kind cannot be changed");
}

#[test]
fn a_condition_that_requires_more_is_refused() {
    let mut strict = items();
    strict["required"] = json!(["type", "severity"]);
    let problems = schema_problems(&document(&status(&strict)), &kind());
    assert!(problems.len() == 1 && problems[0].contains("requires severity in"), "{problems:?}");
    assert!(problems[0].contains("remove severity at .spec.versions[name=v1]"), "{problems:?}");
}

#[test]
fn a_field_that_is_too_narrow_for_ours_is_refused() {
    let place =
        "at .spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties.conditions.items.properties";
    let crd = "of CustomResourceDefinition proxies.demo.example";
    let cases = [
        (
            "type",
            json!({"type": "string", "enum": ["Ready", "driftObserved"]}),
            format!(
                "does not take driftCorrected as type in .status.conditions: add driftCorrected {place}.type.enum {crd}"
            ),
        ),
        (
            "message",
            json!({"type": "string", "maxLength": 64}),
            format!(
                "takes no more than 64 characters as message in .status.conditions: raise maxLength to 1024 or more {place}.message {crd}"
            ),
        ),
    ];
    for (field, schema, expected) in cases {
        let mut narrow = items();
        narrow["properties"][field] = schema;
        let problems = schema_problems(&document(&status(&narrow)), &kind());
        assert_eq!(problems, [format!("demo.example/v1 Proxy {expected}")]);
    }
    let mut wide = items();
    wide["properties"]["status"]["enum"] = json!(["True", "False", "Unknown", "Maybe"]);
    wide["properties"]["message"]["maxLength"] = json!(32768);
    wide["properties"]["type"]["maxLength"] = json!(316);
    assert_eq!(schema_problems(&document(&status(&wide)), &kind()), Vec::<String>::new());
    wide["properties"]["reason"]["enum"] = json!(["AsExpected"]);
    let problems = schema_problems(&document(&status(&wide)), &kind());
    assert!(problems.len() == 1 && problems[0].contains("does not take InSync, NotCreated"), "{problems:?}");
}

#[test]
fn texts_that_our_conditions_never_fit_are_told() {
    let of_item = |field: &str, key: &str, value: Value| {
        let mut narrow = items();
        narrow["properties"][field][key] = value;
        schema_problems(&document(&status(&narrow)), &kind()).join("; ")
    };
    let usual = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
    for (field, key, value, expected) in [
        ("type", "pattern", json!(usual), ""),
        ("reason", "pattern", json!("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"), ""),
        ("reason", "minLength", json!(1), ""),
        ("reason", "maxLength", json!(1024), ""),
        ("message", "pattern", json!("^[^{}]*$"), ""),
        // Another engine may read it.
        ("type", "pattern", json!("^(?!Ready)"), ""),
        (
            "type",
            "pattern",
            json!("^[A-Z]"),
            "does not take `driftObserved` as type in .status.conditions, by its pattern",
        ),
        ("reason", "pattern", json!("^[a-z]+$"), "does not take `InSync` as reason"),
        ("message", "pattern", json!("^[a-z ]*$"), "as message in .status.conditions, by its pattern"),
        ("reason", "maxLength", json!(10), "takes no more than 10 characters as reason"),
        ("reason", "minLength", json!(10), "takes no fewer than 10 characters as reason"),
        ("type", "maxLength", json!(5), "takes no more than 5 characters as type"),
    ] {
        let said = of_item(field, key, value.clone());
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{field} {key} {value}: {said}");
    }
    let mut few = status(&items());
    few["properties"]["conditions"]["maxItems"] = json!(1);
    let said = schema_problems(&document(&few), &kind()).join("; ");
    let mend = "raise maxItems to 2, or more if there are other writers, at .spec.versions";
    assert!(
        said.contains(&format!("allows 1 of the 2 conditions of the programs in .status.conditions: {mend}")),
        "{said}"
    );
    let mut both = items();
    both["properties"]["reason"]["pattern"] = json!("^[a-z]+$");
    both["properties"]["reason"]["maxLength"] = json!(10);
    let problems = schema_problems(&document(&status(&both)), &kind());
    assert!(
        problems.len() == 2 && problems[0].contains("pattern") && problems[1].contains("maxLength"),
        "{problems:?}"
    );
}

#[test]
fn a_status_that_others_have_to_fill_is_doubted() {
    let mut strict = status(&items());
    strict["properties"]["phase"] = json!({"type": "string", "default": "New"});
    let said = |strict: &Value, required: &[&str]| {
        let mut strict = strict.clone();
        strict["required"] = json!(required);
        let document = document(&strict);
        assert_eq!(schema_problems(&document, &kind()), Vec::<String>::new());
        Schema { document: &document, kind: &kind() }.doubts(Advice::default()).join("; ")
    };
    assert_eq!(said(&strict, &["conditions", "phase"]), "");
    let doubt = said(&strict, &["conditions", "databaseName"]);
    assert!(
        doubt.starts_with("demo.example/v1 Proxy requires databaseName in .status: until another writer"),
        "{doubt}"
    );
    assert!(doubt.contains(".properties.status.required of CustomResourceDefinition"), "{doubt}");
}

const OBSERVES: Advice = Advice { owns_nothing: true, is_ready: false, may_report: true, is_of_operator: false };
const NUDGES: Advice = Advice { is_of_operator: true, ..OBSERVES };

#[test]
fn the_tag_takes_the_generation_where_nothing_is_owned() {
    let mut without = items();
    without["properties"].as_object_mut().unwrap().remove("observedGeneration");
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for (items, advice, place, problem) in [
        (&items(), Advice::default(), GenerationPlace::Field, ""),
        (&free, Advice::default(), GenerationPlace::Field, ""),
        (&without, OBSERVES, GenerationPlace::Tag, ""),
        (&without, NUDGES, GenerationPlace::Tag, ""),
        (&without, Advice { is_ready: true, may_report: false, ..OBSERVES }, GenerationPlace::Tag, ", or remove ready"),
        (&without, Advice::default(), GenerationPlace::Tag, ", or correct with correct.nudge, or only observe"),
    ] {
        let document = document(&status(items));
        let schema = Schema { document: &document, kind: &kind() };
        let said = schema.problems(advice).join("; ");
        assert_eq!(schema.generation_place(), place, "{items}");
        assert!(said.contains(problem) && said.is_empty() == problem.is_empty(), "{said}");
    }
    without["properties"]["message"]["maxLength"] = json!(1024);
    let document = document(&status(&without));
    let said = Schema { document: &document, kind: &kind() }.problems(OBSERVES).join("; ");
    assert!(said.contains("raise maxLength to 1056 or more"), "{said}");
}

#[test]
fn reports_are_proposed_to_a_target_that_owns_nothing() {
    let document = document(&json!({"type": "object", "required": ["phase"]}));
    let said = |advice| Schema { document: &document, kind: &kind() }.problems(advice).join("; ");
    let what = "demo.example/v1 Proxy has no .status.conditions: ";
    let mend = "add a list of conditions at .spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties of \
                CustomResourceDefinition proxies.demo.example";
    assert_eq!(said(Advice::default()), format!("{what}{mend}"));
    assert_eq!(said(OBSERVES), format!("{what}{mend}, or {REPORT}"));
    let reason = ", because the CustomResourceDefinition belongs to their operator";
    assert_eq!(said(NUDGES), format!("{what}{REPORT}{reason}, or {mend}"));

    let doubt = |advice| Schema { document: &document, kind: &kind() }.doubts(advice).join("; ");
    assert!(!doubt(Advice::default()).contains("Report") && doubt(OBSERVES).ends_with(&format!(", or {REPORT}")));

    let mut built_in = kind();
    built_in.resource.group = String::new();
    let said = Schema { document: &json!({}), kind: &built_in }.problems(OBSERVES);
    assert!(said[0].ends_with(&format!(", and a built-in kind cannot be changed: {REPORT}")), "{}", said[0]);
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let mut document = document(&json!({"$ref": "#/components/schemas/loop"}));
    document["components"]["schemas"]["loop"] = json!({"$ref": "#/components/schemas/loop"});
    assert_eq!(schema_problems(&document, &kind()).len(), 1);
}

#[test]
fn a_lost_field_is_told_with_the_line_to_add() {
    let said = lost_field(&kind(), "observedGeneration").unwrap();
    assert_eq!(
        said,
        "demo.example/v1 Proxy loses the field observedGeneration of a condition that is written: add observedGeneration: {type: integer} at \
         .spec.versions[name=v1].schema.openAPIV3Schema.properties.status.properties.conditions.items.properties of \
         CustomResourceDefinition proxies.demo.example"
    );
    assert_eq!(lost_field(&kind(), "other"), None);
}

#[test]
fn each_form_of_a_status_takes_the_conditions_or_says_why_not() {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let text = json!({"type": "string"});
    let object = |more: Value| {
        let mut schema = json!({"type": "object"});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let list = |more: Value| {
        let mut schema = status(&items());
        schema["properties"]["conditions"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let with = |more: Value| {
        let mut schema = status(&items());
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let item = |field: &str, schema: Value| {
        let mut items = items();
        items["properties"][field] = schema;
        status(&items)
    };
    let of_items = |more: Value| {
        let mut items = items();
        items.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        status(&items)
    };
    let ready = json!({"properties": {"type": {"enum": ["Ready"]}}});
    let no = "has no .status.conditions";
    for (schema, expected) in [
        // The status.
        (open.clone(), ""),
        (text.clone(), "has a .status of type string: add type: object"),
        (json!({"type": "object"}), no),
        (object(json!({"properties": {"phase": text}})), no),
        (object(json!({"properties": {"phase": text}, "x-kubernetes-preserve-unknown-fields": true})), ""),
        (object(json!({"additionalProperties": false})), no),
        (object(json!({"additionalProperties": true})), "keeps no fields of conditions in .status: declare a list"),
        (
            object(json!({"additionalProperties": text})),
            "has in .status fields of type string alone, no list: declare a list of conditions in properties, in the place",
        ),
        (
            object(json!({"additionalProperties": {"type": "object", "properties": {"a": text}}})),
            "fields of type object alone",
        ),
        (object(json!({"additionalProperties": open})), "fields of type object alone"),
        (object(json!({"additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}})), ""),
        (object(json!({"additionalProperties": {"type": "array", "items": text}})), "has no field type in the items"),
        (object(json!({"additionalProperties": {"type": "array", "items": items()}})), ""),
        (with(json!({"required": ["phase"]})), "requires phase in .status: until another writer"),
        (with(json!({"required": ["conditions"]})), ""),
        (
            with(json!({"oneOf": [{"required": ["ready"]}, {"required": ["failed"]}]})),
            "takes no .status with conditions alone, by its oneOf",
        ),
        (with(json!({"anyOf": [{"required": ["ready"]}, {"required": ["conditions"]}]})), ""),
        (with(json!({"minProperties": 2})), "takes no .status with conditions alone, by its minProperties"),
        // The list.
        (object(json!({"properties": {"conditions": text}})), "has a .status.conditions that is no list"),
        (
            object(json!({"properties": {"conditions": object(json!({"additionalProperties": items()}))}})),
            "that is no list",
        ),
        (object(json!({"properties": {"conditions": {"x-kubernetes-preserve-unknown-fields": true}}})), ""),
        (object(json!({"properties": {"conditions": {"additionalProperties": true}}})), "that is no list"),
        (list(json!({"maxItems": 1})), "allows 1 of the 2 conditions"),
        (list(json!({"maxItems": 8})), ""),
        (list(json!({"not": {"items": ready}})), ""),
        (list(json!({"items": text})), "has no field type in the items"),
        // Its items.
        (status(&open), ""),
        (status(&object(json!({"additionalProperties": true}))), ""),
        (status(&object(json!({"additionalProperties": text}))), "has a field observedGeneration of type string"),
        (of_items(json!({"required": ["type", "severity"]})), "requires severity in the items"),
        (
            of_items(json!({"oneOf": [ready, {"properties": {"type": {"enum": ["Stalled"]}}}]})),
            "condition of the programs in .status.conditions, by its items.oneOf: correct it at .spec.versions[name=v1]",
        ),
        (of_items(json!({"anyOf": [ready, {"required": ["observedGeneration"]}]})), ""),
        (of_items(json!({"not": {"required": ["lastTransitionTime"]}})), "by its items.not"),
        (
            item("type", json!({"type": "string", "enum": ["Ready"]})),
            "does not take driftObserved, driftCorrected as type",
        ),
        (
            item("reason", json!({"type": "string", "allOf": [{"pattern": "^[A-Z]"}, {"maxLength": 4}]})),
            "by its items.properties.reason.allOf",
        ),
        (item("message", json!({"type": "integer"})), "has a field message of type integer"),
    ] {
        let document = document(&schema);
        let schema_of_kind = Schema { document: &document, kind: &kind() };
        let mut said = schema_of_kind.problems(Advice::default());
        said.extend(schema_of_kind.doubts(Advice::default()));
        let said = said.join("; ");
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{schema}: {said}");
    }
}

#[test]
fn a_generation_that_is_required_and_not_declared_is_foreign() {
    let mut tagged = items();
    tagged["properties"].as_object_mut().unwrap().remove("observedGeneration");
    tagged["required"] = json!(["type", "observedGeneration"]);
    let document = document(&status(&tagged));
    let said = Schema { document: &document, kind: &kind() }.problems(OBSERVES).join("; ");
    assert!(said.contains("requires observedGeneration in the items"), "{said}");
}
