//! Finds target documents in a text of manifests: plain documents, or values of ConfigMaps, among other manifests.
//!
//! These are the usual forms: a file for each, a folder of ConfigMaps, the output of kustomize. Each document keeps the
//! mapping from its positions to the whole text.

use std::sync::Arc;

use serde_json::Value;

use crate::document::places::place_within;
use crate::yaml;
use crate::yaml::{Content, Fault, Node, Position};
use drift_api::names::{GROUP, REPORT_KIND, TARGET_KIND, TARGETS_LABEL, TRUE};

/// Separates YAML documents.
const SEPARATOR: &str = "---";

/// A target document and its position in the text.
#[derive(Clone, Debug)]
pub struct FoundDocument {
    /// The ConfigMap that holds it. `None` for a plain document.
    pub holder: Option<Holder>,
    /// The document text.
    pub text: String,
    written: Written,
}

/// The ConfigMap that holds a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The ConfigMap's name.
    pub config_map: String,
    /// The ConfigMap's namespace, if written.
    pub namespace: Option<String>,
    /// The line and column of the namespace in the whole text, or of the deepest key on the way to it.
    pub namespace_at: (usize, usize),
    /// The data key.
    pub key: String,
    /// The label by which the programs find it.
    pub label: HolderLabel,
}

/// The label of a ConfigMap with targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderLabel {
    /// As the programs need it.
    Set,
    /// `true` without quotes at this line and column of the whole text: YAML reads a boolean, and the API server refuses it.
    Boolean((usize, usize)),
    /// Missing, or with another value; the line and column of the deepest key on the way to it.
    Missing((usize, usize)),
}

/// The position of a document.
#[derive(Clone, Debug)]
struct Written {
    /// Lines of the whole text before this part.
    lines_before: usize,
    /// The part and the value in it. `None` if the part is the document.
    value: Option<(Arc<str>, Node)>,
}

impl FoundDocument {
    /// Returns an error if the value of its key is not a text.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        let (holder, (_, value)) = (self.holder.as_ref()?, self.written.value.as_ref()?);
        let is_document = matches!(value.content, Content::Text(_) | Content::Null);
        let key = &holder.key;
        (!is_document).then(|| format!("data.{key} is {}, not a text: write `{key}: |`", value.kind()))
    }

    /// Converts a position in the document to one in the whole text, line and column, 1-based. If the line is unknown
    /// or escapes make it uncertain, returns the beginning of the document.
    #[must_use]
    pub fn place(&self, line: usize, column: usize) -> (usize, usize) {
        let Position { line, column } = match &self.written.value {
            None => Position { line: line.max(1), column: column.max(1) },
            Some((part, node)) if line > 0 => node.locate(part, offset_of(&self.text, line, column)),
            Some((_, node)) => node.at,
        };
        (line + self.written.lines_before, column)
    }
}

/// The offset in characters of a line and column in a text.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(|line| line.chars().count());
    before.sum::<usize>() + column.saturating_sub(1)
}

/// Returns the target documents of a text, in order. Invalid YAML that mentions targets counts as one, so that parsing
/// it reports the error.
#[must_use]
pub fn find_documents(text: &str) -> Vec<FoundDocument> {
    parts(text).into_iter().flat_map(|(lines_before, part)| documents_of(lines_before, &part.into())).collect()
}

/// The YAML documents of a text, each with the number of lines before it.
fn parts(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(0, String::new())];
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content =
            line.strip_prefix(SEPARATOR).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\r', '\n']));
        if let Some(content) = content {
            // Keeps the columns of content on the same line.
            parts.push((number, format!("   {content}")));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

fn documents_of(lines_before: usize, part: &Arc<str>) -> Vec<FoundDocument> {
    let plain =
        || FoundDocument { holder: None, text: part.to_string(), written: Written { lines_before, value: None } };
    match yaml::parse(part) {
        Ok(root) if is_target(&root) => vec![plain()],
        Ok(root) => {
            let mut found = Vec::new();
            collect_values(&root, lines_before, part, &mut found);
            found
        }
        Err(_) if mentions_targets(part) => vec![plain()],
        Err(_) => Vec::new(),
    }
}

/// A YAML document that cannot be read and mentions no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenYaml {
    /// Line and column of the mistake in the whole text, 1-based.
    pub place: (usize, usize),
    /// The mistake.
    pub mistake: String,
}

