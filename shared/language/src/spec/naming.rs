//! `let`, `base`, `allowHosts` and step names: parts that a target writes once and uses in several places.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::cel::{Scope, Site, TextTemplate, UrlTemplate, is_word};
use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::section::{Key, Leaf, Schema, Section, list, literal, text};
use crate::spec::destinations::allow_hosts;
use crate::yaml::{Fields, Node, Reader, all};
use drift_api::object::field_paths::FieldPaths;

/// Reads `identity`, a template.
pub(crate) fn read_identity(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<TextTemplate> {
    let text = reader.text(node, place)?;
    if text.is_empty() {
        let message =
            format!("{place}: it is empty; write what tells the objects apart, such as \"${{self.metadata.name}}\"");
        return reader.refuse(node.at, message);
    }
    let site = reader.site(place, Scope::Identity);
    reader.compiled(node, &site, TextTemplate::parse(text, &site))
}

/// Maximum entries of `notIdentifying`. More entries would mean that the identity is wrong.
const MAX_NOT_IDENTIFYING: usize = 20;
/// Fields of an object below which an entry may be. Entries have no `self.` prefix, which would look like an
/// expression without `${…}`.
const FIRST: [&str; 2] = ["spec", "metadata"];

/// The fields of `notIdentifying`.
pub(crate) fn not_identifying() -> impl Leaf<Value = FieldPaths> {
    list(1..=MAX_NOT_IDENTIFYING, literal(parse_field)).map(|paths: Vec<Vec<String>>| {
        let mut fields = FieldPaths::default();
        paths.into_iter().for_each(|path| fields.insert(path));
        fields
    })
}

fn parse_field(text: &str) -> Result<Vec<String>, String> {
    let path: Vec<String> = text.split('.').map(str::to_owned).collect();
    if !FIRST.contains(&&*path[0]) || path.iter().any(String::is_empty) {
        return Err(format!("`{text}` is no field; write it such as spec.format"));
    }
    Ok(path)
}

/// Maximum entries of `let`.
const MAX_LETS: usize = 50;
/// Maximum characters of a step's name.
const MAX_STEP_NAME_CHARS: usize = 63;

/// `base`, `let` and `allowHosts`. Templates that are read later know them.
pub(crate) struct Declared;

impl Section for Declared {
    type Value = ();
    type Context = ();

    fn names((): ()) -> Vec<&'static str> {
        vec!["base", "let", "allowHosts"]
    }

    fn keys((): ()) -> Vec<Key> {
        let key = |name, description, schema| Key { name, description, is_required: false, schema };
        vec![
            key("base", "A literal URL. A url that begins with / continues it.", Schema::TEXT),
            key("let", "Names for expressions: {zone: \"${self.spec.zone}\"}. At most 50.", Schema::MAP),
            key("allowHosts", "Permitted hosts: api.example:8443, *.example, *. 1 to 100.", allow_hosts().schema()),
        ]
    }

    /// Fails only if no template can be read. An invalid `base` or `allowHosts` is not reported again at each of its
    /// uses.
    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
        let base = reader.optional(fields, "base", read_base);
        let hosts =
            reader.optional(fields, "allowHosts", |reader, node, place| allow_hosts().read(reader, node, place));
        let lets = reader.optional(fields, "let", read_lets);
        let is_valid = base.is_some() && hosts.is_some();
        let any_host = || HostPattern::parse("*").map(|any| Arc::new(HostPatterns::new(vec![any])));
        reader.names_mut().base = base.unwrap_or_else(|| Some("https://base.invalid".to_owned()));
        reader.names_mut().hosts = hosts.filter(|_| is_valid).unwrap_or_else(any_host);
        lets.map(drop)
    }
}

/// Reads a literal URL without a query. A trailing `/` is ignored.
fn read_base(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    reader.url_is_no_number(node, place)?;
    let text = reader.literal(node, place)?;
    if text.contains(['?', '#']) {
        return reader.refuse(node.at, format!("{place}: a query cannot be continued; write it where it is used"));
    }
    let site = Site::new(place, Scope::Object);
    reader.compiled(node, &site, UrlTemplate::parse(text, &site))?;
    Some(text.trim_end_matches('/').to_owned())
}

fn read_lets(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<()> {
    let fields = reader.any_fields(node, place)?;
    if fields.entries().len() > MAX_LETS {
        return reader.refuse(node.at, format!("{place}: at most {MAX_LETS} names"));
    }
    let texts = fields.entries().iter().map(|entry| {
        let text = reader.text(&entry.value, &fields.place(&entry.key))?;
        Some((entry.key.as_str(), text))
    });
    let texts: Vec<_> = all(texts)?;
    let Err(errors) = reader.names_mut().define(&texts) else { return Some(()) };
    for (position, errors) in errors {
        let entry = &fields.entries()[position];
        reader.refuse_template::<()>(&entry.value, &fields.place(&entry.key), errors);
    }
    None
}

/// The name of a step, by which later steps read its response.
pub(crate) fn step_name() -> impl Leaf<Value = String> {
    text(|reader: &mut Reader<'_>, node: &Node, place: &str| {
        let name = reader.literal(node, place)?;
        if !is_word(name) || name.starts_with('_') || name.len() > MAX_STEP_NAME_CHARS {
            let message = format!("{place}: `{name}` is no name: use letters, digits and _, a letter first");
            return reader.refuse(node.at, message);
        }
        if reader.names_mut().steps.iter().any(|known| known == name) {
            return reader.refuse(node.at, format!("{place}: two steps are called `{name}`"));
        }
        Some(name.to_owned())
    })
}

