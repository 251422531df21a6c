//! The text of a draft: a target with comments, and proposals for its CustomResourceDefinition.

use std::fmt::Write as _;

use drift_api::printable::printable;
use serde_json::Value;
use url::Url;

use super::address::Address;
use super::advice::proposals;
use super::definition::Definition;
use super::fields::{Field, fields_of, is_word, plain, step};
use super::matching::{AnswerField, Match, Matches};
use crate::check::document::PLACEHOLDER;

/// Characters of a line of comments.
const LINE: usize = 110;
/// Bound of the names in an error, which has to fit on a screen.
const MOST_NAMES: usize = 10;
/// Names that servers give to fields of their own.
const OF_SERVERS: [&str; 17] = [
    "id",
    "uid",
    "uuid",
    "guid",
    "etag",
    "href",
    "self",
    "link",
    "links",
    "url",
    "uri",
    "revision",
    "status",
    "state",
    "phase",
    "createdby",
    "updatedby",
];
/// Beginnings of names of such fields.
const BEGINNINGS: [&str; 6] = ["created", "creation", "updated", "modified", "lastmodified", "lastupdated"];

/// The resource of an answer, and the list that it is an item of.
struct Sample<'a> {
    resource: &'a Value,
    /// The expression of the list: `response.body.items`.
    list: Option<String>,
}

impl<'a> Sample<'a> {
    /// Takes the first item of a list, also of one in an answer that has no field of the kind itself.
    fn of(fields: &[Field], answer: &'a Value) -> Self {
        let first = |list: &'a Value| list.get(0).filter(|item| item.is_object());
        if let Some(resource) = first(answer) {
            return Self { resource, list: Some(BODY.to_owned()) };
        }
        let is_unmatched = || Matches::of(fields, answer).found.is_empty();
        let mut lists =
            answer.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, first(value)?)));
        match lists.next().filter(|_| is_unmatched()) {
            Some((name, resource)) => Self { resource, list: Some(format!("{BODY}{}", step(name, false))) },
            None => Self { resource: answer, list: None },
        }
    }

    /// The variable that has the resource.
    const fn variable(&self) -> &'static str {
        if self.list.is_some() { "item" } else { BODY }
    }
}

/// The variable that has the answer.
const BODY: &str = "response.body";

/// Writes a target that compares the fields of one answer.
///
/// # Errors
/// A sentence, if no field of the kind has a name that the answer has.
pub(super) fn draft(definition: &Definition, answer: &Value, url: Option<&Url>) -> Result<String, String> {
    let fields = fields_of(&definition.schema);
    let sample = Sample::of(&fields, answer);
    let matches = Matches::of(&fields, sample.resource);
    if matches.found.is_empty() {
        let of_kind: Vec<_> = fields.iter().map(Field::shown).take(MOST_NAMES).collect();
        let of_answer: Vec<_> = matches.unused.iter().map(|one| dotted(&one.path)).take(MOST_NAMES).collect();
        return Err(format!(
            "no field of the answer has the name of a field of {}: the kind has for example {}, the answer {}; give the answer for one \
             resource, or a list of them",
            definition.kind.kind,
            of_kind.join(", "),
            of_answer.join(", ")
        ));
    }
    let address = match sample.list {
        Some(_) => Address::of_list(url, &fields),
        None => Address::of(url, &fields, &matches),
    };
    let mut text = head(definition, &address);
    text += &read(definition, &address, (&matches, &sample));
    text += &compare(&matches);
    text += &correct(definition, &address, sample.list.is_some());
    text += &remarks(&matches);
    for proposal in proposals(definition, &address.fields) {
        text += &format!("#\n{}", comment("", &proposal.reason));
        let (name, version) = (definition.kind.full_name(), &definition.kind.version);
        text += &format!(
            "# Add to CustomResourceDefinition {name}, at\n# .spec.versions[name={version}]{}:\n",
            proposal.place
        );
        proposal.block.lines().for_each(|line| text += &format!("#   {line}\n"));
    }
    Ok(text)
}