/// Returns the YAML documents of a text that [`find_documents`] and [`manifests_of`] skip.
#[must_use]
pub fn broken_manifests(text: &str) -> Vec<BrokenYaml> {
    let broken = |(lines_before, part): (usize, String)| {
        let Fault { at, message } = yaml::parse(&part).err().filter(|_| !mentions_targets(&part))?;
        Some(BrokenYaml { place: (at.line + lines_before, at.column), mistake: message })
    };
    parts(text).into_iter().filter_map(broken).collect()
}

/// Returns every manifest of a text as the value that kubectl would send. Lists are expanded. Invalid YAML is skipped,
/// because it is not a manifest.
#[must_use]
pub fn manifests_of(text: &str) -> Vec<Value> {
    let value = |part: String| yaml::parse(&part).ok().map(|root| root.to_json_of_manifest(&part));
    let values = parts(text).into_iter().filter_map(|(_, part)| value(part));
    let of_list = |value: Value| match value.get("items").and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![value],
    };
    values.flat_map(of_list).collect()
}

fn mentions_targets(part: &str) -> bool {
    part.contains(GROUP) || part.contains(TARGET_KIND)
}

fn is_target(root: &Node) -> bool {
    let is = |key: &str, test: &dyn Fn(&str) -> bool| root.get(key).and_then(Node::as_text).is_some_and(test);
    let is_of_group =
        is("apiVersion", &|version| version.starts_with(GROUP)) && !is("kind", &|kind| kind == REPORT_KIND);
    is("kind", &|kind| kind == TARGET_KIND) || is_of_group
}

fn label_of(manifest: &Node, lines_before: usize) -> HolderLabel {
    let path = ["metadata", "labels", TARGETS_LABEL];
    let label = path.iter().try_fold(manifest, |node, key| node.get(key));
    let place = |(line, column): (usize, usize)| (line + lines_before, column);
    match label.map(|label| (&label.content, label.at)) {
        Some((Content::Text(text), _)) if text == TRUE => HolderLabel::Set,
        Some((Content::Bool(true), at)) => HolderLabel::Boolean(place((at.line, at.column))),
        _ => HolderLabel::Missing(place(place_within(manifest, &path))),
    }
}

