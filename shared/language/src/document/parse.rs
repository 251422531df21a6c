//! Checks one document and compiles it to a target.

use std::time::Duration;

use crate::cel::{Expression, Expressions as _, Scope, TextTemplate};
use crate::checks::addressing::{check_addressing, read_not_identifying};
use crate::checks::identity_notation::warn_of_notations;
use crate::checks::indentation::too_deep;
use crate::checks::secret_use::check_secrets;
use crate::compare::{Compare, read_compare};
use crate::correct::{Correct, check_replacement, read_correct};
use crate::document::hash::{correct_hash, document_hash, verdict_hash};
use crate::hints::{HintSource, check_watch, read_hints};
use crate::network::Network;
use crate::read::{Read, read_read};
use crate::scope::{IdentityScope, read_scope, scope_of_read};
use crate::secrets::{DeclaredSecret, read_secrets};
use crate::spec::destinations::read_allow_networks;
use crate::spec::naming::{read_identity, read_names};
use crate::spec::object_may::{ObjectMay, read_object_may};
use crate::spec::objects::{ObjectSelection, read_objects};
use crate::spec::polling::{Confirm, confirm_chosen_ids, read_confirm, read_times};
use crate::spec::requirements::{Requirement, read_requirements};
use crate::spec::status_fields::{StatusTemplates, check_published, read_status_templates};
use crate::target::Target;
use crate::unreadable::check::check_carried_back;
use crate::values::names::is_dns_label;
use crate::yaml::durations::KIB;
use crate::yaml::problem::{DocumentName, Problem};
use crate::yaml::reader::FindHome;
use crate::yaml::recording::Recording;
use crate::yaml::{self, Fault, Fields, Node, Position, Reader, expression};
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
    let root = yaml::parse(text).map_err(|fault| problems(vec![fault]))?;
    let mut reader = Reader::new(text).finding_homes(find_home);
    let mut mistakes = Vec::new();
    root.duplicates(&mut mistakes);
    root.ambiguous_numbers(text, &mut mistakes);
    reader.extend(mistakes);
    if text.matches("${").count() > MAX_TEMPLATES {
        reader.refuse::<()>(root.at, format!("a document holds at most {MAX_TEMPLATES} templates"));
    }
    let parsed = read_document(&mut reader, document, &root);
    let faults = reader.into_faults();
    match parsed {
        Some(parsed) if faults.is_empty() => Ok(parsed),
        _ => Err(problems(faults)),
    }
}

/// Records the keys and bounds that the reader asks for, for valid and invalid documents.
pub(crate) fn record(recording: Recording, text: &str) -> Recording {
    let read = || {
        let mut reader = Reader::new(text);
        reader.record(recording);
        let name = DocumentName { config_map: String::new(), key: String::new() };
        if let Ok(root) = yaml::parse(text) {
            // Errors do not change what is recorded.
            let _ = read_document(&mut reader, &name, &root);
        }
        reader.recorded()
    };
    stacker::grow(STACK_BYTES, read)
}

