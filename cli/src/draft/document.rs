//! The text of a draft: a target with comments, and proposals for its CustomResourceDefinition.

use std::fmt::Write as _;

use drift_api::printable::printable;
use serde_json::Value;
use url::Url;

use super::address::Address;
use super::advice::proposals;
use super::comparison::{compare, remarks};
use super::correction::{correct, wake};
use super::definition::Definition;
use super::fields::{Field, fields_of, plain, step};
use super::matching::{AnswerField, Matches};
use super::place::Place;
use super::sample_url::{AWS_HOST, is_of_operations};
use super::text::{comment, quoted};
use crate::check::document::PLACEHOLDER;
use crate::kinds::operators::Operator;

/// Bound of the names in an error, which has to fit on a screen.
const MOST_NAMES: usize = 10;
/// The resource of an answer, and the list that it is an item of.
struct Sample<'a> {
    resource: &'a Value,
    /// The expression of the list: `response.body.items`.
    list: Option<String>,
}

impl<'a> Sample<'a> {
    /// Takes the first item of a list, also of one in an answer that has no field of the kind itself.
    fn of(fields: &[Field], answer: &'a Value, url: Option<&Url>) -> Self {
        let first = |list: &'a Value| list.get(0).filter(|item| item.is_object());
        if let Some(resource) = first(answer) {
            return Self { resource, list: Some(BODY.to_owned()) };
        }
        let is_unmatched = || Matches::of(fields, answer, url).found.is_empty();
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
/// Comment of `conditions: Report`, above the reasons.
const IN_REPORT: &str = "With `conditions: Report`, a DriftReport beside the object keeps both conditions, and only mode \
                         Observe or correct.nudge is possible: docs/guides/foreign-kinds.md. The object cannot keep them:";
/// Comment of a kind that no target can select, above the reasons.
const UNWATCHED: &str = "`check` refuses this target. The object cannot keep both conditions, and a DriftReport needs the \
                         namespace of its object, which this cluster-scoped kind does not have. To watch it, change its \
                         CustomResourceDefinition:";
/// Comment of a signed read.
const SIGNED: &str =
    "APIs of AWS take signed requests, with `accessKeyId` and `secretAccessKey` in the Secret: docs/cookbook/aws.md.";
/// Comment of a read whose operation is in a header, as of most APIs of AWS.
const OPERATION: &str = "      # method: POST
      # headers: {content-type: application/x-amz-json-1.0, x-amz-target: CHANGE-ME}
      # body: {CHANGE-ME: \"${self.metadata.name}\"}
";
/// Comment of `require`.
const NEEDED: &str = "The address needs these fields, which an object may lack. If the operator has a default, write it \
                      there instead: `self.spec.?a.orValue('x')`. In a kind of your own, add them to `required`.";

/// Writes a target that compares the fields of one answer.
///
/// # Errors
/// A sentence, if no field of the kind has a name that the answer has.
pub(super) fn draft(definition: &Definition, answer: &Value, url: Option<&Url>) -> Result<String, String> {
    let fields = fields_of(&definition.schema);
    let sample = Sample::of(&fields, answer, url);
    let matches = Matches::of(&fields, sample.resource, url);
    if matches.found.is_empty() {
        return Err(unmatched(definition, &fields, &matches));
    }
    let address = match sample.list {
        Some(_) => Address::of_list(url, &fields, &matches),
        None => Address::of(url, &fields, &matches),
    };
    let draft = Draft {
        definition,
        url,
        matches,
        sample,
        address,
        operator: Operator::of(&definition.kind.group, &definition.kind.kind),
    };
    let place = Place::of(definition, draft.operator, &draft.written(&Place::Object));
    Ok(draft.written(&place))
}

/// Says that no field of the answer is one of the kind.
fn unmatched(definition: &Definition, fields: &[Field], matches: &Matches<'_>) -> String {
    let of_kind: Vec<_> = fields.iter().map(Field::shown).take(MOST_NAMES).collect();
    let of_answer: Vec<_> = matches.unused.iter().map(AnswerField::shown).take(MOST_NAMES).collect();
    let is_item = |field: &&Field| {
        let names = field.schema["items"]["properties"].as_object().into_iter().flatten().map(|(name, _)| plain(name));
        names
            .into_iter()
            .any(|name| matches.unused.iter().any(|one| one.path.last().is_some_and(|last| plain(last) == name)))
    };
    let remedy = match fields.iter().find(is_item).and_then(|field| Some((field, field.path.last()?))) {
        Some((field, name)) => {
            format!("give the answer for all items of {} together, an object with the list {name}", field.shown())
        }
        None => "give the answer for one resource, or a list of them".to_owned(),
    };
    format!(
        "no field of the answer has the name of a field of {}: the kind has for example {}, the answer {}; {remedy}",
        definition.kind.kind,
        of_kind.join(", "),
        of_answer.join(", ")
    )
}

/// The parts of a draft.
struct Draft<'a> {
    definition: &'a Definition,
    url: Option<&'a Url>,
    matches: Matches<'a>,
    sample: Sample<'a>,
    address: Address<'a>,
    operator: Option<&'static Operator>,
}

impl Draft<'_> {
    fn written(&self, place: &Place) -> String {
        let Self { definition, url, matches, sample, address, operator } = self;
        let mut text = head(definition, address, place);
        text += &read(address, (matches, sample, place));
        text += &credential(definition, *url, *operator);
        text += &observed(matches, sample);
        text += &compare(matches, *url);
        text += &match (operator, place.is_report()) {
            (None, false) => correct(definition, address, sample.list.is_some()),
            (operator, _) => wake(*operator),
        };
        text += &remarks(matches);
        // Another operator brings the definition, and takes additions away with its next version.
        let is_foreign = operator.is_some() && !matches!(place, Place::Nowhere(_));
        let proposals = if is_foreign { Vec::new() } else { proposals(definition, &address.fields, place) };
        for proposal in proposals {
            text += &format!("#\n{}", comment("", &proposal.reason));
            let (name, version) = (definition.kind.full_name(), &definition.kind.version);
            text += &format!(
                "# Add to CustomResourceDefinition {name}, at\n# .spec.versions[name={version}]{}:\n",
                proposal.place
            );
            proposal.block.lines().for_each(|line| text += &format!("#   {line}\n"));
        }
        text
    }
}