/// Adds the documents in a ConfigMap, and those in the ConfigMaps of a list.
fn collect_values(manifest: &Node, lines_before: usize, part: &Arc<str>, found: &mut Vec<FoundDocument>) {
    if let Some(Content::List(items)) = manifest.get("items").map(|items| &items.content) {
        items.iter().for_each(|item| collect_values(item, lines_before, part, found));
    }
    if manifest.get("kind").and_then(Node::as_text) != Some("ConfigMap") {
        return;
    }
    let metadata = |path: &[&str]| path.iter().try_fold(manifest, |node, key| node.get(key)).and_then(Node::as_text);
    let label = label_of(manifest, lines_before);
    let name = metadata(&["metadata", "name"]).unwrap_or_default();
    let namespace = metadata(&["metadata", "namespace"]);
    let (line, column) = place_within(manifest, &["metadata", "namespace"]);
    let namespace_at = (line + lines_before, column);
    let Some(Content::Map(entries)) = manifest.get("data").map(|data| &data.content) else { return };
    for entry in entries {
        let (text, mut value) = (entry.value.as_text().unwrap_or_default(), entry.value.clone());
        if matches!(value.content, Content::Map(_)) {
            value.at = entry.key_at;
        }
        if label == HolderLabel::Set || text.contains(TARGET_KIND) || is_target(&value) {
            let (config_map, namespace) = (name.to_owned(), namespace.map(str::to_owned));
            let holder = Holder { config_map, namespace, namespace_at, key: entry.key.clone(), label: label.clone() };
            let written = Written { lines_before, value: Some((part.clone(), value)) };
            found.push(FoundDocument { holder: Some(holder), text: text.to_owned(), written });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXT: &str = "# of a folder
apiVersion: v1
kind: Service
metadata: {name: s}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: targets
  labels: {driftpoller.dev/targets: \"true\"}
data:
  a.yaml: |
    kind: PollTarget

    spec:
      identity: X
  b: not yet
  quoted: \"kind: PollTarget\\nidentity: X\"
--- # plain
apiVersion: driftpoller.dev/v1
identity: X
---
broken: [
---
kind: PollTarget
broken: [
---
kind: List
items:
- kind: ConfigMap
  metadata: {name: other}
  data:
    c: 'kind: PollTarget'
    d: something else
";

    type Place = (usize, usize);

    /// Holder, and the positions of the document's beginning and of the X in it.
    fn found(text: &str) -> Vec<(String, Place, Place)> {
        let shown = |document: &FoundDocument| {
            let holder = document.holder.as_ref().map_or_else(
                || "-".to_owned(),
                |holder| format!("{}/{} {}", holder.config_map, holder.key, holder.label == HolderLabel::Set),
            );
            let line = document.text.lines().position(|line| line.contains('X')).map_or(0, |line| line + 1);
            let column = document.text.lines().find_map(|line| line.find('X')).map_or(0, |column| column + 1);
            (holder, document.place(1, 1), document.place(line, column))
        };
        find_documents(text).iter().map(shown).collect()
    }

    #[test]
    fn every_document_is_found_where_it_is_written() {
        let expected = [
            ("targets/a.yaml true", (13, 5), (16, 17)),
            ("targets/b true", (17, 6), (17, 6)),
            ("targets/quoted true", (18, 12), (18, 11)),
            ("-", (19, 1), (21, 11)),
            ("-", (24, 1), (24, 1)),
            ("other/c false", (33, 9), (33, 8)),
        ];
        let found = found(TEXT);
        let found: Vec<_> = found.iter().map(|(holder, begin, x)| (holder.as_str(), *begin, *x)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_manifest_of_ours_is_passed_over() {
        let report = "apiVersion: driftpoller.dev/v1alpha1\nkind: DriftReport\n";
        let config_map = "kind: ConfigMap\ndata: {a: b}\n";
        for text in ["", "---\n", "a: 1\n", "- 1\n", "kind: ConfigMap\n", config_map, "{{ helm }}\n", report] {
            assert!(find_documents(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn manifests_are_values_one_by_one() {
        let found = manifests_of(TEXT);
        let kinds: Vec<_> = found.iter().map(|manifest| manifest["kind"].as_str().unwrap_or("-")).collect();
        assert_eq!(kinds, ["Service", "ConfigMap", "-", "ConfigMap"], "what is broken is none");
        assert_eq!(found[3]["metadata"]["name"], "other");
    }

    /// Scalars, and what kubectl 1.36 makes of them (`kubectl label --local -f FILE a=b -o json`).
    const SCALARS: [(&str, &str); 47] = [
        ("0644", "420"),
        ("-0755", "-493"),
        ("0o17", "15"),
        ("0o8", r#""0o8""#),
        ("08", "8"),
        ("07.5", "7.5"),
        ("00", "0"),
        ("-0", "0"),
        ("0_7", "7"),
        ("0777_1", "4089"),
        ("1_000", "1000"),
        ("1__0", "10"),
        ("_1", r#""_1""#),
        ("0x1f", "31"),
        ("0X1F", "31"),
        ("0x", r#""0x""#),
        ("0b11", "3"),
        ("0b2", r#""0b2""#),
        ("1:30", r#""1:30""#),
        ("1:30:00", r#""1:30:00""#),
        ("+12", "12"),
        ("1.", "1"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("012e1", "120"),
        ("0.10", "0.1"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616.0"),
        ("~", "null"),
        ("Null", "null"),
        ("", "null"),
        ("yes", "true"),
        ("On", "true"),
        ("y", "true"),
        ("TRUE", "true"),
        ("off", "false"),
        ("n", "false"),
        ("NO", "false"),
        ("nO", r#""nO""#),
        ("2026-01-01", r#""2026-01-01""#),
        ("1.2.3", r#""1.2.3""#),
        ("'0644'", r#""0644""#),
        ("\"yes\"", r#""yes""#),
        ("!!str yes", r#""yes""#),
        ("!!str 0644", r#""0644""#),
        ("|-\n  0644", r#""0644""#),
        ("yes  # as YAML 1.1", "true"),
    ];

    #[test]
    fn scalars_of_manifests_are_those_of_kubectl() {
        for (written, expected) in SCALARS {
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(manifests_of(&format!("a: {written}\n"))[0]["a"], expected, "{written}");
            let second = format!("b: &b {written}\na: *b\n");
            if !written.starts_with(['!', '|']) {
                assert_eq!(manifests_of(&second)[0]["a"], expected, "an alias of {written}");
            }
        }
        assert_eq!(manifests_of("{y: 1, 0644: 2, 'no': 3}")[0], serde_json::json!({"true": 1, "420": 2, "no": 3}));
        assert!(manifests_of("a: .inf").is_empty(), "kubectl refuses it too");
    }
}
