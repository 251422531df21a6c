//! docs/reference/helm-values.md lists the values of the chart, and the schema knows the same ones.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::manual::WRITE;
use crate::root;

/// The text above the table.
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

fn page(rows: &[Row], defaults: &Value) -> String {
    let mut page = HEAD.to_owned();
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

#[test]
fn the_page_of_helm_values_is_current() {
    const PAGE: &str = "docs/reference/helm-values.md";
    let text = file("charts/drift-poller/values.yaml");
    let expected = page(&rows(&text), &serde_saphyr::from_str(&text).unwrap());
    if std::env::var_os(WRITE).is_some() {
        fs::write(root().join(PAGE), &expected).unwrap();
    }
    assert!(file(PAGE) == expected, "{PAGE} is old: {WRITE}=1 cargo test --test repository writes it anew");
}

#[test]
fn schema_and_comments_know_the_same_helm_values() {
    let mut schema: Value = serde_json::from_str(&file("charts/drift-poller/values.schema.json")).unwrap();
    let image = schema["definitions"]["image"].clone();
    for program in ["poller", "controller"] {
        schema["properties"]["images"]["properties"][program] = image.clone();
    }
    let mut known = BTreeSet::new();
    leaves(&schema, "", &mut known);
    // Helm adds it for subcharts.
    known.remove("global");
    let explained: BTreeSet<String> =
        rows(&file("charts/drift-poller/values.yaml")).iter().map(|row| row.path.join(".")).collect();
    assert_eq!(explained, known);
}