fn head(definition: &Definition, address: &Address<'_>) -> String {
    let kind = &definition.kind;
    let parts: Vec<String> = address.expressions.iter().map(|expression| format!("${{{expression}}}")).collect();
    let shared = match kind.is_namespaced && parts == ["${self.metadata.name}"] {
        true => " Objects with this name in two namespaces share it.",
        false => "",
    };
    let conditions = address.optional().filter_map(|field| Some((field, field.presence()?)));
    let required: String = conditions
        .map(|(field, condition)| {
            let (that, said) = (quoted(&format!("${{{condition}}}")), quoted(&format!("{} is needed", field.shown())));
            format!("  - {{that: {that}, else: {said}}}\n")
        })
        .collect();
    let required = match required.is_empty() {
        true => required,
        false => format!(
            "  # The address needs these fields, which an object may lack. Better: add them to `required` in the CRD.\n  require:\n{required}"
        ),
    };
    format!(
        "# A draft for the kind {}, from its CustomResourceDefinition and one answer. Compare each line with your system.\n\
         apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {}}}\nspec:\n  \
         objects: {{apiVersion: {}, kind: {}}}\n  # The name of the external resource. Each object needs its own.{shared}\n  \
         identity: {}\n  interval: 5m\n{required}",
        kind.kind,
        kind.plural,
        definition.api_version(),
        kind.kind,
        quoted(&parts.join(" "))
    )
}

fn read(definition: &Definition, address: &Address<'_>, (matches, sample): (&Matches<'_>, &Sample<'_>)) -> String {
    let mut text = "  read:\n    http:\n".to_owned();
    if address.is_placeholder {
        let address = match sample.list {
            Some(_) => "the address of the list.",
            None => "the address of one resource, with the fields of the object that name it.",
        };
        text += &format!("      # {PLACEHOLDER}: {address}\n");
    }
    if let Some(id) = &address.foreign_id {
        let note = format!(
            "The address ended with the answer's {}, which the kind does not have. If the server chooses it, read the list \
             of resources, find the one by its name, and publish its id: docs/reference/target/ids.md.",
            dotted(&id.path)
        );
        text += &comment("      ", &note);
    }
    let _ = writeln!(text, "      url: {}", quoted(&address.url));
    if let Some(list) = &sample.list {
        let _ = writeln!(text, "      each: {}", quoted(&format!("${{{list}}}")));
        text += &key_of_item(address, matches);
        text += "      # If the server answers in pages, `next` names the next one: docs/reference/target/collections.md.\n";
    }
    text += "      # The credential, if the system needs one. The token is in the key `token` of the Secret:\n";
    let _ = writeln!(text, "      # auth: {{bearer: {{secretRef: {{name: {}-read}}}}}}", definition.kind.plural);
    if !matches.base.is_empty() {
        let steps: String = matches.base.iter().map(|name| step(name, false)).collect();
        let _ = writeln!(text, "      observed: {}", quoted(&format!("${{{}{steps}}}", sample.variable())));
    }
    text
}

/// The key by which an item of a list is found: its field with the value of the identity.
fn key_of_item(address: &Address<'_>, matches: &Matches<'_>) -> String {
    let named = address.fields.first();
    let matched = matches.found.iter().find(|one| named.is_some_and(|field| std::ptr::eq(one.field, *field)));
    let unused = || matches.unused.iter().find(|one| matches!(*one.path, [name] if plain(name) == "name"));
    let Some(field) = matched.map(|one| &one.answer).or_else(unused) else {
        return format!(
            "      # {PLACEHOLDER}: the field of an item that is the identity of its object.\n      key: \"{PLACEHOLDER}\"\n"
        );
    };
    let steps: String = field.path.iter().map(|name| step(name, false)).collect();
    let item = if field.value.is_string() { format!("item{steps}") } else { format!("string(item{steps})") };
    format!("      key: {}\n", quoted(&format!("${{{item}}}")))
}

/// Observes, with the requests of a correction as comments.
fn correct(definition: &Definition, address: &Address<'_>, is_list: bool) -> String {
    let named: Vec<String> = address.expressions.iter().map(|expression| format!("${{{expression}}}")).collect();
    let address = address.url.trim_end_matches('/');
    let (list, one) = match (is_list, address.rsplit_once('/')) {
        (true, _) => (address.to_owned(), format!("{address}/{}", named.join("/"))),
        (false, Some((list, _))) => (list.to_owned(), address.to_owned()),
        (false, None) => (address.to_owned(), address.to_owned()),
    };
    let mut text = "  correct:\n    # Only reports drift. `Correct` needs the requests that your system takes, for example:\n    mode: Observe\n".to_owned();
    let _ = writeln!(
        text,
        "    # http:\n    #   auth: {{bearer: {{secretRef: {{name: {}-write}}}}}}",
        definition.kind.plural
    );
    for (action, method, url, body) in [
        ("create", "POST", &list, ", body: \"${desired}\""),
        ("update", "PUT", &one, ", body: \"${desired}\""),
        ("delete", "DELETE", &one, ""),
    ] {
        let _ = writeln!(text, "    #   {action}: {{method: {method}, url: {}{body}}}", quoted(url));
    }
    text
}