fn head(definition: &Definition, address: &Address<'_>, place: &Place) -> String {
    let kind = &definition.kind;
    let parts: Vec<String> = address.expressions.iter().map(|expression| format!("${{{expression}}}")).collect();
    let shared = match kind.is_namespaced && parts == ["${self.metadata.name}"] {
        true => " Objects with this name in two namespaces share it.",
        false => "",
    };
    let identity = format!("A guess: this names the external resource. Each object needs its own.{shared}");
    let conditions = address.optional().filter_map(|field| Some((field, field.presence()?)));
    let required: String = conditions
        .map(|(field, condition)| {
            let (that, said) = (quoted(&format!("${{{condition}}}")), quoted(&format!("{} is needed", field.shown())));
            format!("  - {{that: {that}, else: {said}}}\n")
        })
        .collect();
    let required = match required.is_empty() {
        true => required,
        false => format!("{}  require:\n{required}", comment("  ", NEEDED)),
    };
    let (reasons, conditions) = match place {
        Place::Object => (String::new(), ""),
        Place::Report(reasons) => (listed(IN_REPORT, reasons), ", conditions: Report"),
        Place::Nowhere(reasons) => (listed(UNWATCHED, reasons), ""),
    };
    let title = format!(
        "A draft for the kind {}, guessed from its CustomResourceDefinition and one answer: fields with the same name are taken \
         for the same. Compare each line with your system.",
        kind.kind
    );
    format!(
        "{}apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {}}}\nspec:\n{reasons}  \
         objects: {{apiVersion: {}, kind: {}{conditions}}}\n{}  identity: {}\n  interval: 5m\n{required}",
        comment("", &title),
        kind.plural,
        definition.api_version(),
        kind.kind,
        comment("  ", &identity),
        quoted(&parts.join(" "))
    )
}

