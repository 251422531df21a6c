use drift_language::manifests_of;
use serde_json::{Value, json};

use super::definition::Definition;
use super::document::draft;
use super::sample_url::parse_address;

mod foreign_kinds;

/// A definition of the kind `Pool` with this schema of its spec, and without a status.
fn bare_definition(spec: &str) -> Value {
    let text = format!(
        "{{kind: CustomResourceDefinition, spec: {{group: g.example, scope: Namespaced, names: {{kind: Pool, plural: pools}}, \
         versions: [{{name: v1, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{{spec}}}}}}}}}}}]}}}}"
    );
    manifests_of(&text).remove(0)
}

/// The same with a status that keeps everything.
fn definition(spec: &str) -> Value {
    let mut definition = bare_definition(spec);
    let version = &mut definition["spec"]["versions"][0];
    version["subresources"] = json!({"status": {}});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = status;
    definition
}

fn drafted(spec: &str, answer: &Value, url: Option<&str>) -> Result<String, String> {
    let definition = Definition::find(&[definition(spec)], "pool", "crd.yaml").map_err(|error| error.to_string())?;
    let url = url.map(parse_address).transpose()?;
    draft(&definition, answer, url.as_ref())
}

#[test]
fn fields_are_matched_by_name_and_type() {
    for (spec, answer, expected) in [
        ("required: [a], properties: {a: {type: string}}", json!({"a": "x"}), r#"      a: "${self.spec.a}""#),
        ("properties: {a: {type: string}}", json!({"a": null}), r#"      a: "${self.spec.?a}""#),
        ("properties: {a: {type: string, default: x}}", json!({"a": "x"}), r#"      a: "${self.spec.a}""#),
        // Case and separators do not count.
        (
            "properties: {maxConnections: {type: integer}}",
            json!({"max_connections": 1}),
            r#"      max_connections: "${self.spec.?maxConnections}""#,
        ),
        ("properties: {a-b: {type: integer}}", json!({"AB": 1}), r#"      AB: "${self.spec[?'a-b']}""#),
        // Types.
        ("required: [a], properties: {a: {type: integer}}", json!({"a": "1"}), r#"      a: "${string(self.spec.a)}""#),
        ("required: [a], properties: {a: {type: string}}", json!({"a": 1}), r#"      a: "${int(self.spec.a)}""#),
        ("required: [a], properties: {a: {type: string}}", json!({"a": 0.5}), r#"      a: "${double(self.spec.a)}""#),
        (
            "properties: {a: {type: boolean}}",
            json!({"a": "true"}),
            r#"      a: "${self.spec.?a.optMap(value, string(value))}""#,
        ),
        ("properties: {a: {x-kubernetes-int-or-string: true}}", json!({"a": "1"}), r#"      a: "${self.spec.?a}""#),
        (
            "properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: integer}}}",
            json!({"a": ["1"]}),
            "      a: \"${self.spec.?a.optMap(value, value.map(item, string(item)))}\"\n    rules:\n    - {path: /a, list: set}",
        ),
        (
            "properties: {a: {type: object, additionalProperties: {type: string}}}",
            json!({"a": {"x": "y"}}),
            r#"      a: "${self.spec.?a}""#,
        ),
        // Objects around the fields, in the answer, in the kind, and in both.
        (
            "properties: {ttl: {type: integer}, size: {type: integer}}",
            json!({"ttl": 1, "data": {"attributes": {"ttl": 2, "size": 3}}}),
            "      observed: \"${response.body.data.attributes}\"\n  compare:",
        ),
        (
            "properties: {pool: {type: object, properties: {size: {type: integer, default: 1}}}}",
            json!({"size": 1}),
            r#"      size: "${self.spec.?pool.?size}""#,
        ),
        (
            "properties: {pool: {type: object, properties: {size: {type: integer}}}}",
            json!({"pool": {"size": 1}}),
            "      pool:\n        size: \"${self.spec.?pool.?size}\"",
        ),
    ] {
        let text = drafted(spec, &answer, None).unwrap();
        assert!(text.contains(expected), "{spec}: {text}");
    }
}

#[test]
fn fields_without_a_match_are_named() {
    let spec = "required: [a], properties: {a: {type: string}, b: {type: string}, c: {type: boolean}, \
                items: {type: array, items: {type: object}}, sshKey: {type: string}, adminPassword: {type: string}}";
    let answer = json!({"a": "x", "c": 1, "items": [], "sshKey": "k", "id": 7, "createdAt": "x", "note": "y"});
    let text = drafted(spec, &answer, None).unwrap();
    for expected in [
        "# - spec.adminPassword: looks like a secret\n",
        "# - spec.b: the answer has no field of this name\n",
        "# - spec.c: true or false in the kind, a number in the answer\n",
        "# - spec.items: a list of objects or lists: write it by hand\n",
        "# - spec.sshKey: looks like a secret\n",
        "# Fields of the answer that the server seems to set: createdAt, id\n",
        "# Fields of the answer that the kind does not have: note\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn parts_of_the_address_become_templates() {
    let spec =
        "required: [zone, size], properties: {zone: {type: string}, size: {type: integer}, tier: {type: string}}";
    let answer = json!({"zone": "a/b", "size": 3, "tier": "free", "id": "p-1"});
    for (url, address, identity) in [
        ("https://h/zones/a%2Fb", "https://h/zones/${self.spec.zone}", "${self.spec.zone}"),
        (
            "https://h:8443/v1/a%2Fb/p-1?size=3&x=y",
            "https://h:8443/v1/${self.spec.zone}/${self.metadata.name}?size=${self.spec.size}&x=y",
            "${self.spec.zone} ${self.spec.size} ${self.metadata.name}",
        ),
        ("https://h/zones/a%2Fb/settings", "https://h/zones/${self.spec.zone}/settings", "${self.spec.zone}"),
        ("https://h/free/other", "https://h/${self.spec.tier}/other", "${self.spec.tier}"),
        ("https://h/rrset?zone=a%2Fb", "https://h/rrset?zone=${self.spec.zone}", "${self.spec.zone}"),
        ("https://h", "https://h/${self.metadata.name}", "${self.metadata.name}"),
        ("https://h/find?name=other&all=1", "https://h/find?name=${self.metadata.name}&all=1", "${self.metadata.name}"),
        ("https://h/other?all=1", "https://h/${self.metadata.name}?all=1", "${self.metadata.name}"),
    ] {
        let text = drafted(spec, &answer, Some(url)).unwrap();
        let lines = [format!("url: \"{address}\"\n"), format!("identity: \"{identity}\"\n")];
        assert!(lines.iter().all(|line| text.contains(line)), "{url}: {text}");
        assert_eq!(text.contains("the answer's id,"), url.contains("p-1"), "{text}");
    }
    for (url, expected) in [
        ("https://user:pw@h/x", "contains a credential"),
        ("https://h/x?api_token=t", "contains a credential"),
        ("https://h/${self.spec.zone}", "fragment or braces"),
        ("ftp://h/x", "no address over HTTP"),
        ("h/x", "is no URL"),
    ] {
        let said = drafted(spec, &answer, Some(url)).unwrap_err();
        assert!(said.contains(expected), "{url}: {said}");
    }
}

#[test]
fn a_field_in_the_address_is_required() {
    let spec = "properties: {uid: {type: string}, url: {type: string}, at: {type: object, properties: {role: {type: string}}}}";
    let answer = json!({"url": "x", "role": "bob", "dashboard": {"uid": "u-1"}});
    for (url, address, requirement) in [
        (
            "https://h/roles/bob",
            "https://h/roles/${self.spec.at.role}",
            r#"{that: "${has(self.spec.at) && has(self.spec.at.role)}", else: "spec.at.role is needed"}"#,
        ),
        // The answer has it elsewhere than where the other fields are.
        (
            "https://h/uid/u-1",
            "https://h/uid/${self.spec.uid}",
            r#"{that: "${has(self.spec.uid)}", else: "spec.uid is needed"}"#,
        ),
    ] {
        let text = drafted(spec, &answer, Some(url)).unwrap();
        for expected in [format!("url: \"{address}\"\n"), format!("  require:\n  - {requirement}\n")] {
            assert!(text.contains(&expected), "{expected}: {text}");
        }
        assert!(!text.contains("which the kind does not have"), "{text}");
    }
}

#[test]
fn conditions_that_lack_a_field_are_completed() {
    let mut definition = definition("properties: {name: {type: string}}");
    let conditions_with = |fields: &[&str]| {
        let fields: serde_json::Map<_, _> =
            fields.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": {"conditions": {"type": "array", "items": {"type": "object", "properties": fields}}}})
    };
    for (fields, expected) in [
        (&["type", "status", "reason", "message", "lastTransitionTime"][..], None),
        (
            &["type", "status", "reason", "lastTransitionTime"],
            Some(".properties.status.properties.conditions.items.properties:\n#   message: {type: string}\n"),
        ),
    ] {
        let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        schema["status"] = conditions_with(fields);
        let found = Definition::find(&[definition.clone()], "pool", "crd.yaml").unwrap();
        let text = draft(&found, &json!({"name": "x"}), None).unwrap();
        assert_eq!(text.contains(", conditions: Report}"), expected.is_some(), "{text}");
        assert!(
            text.contains(expected.unwrap_or("kubectl get")) && !text.contains("#   lastTransitionTime:"),
            "{text}"
        );
    }
}

#[test]
fn a_list_is_drafted_by_one_of_its_items() {
    let spec = "required: [slug, size], properties: {slug: {type: string}, size: {type: integer}}";
    let item = json!({"id": "p-1", "slug": "a", "size": 1});
    let wrapped = json!({"id": "p-1", "slug": "a", "data": {"size": 1}});
    for (answer, url, expected) in [
        (
            json!([item]),
            Some("https://h/pools"),
            "url: \"https://h/pools\"\n      each: \"${response.body}\"\n      key: \"${item.slug}\"\n",
        ),
        (
            json!({"items": [item], "next": null}),
            None,
            "each: \"${response.body.items}\"\n      key: \"${item.slug}\"\n",
        ),
        (json!([wrapped]), None, "key: \"${item.slug}\"\n"),
        (
            json!([item]),
            Some("https://h/pools"),
            "#   create: {method: POST, url: \"https://h/pools\", body: \"${desired}\"}\n",
        ),
        (
            json!([item]),
            Some("https://h/pools"),
            "#   delete: {method: DELETE, url: \"https://h/pools/${self.spec.slug}\"}\n",
        ),
    ] {
        let text = drafted(spec, &answer, url).unwrap();
        assert!(text.contains(expected) && text.contains("identity: \"${self.spec.slug}\"\n"), "{expected}: {text}");
    }
    let unnamed = drafted("properties: {size: {type: integer}}", &json!([{"size": 1}]), None).unwrap();
    assert!(unnamed.contains("key: \"CHANGE-ME\"\n"), "{unnamed}");
}

#[test]
fn parts_that_all_objects_share_are_named() {
    let spec = "required: [slug, zoneId], properties: {slug: {type: string}, zoneId: {type: string}}";
    let item = json!({"slug": "a", "size": 1});
    let asked = "      # Each object is read with `z1` of the sample address. Is it spec.zoneId?\n";
    let shared = |parts: &str| {
        format!("      # The same for every object: {parts}. Write a field in the place of what differs.\n")
    };
    for (answer, url, expected) in [
        (json!([item]), "https://h/zones/z1/pools", vec![asked.to_owned()]),
        (item.clone(), "https://h/zones/z1/pools/a?all=1", vec![asked.to_owned(), shared("`zones`, `pools`, `all=1`")]),
        (item.clone(), "https://h/a", Vec::new()),
    ] {
        let text = drafted(spec, &answer, Some(url)).unwrap();
        assert!(expected.iter().all(|line| text.contains(line)), "{url}: {text}");
        let lines =
            text.lines().filter(|line| line.contains("# The same for") || line.contains("# Each object is read"));
        assert_eq!(lines.count(), expected.len(), "{url}: {text}");
    }
}

#[test]
fn missing_parts_of_the_definition_are_proposed() {
    let named = |definition: Value| {
        let definition = Definition::find(&[definition], "pool", "crd.yaml").unwrap();
        draft(&definition, &json!({"name": "x"}), None).unwrap()
    };
    let spec = "required: [name], properties: {name: {type: string}}";
    let text = named(bare_definition(spec));
    for expected in [
        "at\n# .spec.versions[name=v1]:\n#   subresources: {status: {}}\n",
        "at\n# .spec.versions[name=v1].schema.openAPIV3Schema.properties:\n#   status:\n#     type: object\n#     properties:\n",
        "#       conditions:\n#         type: array\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let complete = |spec: &str| named(definition(spec));
    for expected in [
        "at\n# .spec.versions[name=v1]:\n#   additionalPrinterColumns:\n#   - {name: Drift, type: string, jsonPath: ",
        ".properties.spec.properties.name:\n#   minLength: 1\n#   maxLength: 253\n#   x-kubernetes-validations:\n#   - {rule: self == oldSelf,",
    ] {
        assert!(complete(spec).contains(expected), "{expected}: {text}");
        assert!(!text.contains(expected), "{expected}: {text}");
    }
    let bounded = "required: [name], properties: {name: {type: string, enum: [a], x-kubernetes-validations: [{rule: self == oldSelf}]}}";
    assert!(!complete(bounded).contains("cannot be changed"), "{}", complete(bounded));
}

#[test]
fn a_kind_without_fields_has_no_draft() {
    for (spec, expected) in [
        ("type: object", "CustomResourceDefinition pools.g.example has no schema of .spec in version v1: declare"),
        (
            "properties: {a: {type: string}}",
            "the kind has for example spec.a, the answer b; give the answer for one resource",
        ),
    ] {
        let said = drafted(spec, &json!({"b": "x"}), None).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
    let said = Definition::find(&[definition("type: object")], "cow", "crd.yaml").unwrap_err().to_string();
    assert_eq!(said, "no CustomResourceDefinition in crd.yaml defines the kind cow: they define Pool");
}