fn compare(matches: &Matches<'_>) -> String {
    let mut text = "  compare:\n".to_owned();
    if matches.found.iter().any(|one| one.field.is_optional()) {
        text +=
            "    # A field with .? is compared only if the object has it. `.orValue(…)` behind it gives a default.\n";
    }
    if matches.found.iter().any(Match::parses_text) {
        text += "    # int and double fail on a quantity or a duration: compare these by a rule `as: quantity` or `as: duration`.\n";
    }
    text += "    desired:\n";
    let length = matches.base.len();
    let mut all: Vec<(&[&str], &Match<'_>)> =
        matches.found.iter().map(|one| (&one.answer.path[length..], one)).collect();
    all.sort_by_key(|(path, _)| *path);
    let mut above: &[&str] = &[];
    for (path, one) in &all {
        let shared = path.iter().zip(above).take_while(|(left, right)| left == right).count();
        let (last, wrappers) = path.split_last().unwrap_or((&"", &[]));
        for (depth, name) in wrappers.iter().enumerate().skip(shared) {
            let _ = writeln!(text, "{}{}:", " ".repeat(6 + 2 * depth), key(name));
        }
        let template = quoted(&format!("${{{}}}", one.desired));
        let _ = writeln!(text, "{}{}: {template}", " ".repeat(6 + 2 * wrappers.len()), key(last));
        above = wrappers;
    }
    let sets: Vec<_> = all.iter().filter(|(_, one)| one.field.schema["x-kubernetes-list-type"] == "set").collect();
    if !sets.is_empty() {
        text += "    rules:\n";
    }
    for (path, _) in sets {
        let pointer: String =
            path.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect();
        let _ = writeln!(
            text,
            "    - {{path: {}, list: set}}",
            if pointer.contains(is_special) { quoted(&pointer) } else { pointer }
        );
    }
    text
}

/// The fields that are not compared, each with the reason.
fn remarks(matches: &Matches<'_>) -> String {
    let mut text = String::new();
    if !matches.left.is_empty() {
        text += "# Fields of the kind that are not compared:\n";
    }
    for (field, reason) in &matches.left {
        text += &comment("", &format!("- {}: {reason}", printable(&field.shown())));
    }
    // The reasons above name them already.
    let is_of_kind = |one: &&AnswerField<'_>| {
        let name = one.path.last().map(|name| plain(name));
        !matches.left.iter().any(|(field, _)| field.path.last().map(|last| plain(last)) == name)
    };
    let unused = matches.unused.iter().filter(is_of_kind);
    let (of_server, others): (Vec<_>, Vec<_>) = unused.partition(|one| is_of_server(one));
    let names = |fields: &[&AnswerField<'_>]| fields.iter().map(|one| dotted(&one.path)).collect::<Vec<_>>().join(", ");
    if !of_server.is_empty() {
        text += &comment("", &format!("Fields of the answer that the server seems to set: {}", names(&of_server)));
    }
    if !others.is_empty() {
        text += &comment("", &format!("Fields of the answer that the kind does not have: {}", names(&others)));
    }
    text
}

fn is_of_server(field: &AnswerField<'_>) -> bool {
    field.path.iter().any(|name| {
        let plain = plain(name);
        OF_SERVERS.contains(&plain.as_str()) || BEGINNINGS.iter().any(|begin| plain.starts_with(begin))
    })
}

/// A comment in lines of a bounded length.
fn comment(indent: &str, sentence: &str) -> String {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}# {line}\n")).collect()
}

fn dotted(path: &[&str]) -> String {
    printable(&path.join("."))
}

/// A key of a YAML map.
fn key(name: &str) -> String {
    let is_value =
        matches!(name.to_lowercase().as_str(), "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if is_word(name) && !is_value { name.to_owned() } else { quoted(name) }
}

/// A text in double quotes, as YAML and JSON have it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn is_special(letter: char) -> bool {
    !letter.is_ascii_alphanumeric() && !"/_.-~".contains(letter)
}