fn read_document(reader: &mut Reader<'_>, document: &DocumentName, root: &Node) -> Option<Parsed> {
    let fields = reader.fields(root, "", &["apiVersion", "kind", "metadata", "spec"])?;
    let version = reader
        .required(&fields, "apiVersion")
        .and_then(|node| reader.choice(node, "apiVersion", &[(TARGET_API_VERSION, ())]));
    let kind = reader.required(&fields, "kind").and_then(|node| reader.choice(node, "kind", &[(TARGET_KIND, ())]));
    let name = reader.required(&fields, "metadata").and_then(|node| read_metadata(reader, node));
    let spec = reader.required(&fields, "spec");
    let target = spec.and_then(|spec| read_spec(reader, spec));
    let (name, name_at) = name?;
    let (spec, target) = (spec?, target?);
    version.and(kind)?;
    let mut poll_fields = fields_of_polls(&target);
    target.object_may.field().into_iter().for_each(|field| poll_fields.insert(field));
    let mut all_fields = poll_fields.clone();
    all_fields.extend(&target.correct.fields());
    // The controller notices if another writer changes them.
    target.correct.stored().for_each(|name| all_fields.insert(vec!["status".to_owned(), name.to_owned()]));
    target.secrets.iter().for_each(|secret| all_fields.extend(&secret.fields()));
    let stores = target.correct.stored().next().is_some();
    let replaces = target.correct.actions().replace && target.compare.rules.replace();
    let wanted = [("fields", target.correct.reads_differs()), ("replace", replaces), ("absentFor", stores)];
    let wanted: Vec<&str> = wanted.iter().filter(|(_, is_wanted)| *is_wanted).map(|(word, _)| *word).collect();
    // The current values decide if a publication is needed.
    target.publish.names().for_each(|name| poll_fields.insert(vec!["status".to_owned(), name.to_owned()]));
    poll_fields.readiness = target.ready;
    let target = Target {
        name,
        document: document.clone(),
        poll_fields,
        all_fields,
        verdict_hash: verdict_hash(spec, &wanted),
        document_hash: document_hash(root),
        correct_hash: correct_hash(spec),
        objects: target.objects,
        object_may: target.object_may,
        identity: target.identity,
        not_identifying: target.not_identifying,
        scope: target.scope,
        require: target.require,
        interval: target.interval,
        timeout: target.timeout,
        suspend: target.suspend,
        suspend_when: target.suspend_when,
        confirm: if stores { confirm_chosen_ids(target.confirm, spec) } else { target.confirm },
        insecure: target.insecure,
        allow_networks: target.allow_networks,
        secrets: target.secrets,
        read: target.read,
        compare: target.compare,
        publish: target.publish,
        ready: target.ready,
        hints: target.hints,
        correct: target.correct,
    };
    check_addressing(reader, spec, &target);
    warn_of_notations(reader, spec, &target);
    let objects_at = spec.get("objects").map_or(spec.at, |objects| objects.at);
    let doubts = too_deep(root).into_iter().chain(reader.take_doubts()).collect();
    Some(Parsed { target, name_at, objects_at, doubts })
}

fn fields_of_polls(target: &Spec) -> FieldPaths {
    let mut fields = target.compare.desired.fields();
    let parts = [target.identity.fields(), target.read.source.section().fields(), target.publish.fields()];
    parts.iter().for_each(|part| fields.extend(part));
    let rules = target.require.iter().map(|requirement| &requirement.that).chain(&target.suspend_when);
    rules.for_each(|rule| fields.extend(rule.fields()));
    fields
}

fn read_metadata(reader: &mut Reader<'_>, node: &Node) -> Option<(String, Position)> {
    let fields = reader.fields(node, "metadata", &["name"])?;
    let node = reader.required(&fields, "name")?;
    let name = reader.literal(node, "metadata.name")?;
    if !is_dns_label(name) {
        let message =
            format!("metadata.name: `{name}` is no name; use at most 63 of a-z, 0-9 and -, none - at the ends");
        return reader.refuse(node.at, message);
    }
    Some((name.to_owned(), node.at))
}

/// The content of `spec`.
struct Spec {
    objects: ObjectSelection,
    object_may: ObjectMay,
    identity: TextTemplate,
    not_identifying: FieldPaths,
    scope: IdentityScope,
    require: Vec<Requirement>,
    interval: Duration,
    timeout: Duration,
    suspend: bool,
    suspend_when: Option<Expression>,
    confirm: Confirm,
    insecure: bool,
    allow_networks: Vec<Network>,
    secrets: Vec<DeclaredSecret>,
    read: Read,
    compare: Compare,
    publish: StatusTemplates,
    ready: bool,
    hints: Vec<HintSource>,
    correct: Correct,
}

/// Keys of `spec`.
const SPEC_KEYS: &[&str] = &[
    "objects",
    "objectMay",
    "identity",
    "notIdentifying",
    "scope",
    "require",
    "interval",
    "timeout",
    "suspend",
    "suspendWhen",
    "confirm",
    "insecure",
    "base",
    "let",
    "allowHosts",
    "allowNetworks",
    "secrets",
    "read",
    "compare",
    "publish",
    "ready",
    "hints",
    "correct",
];

