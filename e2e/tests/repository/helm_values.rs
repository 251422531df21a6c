//! docs/reference/helm-values.md and the README of the chart list its values, and the schema knows the same ones.

use std::collections::BTreeSet;
use std::fs;

use drift_language::json_schema;
use serde_json::Value;

use crate::manual::WRITE;
use crate::root;

const VALUES: &str = "charts/drift-poller/values.yaml";
const SCHEMA: &str = "charts/drift-poller/values.schema.json";
/// Begins the line of the schema that holds the schema of a target.
const TARGET: &str = "    \"target\": ";

/// The pages that list the values.
const PAGES: [(&str, &str); 2] =
    [("docs/reference/helm-values.md", HEAD), ("charts/drift-poller/README.md", HEAD_OF_THE_CHART)];

/// The text above the table in the README of the chart, which must hold without the repository.
const HEAD_OF_THE_CHART: &str = "# drift-poller

Detects and repairs drift between Kubernetes objects and the external systems that they describe. drift-poller reads
the external system and sets the condition `driftObserved`. drift-controller corrects it.

Give the chart a namespace of its own, because its NetworkPolicies deny all other traffic there. Begin without the
controller: nothing has the right to correct then.

```console
$ helm install drift CHART -n drift-system --create-namespace \\
    --set images.registry=registry.example --set controller.enabled=false
$ kubectl drift rbac -f targets/ -f crds/ --observe-only -o helm-values > rights.yaml
$ helm upgrade drift CHART -n drift-system --reset-then-reuse-values -f rights.yaml \\
    --set-file targets.dns-records=targets/dns-records.yaml
```

`CHART` is this chart. The names of the objects are fixed, so a namespace has room for one release. Before
`helm uninstall`, scale `drift-controller` to 0 and run `drift-controller release`: objects with its finalizer cannot be
deleted without it.

On OpenShift, let the security context constraint `restricted-v2` choose the ids:

```yaml
poller: {podSecurityContext: {runAsUser: null, runAsGroup: null}}
controller: {podSecurityContext: {runAsUser: null, runAsGroup: null}}
```

## Values

| Value | Default | Meaning |
|---|---|---|
";

/// The text above the table in the reference.
const HEAD: &str = "# Helm values

The values of the chart in `charts/drift-poller`. [Install](../guides/install.md#helm) shows how to use it. A wrong
value, or one that does not exist, is an error that names its place:

```console
$ helm template drift charts/drift-poller --set poller.replicas=two
Error: values don't meet the specifications of the schema(s) in the following chart(s):
drift-poller:
- at '/poller/replicas': got string, want integer
```

| Value | Default | Meaning |
|---|---|---|
";

/// A value that has a comment.
struct Row {
    path: Vec<String>,
    meaning: String,
}

/// The values with a comment, in their order. A blank line ends a comment that belongs to no value.
fn rows(text: &str) -> Vec<Row> {
    let (mut rows, mut path, mut comment) = (Vec::new(), Vec::<(usize, String)>::new(), Vec::new());
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some(words) = line.trim_start().strip_prefix("# ") {
            comment.push(words);
        } else if let Some((key, _)) = line.trim_start().split_once(':') {
            path.retain(|(outer, _)| *outer < indent);
            path.push((indent, key.to_owned()));
            if !comment.is_empty() {
                let path = path.iter().map(|(_, key)| key.clone()).collect();
                rows.push(Row { path, meaning: comment.join(" ") });
            }
            comment.clear();
        } else {
            comment.clear();
        }
    }
    rows
}

fn page(head: &str, rows: &[Row], defaults: &Value) -> String {
    let mut page = head.to_owned();
    for row in rows {
        let default = defaults.pointer(&format!("/{}", row.path.join("/")));
        let default = default.unwrap_or_else(|| panic!("{:?} has no default", row.path));
        page.push_str(&format!("| `{}` | `{default}` | {} |\n", row.path.join("."), row.meaning.replace('|', "\\|")));
    }
    page
}

/// Adds the values that a schema has, without those that only group others.
fn leaves(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    match schema["properties"].as_object() {
        Some(properties) => properties.iter().for_each(|(key, below)| leaves(below, &format!("{path}.{key}"), found)),
        None => drop(found.insert(path.trim_start_matches('.').to_owned())),
    }
}

fn file(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The schema with that of a target as it is now. A line, because nobody reads it there, and without descriptions, because
/// each release of the chart stores it in a Secret.
fn with_targets(schema: &str) -> String {
    let mut target = json_schema();
    drop_descriptions(&mut target);
    target.as_object_mut().unwrap().remove("$schema");
    let line = |line: &str| match line.starts_with(TARGET) {
        true => format!("{TARGET}{target},\n"),
        false => format!("{line}\n"),
    };
    schema.lines().map(line).collect()
}

fn drop_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A property of that name is a schema.
            fields.retain(|key, field| key != "description" || !field.is_string());
            fields.values_mut().for_each(drop_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_descriptions),
        _ => {}
    }
}

#[test]
fn the_pages_of_helm_values_are_current() {
    let text = file(VALUES);
    let (rows, defaults) = (rows(&text), serde_saphyr::from_str(&text).unwrap());
    for (path, head) in PAGES {
        let expected = page(head, &rows, &defaults);
        if std::env::var_os(WRITE).is_some() {
            fs::write(root().join(path), &expected).unwrap();
        }
        assert!(file(path) == expected, "{path} is old: {WRITE}=1 cargo test --test repository writes it anew");
    }
}

#[test]
fn the_values_schema_has_the_schema_of_targets() {
    let expected = with_targets(&file(SCHEMA));
    if std::env::var_os(WRITE).is_some() {
        fs::write(root().join(SCHEMA), &expected).unwrap();
    }
    assert!(expected.contains(TARGET) && file(SCHEMA) == expected, "{SCHEMA} is old: {WRITE}=1 writes it anew");
}

#[test]
fn schema_and_comments_know_the_same_helm_values() {
    let mut schema: Value = serde_json::from_str(&file(SCHEMA)).unwrap();
    let image = schema["definitions"]["image"].clone();
    for program in ["poller", "controller"] {
        schema["properties"]["images"]["properties"][program] = image.clone();
    }
    let mut known = BTreeSet::new();
    leaves(&schema, "", &mut known);
    // Helm adds it for subcharts.
    known.remove("global");
    let explained: BTreeSet<String> = rows(&file(VALUES)).iter().map(|row| row.path.join(".")).collect();
    assert_eq!(explained, known);
}
