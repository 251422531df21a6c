//! Checks one document and compiles it to a target.

use crate::cel::Expressions as _;
use crate::checks::addressing::check_addressing;
use crate::checks::identity_notation::warn_of_notations;
use crate::checks::indentation::too_deep;
use crate::checks::secret_use::check_secrets;
use crate::correct::{Correct, check_replacement};
use crate::document::hash::{asking_hash, correct_hash, document_hash, verdict_hash};
use crate::document::short_forms::expand;
use crate::hints::check_watch;
use crate::read::Read;
use crate::section::{Leaf, Schema, Section, text, words};
use crate::spec::polling::confirm_chosen_ids;
use crate::spec::status_fields::check_published;
use crate::systems::Destination;
use crate::target::{Parts, Target};
use crate::unreadable::check::check_carried_back;
use crate::values::names::is_dns_label;
use crate::yaml::durations::KIB;
use crate::yaml::problem::{DocumentName, Problem};
use crate::yaml::reader::FindHome;
use crate::yaml::{self, Fault, Fields, Node, Position, Reader};
use drift_api::names::{OBSERVED_GENERATION, TARGET_API_VERSION, TARGET_KIND};
use drift_api::object::field_paths::FieldPaths;

/// Maximum size of a document, in bytes. A ConfigMap holds 1 MiB in all.
const MAX_DOCUMENT_BYTES: usize = 256 * KIB;
/// Maximum number of `${…}` in one document.
const MAX_TEMPLATES: usize = 1_000;
/// Stack size for reading a document. In an unoptimised build, 60 levels overflowed 2 MiB; half as many levels get
/// eight times that.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// A target, and the positions in its document at which conflicts between documents are reported.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) target: Target,
    pub(crate) name_at: Position,
    pub(crate) objects_at: Position,
    /// Allowed but likely mistakes: keys inside `desired` that look like the target's own, texts that
    /// look like expressions.
    pub(crate) doubts: Vec<Fault>,
}

pub(super) fn parse(document: &DocumentName, text: &str, find_home: FindHome) -> Result<Parsed, Vec<Problem>> {
    if text.len() > MAX_DOCUMENT_BYTES {
        let message = format!("a document is at most {MAX_DOCUMENT_BYTES} bytes long");
        return Err(vec![Problem::new(document, Position::default(), message)]);
    }
    stacker::grow(STACK_BYTES, || parse_within(document, text, find_home))
}

fn parse_within(document: &DocumentName, text: &str, find_home: FindHome) -> Result<Parsed, Vec<Problem>> {
    let problems = |faults: Vec<Fault>| {
        faults.into_iter().map(|fault| Problem::new(document, fault.at, fault.message)).collect::<Vec<_>>()
    };
    let mut root = yaml::parse(text).map_err(|fault| problems(vec![fault]))?;
    let mut reader = Reader::new(text).finding_homes(find_home);
    let mut mistakes = Vec::new();
    root.duplicates(&mut mistakes);
    root.ambiguous_numbers(text, &mut mistakes);
    reader.extend(mistakes);
    expand(&mut root);
    if text.matches("${").count() > MAX_TEMPLATES {
        reader.refuse::<()>(root.at, format!("a document holds at most {MAX_TEMPLATES} templates"));
    }
    let parsed = read_document(&mut reader, document, &root);
    if parsed.is_none() && !reader.has_faults() {
        reader.refuse::<()>(root.at, "a value is invalid; its reader does not say why");
    }
    let faults = reader.into_faults();
    match parsed {
        Some(parsed) if faults.is_empty() => Ok(parsed),
        _ => Err(problems(faults)),
    }
}

/// A document.
#[derive(Section)]
pub(crate) struct Document {
    /// The version of the language.
    #[key(words(&[(TARGET_API_VERSION, ())]))]
    api_version: (),
    /// The kind of the document.
    #[key(words(&[(TARGET_KIND, ())]))]
    kind: (),
    /// Names the target.
    metadata: Metadata,
    /// The target itself.
    #[key(Spec)]
    spec: Target,
}

/// The section `spec`.
struct Spec;

impl Leaf for Spec {
    type Value = Target;