/// Steps whose answers no other step sees. Two with one name could not be distinguished.
pub(crate) fn unanswered_steps<T>(
    length: RangeInclusive<usize>,
    step: impl Leaf<Value = T>,
) -> impl Leaf<Value = Vec<T>> {
    step.listed(move |step, reader, node, place| {
        let mut known = HashSet::new();
        reader.list(node, place, length.clone(), |reader, item, place| {
            let named = item.get("name").and_then(|node| Some((node, node.as_text()?)));
            match named.filter(|(_, name)| !known.insert((*name).to_owned())) {
                Some((node, name)) => reader.refuse(node.at, format!("{place}.name: two steps are called `{name}`")),
                None => step.read(reader, item, place),
            }
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::*;
    use serde_json::json;

    const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${owner}"
  base: https://dns.example/api/
  let:
    owner: "${self.metadata.namespace + '.' + short}"
    short: "${self.metadata.name}"
    found: "${response.body.items.filter(each, each.name == short)}"
  read: {http: {url: "/zones/${owner}?q=${short}", observed: "${found[0]}"}}
  compare: {desired: {a: "${self.spec.a}"}}
"#;

    fn parse(text: &str) -> Result<Target, Vec<String>> {
        crate::fixtures::parsed(text)
    }

    #[test]
    fn a_name_stands_for_its_expression_wherever_it_is_used() {
        let target = parse(TEXT).unwrap();
        let object = json!({"metadata": {"name": "www", "namespace": "n"}, "spec": {"a": 1}});
        assert_eq!(target.identity_of(&object).unwrap(), "n.www");
        let read = target.read.http().unwrap();
        assert_eq!(read.render(&object).unwrap().url.as_str(), "https://dns.example/api/zones/n.www?q=www");
        let response = json!({"body": {"items": [{"name": "x"}, {"name": "www", "a": 1}]}});
        let variables = cel::Variables { response: Some(&response), ..cel::Variables::of_object(&object) };
        assert_eq!(read.observed.render(&variables).unwrap(), json!({"name": "www", "a": 1}));
        let paths = [vec!["metadata", "namespace"], vec!["metadata", "name"]];
        for path in paths.map(|path| path.into_iter().map(str::to_owned).collect::<Vec<_>>()) {
            assert!(format!("{:?}", target.poll_fields).contains(&path[1]), "{path:?} is kept");
        }
    }

    #[test]
    fn an_edited_name_is_an_edited_target() {
        let hashes = |text: &str| parse(text).map(|target| (target.verdict_hash, target.correct_hash)).unwrap();
        let other = TEXT.replace("${self.metadata.name}", "${self.metadata.uid}");
        assert_ne!(hashes(TEXT).0, hashes(&other).0);
        assert_ne!(hashes(TEXT).1, hashes(&other).1);
        assert_ne!(hashes(TEXT), hashes(&TEXT.replace("/api/", "/v2/")));
    }

    #[test]
    fn a_mistyped_name_is_told_with_its_nearest() {
        for (written, expected) in [
            ("ownr", "7:16 identity: unknown variable `ownr`: did you mean `owner`?"),
            (
                "name",
                "7:16 identity: unknown variable `name`; known: self, found, owner, short. Texts are written in quotes",
            ),
        ] {
            let text = TEXT.replace("identity: \"${owner}\"", &format!("identity: \"${{{written}}}\""));
            assert_eq!(parse(&text).map(drop), Err(vec![expected.to_owned()]));
        }
    }

    #[test]
    fn each_mistake_is_told_at_its_place() {
        let table: &[(&str, &str, &[&str])] = &[
            (
                "short: \"${self.metadata.name}\"",
                "short: \"${owner}\"",
                &["10:15 let.owner: these names stand for each other: owner → short → owner"],
            ),
            (
                "short: \"${self.metadata.name}\"",
                "short: www",
                &["11:12 let.short: write one \"${…}\" and nothing around it"],
            ),
            (
                "short: \"${self.metadata.name}\"",
                "short: \"${self.metadata.name}\"\n    response: \"${1}\"",
                &["12:16 let.response: `response` means something in the language already; give it another name"],
            ),
            (
                "short: \"${self.metadata.name}\"",
                "short: \"${slef.metadata.name}\"",
                &["11:15 let.short: unknown variable `slef`: did you mean `self`?"],
            ),
            (
                "identity: \"${owner}\"",
                "identity: \"${found[0].name}\"",
                &["7:16 identity: `response` does not exist here; known: self"],
            ),
            (
                "base: https://dns.example/api/",
                "base: \"https://${self.metadata.name}/\"",
                &["8:9 base is literal: no ${…} here"],
            ),
            (
                "  base: https://dns.example/api/\n",
                "",
                &["12:23 read.http.url: it begins with `/`, and there is no `base` that it continues"],
            ),
            (
                "base: https://dns.example/api/",
                "base: https://dns.example/api?x=1",
                &["8:9 base: a query cannot be continued; write it where it is used"],
            ),
            (
                "desired: {a: \"${self.spec.a}\"}",
                "desired: {a: \"${found[0].a}\"}",
                &["14:29 compare.desired.a: `response` does not exist here; known: self"],
            ),
        ];
        for (written, mistaken, expected) in table {
            let text = TEXT.replace(written, mistaken);
            assert_ne!(text, TEXT, "{written}");
            assert_eq!(parse(&text).unwrap_err(), *expected, "{mistaken}");
        }
    }
}