/// Reasons as items of a comment.
fn listed(said: &str, reasons: &[String]) -> String {
    let items: String = reasons.iter().map(|reason| comment("  ", &format!("- {}", printable(reason)))).collect();
    comment("  ", said) + &items
}

fn read(address: &Address<'_>, (matches, sample, place): (&Matches<'_>, &Sample<'_>, &Place)) -> String {
    let mut text = "  read:\n    http:\n".to_owned();
    if address.is_placeholder {
        let address = match sample.list {
            Some(_) => "the address of the list.",
            None => "the address of one resource, with the fields of the object that name it.",
        };
        text += &format!("      # {PLACEHOLDER}: {address}\n");
    }
    if sample.list.is_some() {
        text += "      # A guess: each item of `each` is one resource, and `key` is its field that names it.\n";
    }
    if let Some(id) = &address.foreign_id {
        let way = match place.is_report() {
            true => "and find the one by its name: docs/reference/target/collections.md.",
            false => "find the one by its name, and publish its id: docs/reference/target/ids.md.",
        };
        let note = format!(
            "The address ended with the answer's {}, which the kind does not have. If the server chooses it, read the list \
             of resources, {way}",
            id.shown()
        );
        text += &comment("      ", &note);
    }
    for (part, field) in &address.doubtful {
        let note =
            format!("Each object is read with `{}` of the sample address. Is it {}?", printable(part), field.shown());
        text += &comment("      ", &note);
    }
    if !address.shared.is_empty() {
        let parts: Vec<_> = address.shared.iter().map(|part| format!("`{}`", printable(part))).collect();
        let note =
            format!("The same for every object: {}. Write a field in the place of what differs.", parts.join(", "));
        text += &comment("      ", &note);
    }
    let _ = writeln!(text, "      url: {}", quoted(&address.url));
    if let Some(list) = &sample.list {
        let _ = writeln!(text, "      each: {}", quoted(&format!("${{{list}}}")));
        text += &key_of_item(address, matches);
        text += "      # If the server answers in pages, `next` names the next one: docs/reference/target/collections.md.\n";
    }
    text
}

/// The credential of the read, as a comment.
fn credential(definition: &Definition, url: Option<&Url>, operator: Option<&Operator>) -> String {
    let secret = format!("{}-read", definition.kind.plural);
    let host = url.and_then(Url::host_str).and_then(|host| host.strip_suffix(AWS_HOST));
    if host.is_none() && !operator.is_some_and(|operator| operator.is_of_aws) {
        return format!(
            "      # The credential, if the system needs one. The token is in the key `token` of the Secret:\n      \
             # auth: {{bearer: {{secretRef: {{name: {secret}}}}}}}\n"
        );
    }
    let mut parts = host.into_iter().flat_map(|host| host.split('.'));
    let service = parts.next().or_else(|| definition.kind.group.split('.').next()).unwrap_or(PLACEHOLDER);
    let region = parts.next().unwrap_or(PLACEHOLDER);
    let auth = format!(
        "      # auth: {{awsSigV4: {{region: {region}, service: {service}, secretRef: {{name: {secret}}}}}}}\n"
    );
    let operation = if url.is_none_or(is_of_operations) { OPERATION } else { "" };
    comment("      ", SIGNED) + &auth + operation
}

/// The object of the answer that is compared, if it is not the whole body.
fn observed(matches: &Matches<'_>, sample: &Sample<'_>) -> String {
    if matches.base.is_empty() {
        return String::new();
    }
    let steps: String = matches.base.iter().map(|name| step(name, false)).collect();
    format!("      observed: {}\n", quoted(&format!("${{{}{steps}}}", sample.variable())))
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