/// Keys of every `spec`.
const REQUIRED_KEYS: [&str; 4] = ["objects", "identity", "read", "compare"];

fn read_spec(reader: &mut Reader<'_>, spec: &Node) -> Option<Spec> {
    // Places count from `spec`, so that errors name `read.http.url`.
    let fields = reader.fields(spec, "spec", SPEC_KEYS)?;
    let fields = Fields::below(&fields);
    // A mistake in a name would be reported again at each of its uses.
    let Some(names) = read_names(reader, &fields) else { return refuse_missing(reader, &fields) };
    let secrets = reader.or(&fields, "secrets", Vec::new(), read_secrets);
    let objects = reader.needed(&fields, "objects", read_objects);
    let object_may = reader.or(&fields, "objectMay", ObjectMay::default(), read_object_may);
    let identity = reader.required(&fields, "identity").and_then(|node| read_identity(reader, node));
    let not_identifying = reader.or(&fields, "notIdentifying", FieldPaths::default(), read_not_identifying);
    let scope = reader.optional(&fields, "scope", read_scope);
    let require = reader.or(&fields, "require", Vec::new(), read_requirements);
    let times = read_times(reader, &fields);
    let suspend = reader.or(&fields, "suspend", false, Reader::truth);
    let suspend_when = reader.optional(&fields, "suspendWhen", expression(Scope::Object));
    let confirm = reader.or(&fields, "confirm", Confirm::default(), read_confirm);
    let insecure = reader.or(&fields, "insecure", false, Reader::truth);
    let allow_networks = reader.or(&fields, "allowNetworks", Vec::new(), read_allow_networks);
    let read = reader.needed(&fields, "read", read_read);
    let compare = reader.needed(&fields, "compare", read_compare);
    let publish = reader.or(&fields, "publish", StatusTemplates::default(), read_publish);
    let ready = reader.or(&fields, "ready", false, Reader::truth);
    let hints = reader.or(&fields, "hints", Vec::new(), read_hints);
    let correct = reader.or(&fields, "correct", Correct::default(), read_correct);
    let (interval, timeout) = times?;
    let (read, compare, publish, correct, secrets) = (read?, compare?, publish?, correct?, secrets?);
    let (ready, insecure, ()) = (ready?, insecure?, names?);
    let stored = correct.stored().map(|name| (name, "a step stores"));
    let written = stored.chain(ready.then_some((OBSERVED_GENERATION, "`ready` writes")));
    check_published(reader, &fields, &publish, written)?;
    check_credentials(reader, spec, insecure, &read, &correct);
    check_secrets(reader, spec, &secrets, insecure, &compare, &correct);
    check_carried_back(reader, spec, &read, &compare, &correct);
    check_replacement(reader, spec, &correct);
    check_watch(reader, spec, &read, hints.as_deref().unwrap_or_default());
    correct.section().into_iter().for_each(|own| own.check_fit(reader, spec, objects.as_ref(), read.source.section()));
    Some(Spec {
        objects: objects?,
        object_may: object_may?,
        identity: identity?,
        not_identifying: not_identifying?,
        scope: scope?.unwrap_or_else(|| scope_of_read(&read, spec)),
        require: require?,
        interval,
        timeout,
        suspend: suspend?,
        suspend_when: suspend_when?,
        confirm: confirm?,
        insecure,
        allow_networks: allow_networks?,
        secrets,
        read,
        compare,
        publish,
        ready,
        hints: hints?,
        correct,
    })
}

/// Records the missing keys of a `spec` that is not read any further.
fn refuse_missing(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Spec> {
    for key in REQUIRED_KEYS {
        reader.required(fields, key);
    }
    None
}

fn read_publish(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<StatusTemplates> {
    read_status_templates(reader, node, place, Scope::Publication)
}

/// Rejects a credential that would be sent unencrypted, unless the target is `insecure`.
fn check_credentials(reader: &mut Reader<'_>, spec: &Node, insecure: bool, read: &Read, correct: &Correct) {
    if !insecure {
        read.source.section().check_credentials(reader, spec);
        correct.section().into_iter().for_each(|section| section.check_credentials(reader, spec));
    }
}
