//! The warnings of `check` about good targets, in one list. Those about ConfigMaps are in `report.rs`, those about
//! kinds in `written_kinds.rs`, and those about a cluster in `cluster/`.

use std::sync::Arc;

use drift_language::{DeclaredSecret, Destination, HttpCorrect, HttpStep, Problem, Target};
use http::Method;

use crate::check::document::{Document, Remark, Severity};
use crate::kinds::operators::{Operator, REPLACES_CONDITIONS, Wake};

/// Said of an identity that every object has.
const ONE_IDENTITY: &str = "no field in which objects differ stands in it, so that all objects have one identity: one of them has the external resource, the \
                            others say IdentityTaken; write one that differs, such as \"${self.metadata.name}\"";

/// Said of objects that are made for each other.
const MADE_WITHOUT_END: &str = "it makes objects of the kind that `objects` selects; where one of them is selected too, another one is made for it, \
                                without end: select by a label that what is made does not have";

/// Warning about corrections without `mode`.
const NO_MODE: &str = "it says how to correct and has no `mode`, which is Observe then: nothing is corrected; write `mode: Correct`, or `mode: Observe` \
                       where that is meant";

/// Said of Secrets beside objects that may be anywhere.
const EVERY_SECRET: &str = "`fromObject` without `namespaces` in `objects`: the controller has to read every Secret of the cluster; \
                            write namespaces: [team-a] with those that have such objects";

/// Said of a create that seems to ask before it writes.
const UNMARKED_LOOK_UP: &str = "its first step is a POST, as the read is: if it only looks something up, write reads: true, or the claim is made \
                                before it and takes what it finds for ours; if it writes, write reads: false";

/// Said of a create that stores what only its answer says.
const UNTRACEABLE: &str = "is a POST that stores what its answer says, and no look-up comes before it: after an answer \
                           that never came nobody can tell whether the resource was made; look for it in a step before \
                           (method: GET, or reads: true), or write idempotent: true if the system makes no second one \
                           for the same Idempotency-Key";

/// Said of a target whose default scope contains its query. People edit queries.
const SCOPE_OF_QUERY: &str = "without `scope`, claims count only for the query as it is written now, and after an edit of it every object says \
                              IdentityChanged; write `scope` with a name for the database";

/// A good target, and what the rules of its warnings read.
pub(super) struct Checked<'c> {
    /// The document.
    pub(super) document: &'c Document,
    /// Its target.
    pub(super) target: &'c Target,
    /// The good targets before it.
    pub(super) earlier: &'c [(&'c Document, Arc<Target>)],
    /// Mistakes that the reader of the document found likely. The programs report them too.
    pub(super) likely: &'c [&'c Problem],
}

/// The places of a warning, with its message.
type Found = (Place, String);

/// The place of a warning.
enum Place {
    /// The key at a path of the document, or the nearest one above it.
    Key(Vec<String>),
    /// Line and column of the document.
    At(usize, usize),
}