    fn read(&self, reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Target> {
        read_spec(reader, node, place)
    }

    fn schema(&self) -> Schema {
        Schema::Keys(Target::keys(check_parts))
    }
}

#[derive(Section)]
struct Metadata {
    /// A DNS label, unique over all documents. At most 63 characters.
    #[key(text(read_name))]
    name: (String, Position),
}

fn read_name(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(String, Position)> {
    let name = reader.literal(node, place)?;
    if !is_dns_label(name) {
        let message = format!("{place}: `{name}` is no name; use at most 63 of a-z, 0-9 and -, none - at the ends");
        return reader.refuse(node.at, message);
    }
    Some((name.to_owned(), node.at))
}

/// Places count from `spec`, so that errors name `read.http.url`.
fn read_spec(reader: &mut Reader<'_>, spec: &Node, place: &str) -> Option<Target> {
    let fields = reader.fields(spec, place, &Target::names(check_parts))?;
    Target::read_from(reader, &Fields::below(&fields), check_parts)
}

fn check_parts(reader: &mut Reader<'_>, fields: &Fields<'_>, parts: &Parts<'_>) {
    let (spec, Parts { read, compare, correct, .. }) = (fields.node(), parts);
    let stored = correct.stored().map(|name| (name, "a step stores"));
    let written = stored.chain(parts.ready.then_some((OBSERVED_GENERATION, "`ready` writes")));
    if check_published(reader, fields, parts.publish, written).is_none() {
        return;
    }
    check_credentials(reader, spec, parts.insecure, read, correct);
    check_secrets(reader, spec, parts.secrets, parts.insecure, compare, correct);
    check_carried_back(reader, spec, read, compare, correct);
    check_replacement(reader, spec, correct);
    check_watch(reader, spec, read, parts.hints);
    check_place(reader, fields, parts);
    if let (Some(section), Some(objects)) = (correct.section(), parts.objects) {
        section.check_fit(reader, spec, objects, read.source.section());
    }
}

/// Rejects what needs the object's own status if the conditions are kept in a report. A record that could be lost with
/// the report must protect nothing, so only an operator that heals by itself is woken.
fn check_place(reader: &mut Reader<'_>, fields: &Fields<'_>, parts: &Parts<'_>) {
    let Some(objects) = parts.objects.filter(|objects| objects.keeps_reports()) else { return };
    let at = fields.get("objects").map_or(fields.at(), |node| node.get("conditions").map_or(node.at, |node| node.at));
    let is_nudge = matches!(parts.correct.destination, None | Some(Destination::Nudge(_)));
    let (api_version, kind) = (&objects.api_version, &objects.kind);
    if parts.correct.mode.corrects() && !is_nudge {
        let message = format!(
            "objects.conditions: Report goes with correct.nudge or mode Observe: a correction keeps its record in the status of {kind} \
             {api_version}; write conditions: Object, or correct with nudge"
        );
        reader.refuse::<()>(at, message);
    }
    let written = [("publish", parts.publish.names().next().is_some()), ("ready", parts.ready)];
    for (key, _) in written.into_iter().filter(|(_, is_written)| *is_written) {
        let message = format!(
            "{key} writes to the status of {kind} {api_version}, which objects.conditions: Report leaves alone; remove {key}, or write \
             conditions: Object"
        );
        reader.refuse::<()>(fields.get(key).map_or(at, |node| node.at), message);
    }
}

fn read_document(reader: &mut Reader<'_>, document: &DocumentName, root: &Node) -> Option<Parsed> {
    let Document { api_version: (), kind: (), metadata: Metadata { name: (name, name_at) }, spec: mut target } =
        Document::read(reader, root, "", ())?;
    let spec = root.get("spec")?;
    (target.name, target.document) = (name, document.clone());
    let mut poll_fields = fields_of_polls(&target);
    target.object_may.field().into_iter().for_each(|field| poll_fields.insert(field));
    let mut all_fields = poll_fields.clone();
    all_fields.extend(&target.correct.fields());
    // The controller notices if another writer changes them.
    target.correct.stored().for_each(|name| all_fields.insert(vec!["status".to_owned(), name.to_owned()]));
    target.secrets.iter().for_each(|secret| all_fields.extend(&secret.fields()));
    let namespace = || vec!["metadata".to_owned(), "namespace".to_owned()];
    if target.has_accounts() {
        poll_fields.insert(namespace());
        all_fields.insert(namespace());
    }
    if target.correct.section().is_some_and(|section| section.credential_list().is_some()) {
        all_fields.insert(namespace());
    }
    let stores = target.correct.stored().next().is_some();
    if stores {
        target.confirm = confirm_chosen_ids(target.confirm, spec);
    }
    let wanted = [("fields", target.uses_differs()), ("replace", target.replaces()), ("absentFor", stores)];
    let wanted: Vec<&str> = wanted.iter().filter(|(_, is_wanted)| *is_wanted).map(|(word, _)| *word).collect();
    // The current values decide if a publication is needed.
    target.publish.names().for_each(|name| poll_fields.insert(vec!["status".to_owned(), name.to_owned()]));
    poll_fields.readiness = target.ready;
    (target.poll_fields, target.all_fields) = (poll_fields, all_fields);
    target.verdict_hash = verdict_hash(spec, &wanted);
    target.document_hash = document_hash(root);
    target.asking_hash = asking_hash(spec);
    target.correct_hash = correct_hash(spec);
    check_addressing(reader, spec, &target);
    warn_of_notations(reader, spec, &target);
    let objects_at = spec.get("objects").map_or(spec.at, |objects| objects.at);
    let doubts = too_deep(root).into_iter().chain(reader.take_doubts()).collect();
    Some(Parsed { target, name_at, objects_at, doubts })
}

fn fields_of_polls(target: &Target) -> FieldPaths {
    let mut fields = target.compare.desired.fields();
    let parts = [target.identity.fields(), target.read.source.section().fields(), target.publish.fields()];
    parts.iter().for_each(|part| fields.extend(part));
    let rules = target.require.iter().map(|requirement| &requirement.that).chain(&target.suspend_when);
    rules.for_each(|rule| fields.extend(rule.fields()));
    fields
}

/// Rejects a credential that would be sent unencrypted, unless the target is `insecure`.
fn check_credentials(reader: &mut Reader<'_>, spec: &Node, insecure: bool, read: &Read, correct: &Correct) {
    if !insecure {
        read.source.section().check_credentials(reader, spec);
        correct.section().into_iter().for_each(|section| section.check_credentials(reader, spec));
    }
}