/// A rule of `check` about a good target.
type Rule = fn(&Checked<'_>) -> Vec<Found>;

/// All warnings about good targets, in the order in which their rules are asked. `docs/reference/commands.md` has the
/// same list with details, and a report has them in the order of the text.
const WARNINGS: &[Rule] = &[
    // Texts that look like templates, keys that are indented too deep, JSON in a text, notations in an identity.
    likely_mistakes,
    // Which objects and resources it is about.
    shared_scope,
    one_identity,
    scope_of_query,
    shared_requests,
    lost_conditions,
    // What is read and compared.
    aws_traps,
    unobserved,
    // What is corrected.
    no_mode,
    half,
    incomplete_update,
    unheard_nudge,
    unmarked_look_up,
    untraceable_create,
    unguarded_create,
    unread_ids,
    made_without_end,
    // What it may reach.
    every_secret,
    unbounded_grants,
];

/// The warnings about these targets. The programs report the likely mistakes among them too.
pub(super) fn warnings(targets: &[(&Document, Arc<Target>)], likely: &[Problem]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (number, (document, target)) in targets.iter().enumerate() {
        let likely: Vec<_> = likely.iter().filter(|problem| problem.document == document.name).collect();
        let checked = Checked { document, target, earlier: &targets[..number], likely: &likely };
        for (place, message) in WARNINGS.iter().flat_map(|rule| rule(&checked)) {
            let place = match place {
                Place::At(line, column) => (line, column),
                Place::Key(path) => document.places.of_key(&path.iter().map(String::as_str).collect::<Vec<_>>()),
            };
            remarks.push(document.remark(Severity::Warning, place, message));
        }
    }
    remarks
}

/// A warning about the key at a path, if it applies.
fn at(path: &[&str], message: Option<impl Into<String>>) -> Vec<Found> {
    let key = || Place::Key(path.iter().map(|key| (*key).to_owned()).collect());
    message.into_iter().map(|message| (key(), message.into())).collect()
}

/// Warnings about keys.
fn of_keys(found: impl IntoIterator<Item = (impl AsRef<[&'static str]>, String)>) -> Vec<Found> {
    found.into_iter().flat_map(|(path, message)| at(path.as_ref(), Some(message))).collect()
}

fn likely_mistakes(checked: &Checked<'_>) -> Vec<Found> {
    let found = |problem: &&Problem| (Place::At(problem.line, problem.column), problem.message.clone());
    checked.likely.iter().map(found).collect()
}

/// A target that writes outside, and whose identities name things in the scope of another one.
fn shared_scope(checked: &Checked<'_>) -> Vec<Found> {
    let Checked { document, target, earlier, .. } = checked;
    let is_in_scope = |other: &&&Target| {
        writes(other) && other.scope.name == target.scope.name && !target.never_shares_identity(other)
    };
    let earlier: Vec<&Target> = earlier.iter().map(|(_, target)| &**target).collect();
    let Some(first) = earlier.iter().find(is_in_scope).filter(|_| writes(target)) else { return Vec::new() };
    let message = format!(
        "it writes to the scope that target `{}` writes to ({}): of objects with one identity only one has the external \
         resource, the others say IdentityTaken; give the targets a `scope` each if they mean different systems",
        first.name, target.scope.name
    );
    let key = if document.places.has_key(&["spec", "scope"]) { "scope" } else { "identity" };
    at(&["spec", key], Some(message))
}

fn one_identity(checked: &Checked<'_>) -> Vec<Found> {
    at(&["spec", "identity"], (!checked.target.has_own_identities()).then_some(ONE_IDENTITY))
}

/// A default scope that is made of a query.
fn scope_of_query(checked: &Checked<'_>) -> Vec<Found> {
    let places = &checked.document.places;
    let is_of_query = ["postgres", "mysql"].iter().any(|key| places.has_key(&["spec", "read", key]));
    let is_meant = !is_of_query || places.has_key(&["spec", "scope"]) || !writes(checked.target);
    at(&["spec", "identity"], (!is_meant).then_some(SCOPE_OF_QUERY))
}

fn shared_requests(checked: &Checked<'_>) -> Vec<Found> {
    of_keys(checked.target.shared_requests())
}

fn aws_traps(checked: &Checked<'_>) -> Vec<Found> {
    of_keys(checked.target.aws_traps())
}

fn unobserved(checked: &Checked<'_>) -> Vec<Found> {
    let unobserved = checked.target.unobserved().into_iter();
    unobserved.flat_map(|(key, message)| at(&["spec", "compare", "desired", &key], Some(message))).collect()
}

/// Conditions on objects whose operator removes them.
fn lost_conditions(Checked { target, .. }: &Checked<'_>) -> Vec<Found> {
    let operator = operator_of(target).filter(|one| one.replaces_conditions && !target.objects.keeps_reports());
    let limits =
        if target.may_keep_reports() { "" } else { ", with correct.nudge or mode: Observe, without publish and ready" };
    let said = operator.map(|Operator { name, .. }| {
        format!("{name} {REPLACES_CONDITIONS}, so both are lost each time: write objects.conditions: Report{limits}")
    });
    at(&["spec", "objects", "kind"], said)
}

/// A nudge that the operator of the objects does not hear.
fn unheard_nudge(Checked { target, .. }: &Checked<'_>) -> Vec<Found> {
    let (Some(Destination::Nudge(nudge)), Some(Operator { name, wakes_on, .. })) =
        (&target.correct.destination, operator_of(target))
    else {
        return Vec::new();
    };
    let said = match wakes_on {
        Wake::Any(_) => None,
        Wake::Only(annotation) if nudge.annotations().any(|one| one == *annotation) => None,
        Wake::Only(annotation) => {
            Some(format!("{name} hears no change of the metadata but of the annotation {annotation}: write that one"))
        }
        Wake::Never => Some(format!(
            "{name} hears no change of the metadata, so a nudge wakes nobody: only observe the objects with mode: Observe, without nudge"
        )),
    };
    at(&["spec", "correct", "nudge"], said)
}

fn operator_of(target: &Target) -> Option<&'static Operator> {
    Operator::of(target.objects.group(), &target.objects.kind)
}

fn no_mode(checked: &Checked<'_>) -> Vec<Found> {
    let has_mode = checked.document.places.has_key(&["spec", "correct", "mode"]);
    let is_missing = checked.target.correct.destination.is_some() && !has_mode;
    at(&["spec", "correct"], is_missing.then_some(NO_MODE))
}

/// Corrections that have one half and lack the other.
fn half(checked: &Checked<'_>) -> Vec<Found> {
    let target = checked.target;
    let actions = target.correct.actions();
    let (has, lacks) = match (actions.create, actions.update) {
        _ if !target.correct.mode.corrects() => return Vec::new(),
        (false, true) => ("update", "create: a missing resource is reported and never created"),
        (true, false) if !target.replaces_all() && !target.settles_all() => {
            ("create", "update: a difference is reported and never corrected")
        }
        _ => return Vec::new(),
    };
    let section = target.correct.key().unwrap_or_default();
    at(&["spec", "correct", section, has], Some(format!("it has {has} without {lacks}")))
}

fn incomplete_update(checked: &Checked<'_>) -> Vec<Found> {
    let target = checked.target;
    let messages = [without_update(&target.left_by_updates()), without_key(&target.lacking_in_updates())];
    let path = ["spec", "correct", target.correct.key().unwrap_or_default(), "update"];
    messages.into_iter().flat_map(|message| at(&path, message)).collect()
}

/// A create that begins with a POST that may be a look-up: the read is one, and a later step can write.
fn unmarked_look_up(checked: &Checked<'_>) -> Vec<Found> {
    let (Some(correct), Some(read)) = (http(checked.target), checked.target.read.http()) else { return Vec::new() };
    let asks = |first: &HttpStep| first.request.method == Method::POST && first.reads.is_none();
    let is_doubtful = correct.steps.create.len() > 1
        && correct.steps.create.first().is_some_and(asks)
        && read.steps().any(|step| step.request.method == Method::POST);
    at(&CREATE, is_doubtful.then_some(UNMARKED_LOOK_UP))
}

fn untraceable_create(checked: &Checked<'_>) -> Vec<Found> {
    let Some(correct) = http(checked.target) else { return Vec::new() };
    let message = |position| format!("step {} {UNTRACEABLE}", name_of(correct, position));
    at(&CREATE, correct.untraceable_create().map(message))
}

fn unguarded_create(checked: &Checked<'_>) -> Vec<Found> {
    let Some(correct) = http(checked.target) else { return Vec::new() };
    let message = |(look_up, post)| {
        format!(
            "step {} is a POST without `when` after the look-up of step {}, which nothing in it uses: it is sent also if the look-up finds \
             the resource; add a `when` that reads the look-up",
            name_of(correct, post),
            name_of(correct, look_up)
        )
    };
    at(&CREATE, correct.unguarded_create().map(message))
}

fn unread_ids(checked: &Checked<'_>) -> Vec<Found> {
    let message = |name: &&str| {
        format!(
            "a step stores `status.{name}`, and no address, `absentUntil` or `key` reads it, so nothing finds the resource by it: read \
             it there, or write `publish` if people are to see it"
        )
    };
    let path = ["spec", "correct", checked.target.correct.key().unwrap_or_default(), "create"];
    checked.target.unread_ids().iter().flat_map(|name| at(&path, Some(message(name)))).collect()
}

fn made_without_end(checked: &Checked<'_>) -> Vec<Found> {
    let Some(Destination::Kubernetes(correct)) = &checked.target.correct.destination else { return Vec::new() };
    let is_endless = correct.makes_what_is_selected(&checked.target.objects);
    at(&["spec", "correct", "kubernetes"], is_endless.then_some(MADE_WITHOUT_END))
}

/// Secrets of objects that may be in any namespace.
fn every_secret(checked: &Checked<'_>) -> Vec<Found> {
    let target = checked.target;
    let reads_every_secret = target.correct.mode.corrects()
        && target.objects.namespaces.is_empty()
        && target.secrets.iter().any(DeclaredSecret::is_of_object);
    at(&["spec", "secrets"], reads_every_secret.then_some(EVERY_SECRET))
}

fn unbounded_grants(checked: &Checked<'_>) -> Vec<Found> {
    of_keys(checked.target.unbounded_grants())
}

/// The place of an HTTP create.
const CREATE: [&str; 4] = ["spec", "correct", "http", "create"];

fn http(target: &Target) -> Option<&HttpCorrect> {
    match &target.correct.destination {
        Some(Destination::Http(correct)) => Some(correct),
        _ => None,
    }
}

/// The name of a step of `create`, or its number.
fn name_of(correct: &HttpCorrect, position: usize) -> String {
    let name = correct.steps.create.get(position).and_then(|step| step.name.clone());
    name.unwrap_or_else(|| (position + 1).to_string())
}

/// The warning about an update that has no write for these keys.
fn without_update(keys: &[String]) -> Option<String> {
    let which = match keys {
        [] => return None,
        [key] => format!("`{key}`"),
        keys => format!("one of `{}`", keys.join("`, `")),
    };
    Some(format!(
        "if {which} differs alone, no step of update writes it: nothing is sent, and the correction fails each time; add a step for \
         it, or widen a `when`"
    ))
}

/// The warning about an update that carries other keys than these.
fn without_key(keys: &[String]) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    let keys = keys.join("`, `");
    Some(format!(
        "no request of update carries `{keys}` of `desired`: where that differs, it is sent again and again and nothing heals; add it to a \
         body, or write body: \"${{desired}}\""
    ))
}

/// Returns true if its corrections change the external system by themselves.
fn writes(target: &Target) -> bool {
    target.correct.mode.corrects() && target.correct.writes_outside()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page with the table of warnings.
    const PAGE: &str = include_str!("../../../../docs/reference/commands.md");

    /// The rows of the table for each rule.
    const ROWS: [&[&str]; WARNINGS.len()] = [
        &[
            "text that looks like a template and is none",
            "`rules`, `writeOnly`, `hints` or `correct` indented under `desired`",
            "a `body` that is JSON in a text",
            "an `identity` that keeps apart what [`as`](target/compare.md#as) takes for equal",
        ],
        &["two targets write to one scope"],
        &["an `identity` that is the same for every object"],
        &["a corrected target with a query and without [`scope`](target/objects.md#scope)"],
        &[
            "a read, update or deletion without a field of the object",
            "a read with only other fields than the `identity`",
            "an update or deletion with only other fields than `identity` and read",
        ],
        &["conditions on the objects of an operator that replaces the list"],
        &[
            "an `absentWhen` that holds for every 400, or a step that accepts 400 without `refusedWhen`",
            "a host of another AWS region than `region` of `awsSigV4`",
        ],
        &["a key of `desired` that `observed` never has"],
        &["`correct` without `mode`"],
        &["`update` without `create`, or `create` without `update`"],
        &["an `update` that never writes a key of `desired`"],
        &["a nudge that the operator does not hear"],
        &["a `create` that begins with a `POST` without `reads`"],
        &["a `create` that stores what a `POST` answers, without a look-up before it"],
        &["a `POST` of `create` without `when` after a look-up that nothing in it uses"],
        &["a `store` of an id that no address, `absentUntil` or `key` reads"],
        &["a target that makes objects of the kind that it selects, without a label"],
        &["`secrets` with `fromObject` without `objects.namespaces`"],
        &["a `GRANT` of a name that no `require` bounds"],
    ];

    #[test]
    fn the_reference_lists_every_warning_in_order() {
        let table = PAGE.split("| Warning | Detail |").nth(1).unwrap_or_default();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let rows: Vec<_> =
            rows.map(|line| line.trim_matches('|').split(" | ").next().unwrap_or_default().trim()).collect();
        // Behind them are the warnings about kinds and ConfigMaps.
        let of_targets = ROWS.concat();
        assert_eq!(rows.get(..of_targets.len()), Some(&*of_targets), "{rows:#?}");
    }
}
