//! Warnings about good targets: two that write to one place, corrections that lack a half, grants that are too wide.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_language::{DeclaredSecret, Destination, HttpStep, Target};
use http::Method;

use crate::check::document::{Document, Remark, Severity};

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

/// The doubts about these targets.
pub(super) fn doubts(targets: &[(&Document, Arc<Target>)]) -> Vec<Remark> {
    let mut remarks = shared_scopes(targets);
    for (document, target) in targets {
        let mut warn = |path: &[&str], message: &str| {
            let place = document.places.of_key(path);
            remarks.push(document.remark(Severity::Warning, place, message.to_owned()));
        };
        if !target.has_own_identities() {
            warn(&["spec", "identity"], ONE_IDENTITY);
        }
        if target.correct.destination.is_some() && !document.places.has_key(&["spec", "correct", "mode"]) {
            warn(&["spec", "correct"], NO_MODE);
        }
        if let Some(message) = without_update(&target.left_by_updates()) {
            warn(&["spec", "correct", target.correct.key().unwrap_or_default(), "update"], &message);
        }
        if let Some(message) = without_key(&target.lacking_in_updates()) {
            warn(&["spec", "correct", target.correct.key().unwrap_or_default(), "update"], &message);
        }
        if writes(target) && has_scope_of_query(document) {
            warn(&["spec", "identity"], SCOPE_OF_QUERY);
        }
        if reads_every_secret(target) {
            warn(&["spec", "secrets"], EVERY_SECRET);
        }
        for message in doubts_of_create(target) {
            warn(&["spec", "correct", "http", "create"], &message);
        }
        if let Some(Destination::Kubernetes(correct)) = &target.correct.destination
            && correct.makes_what_is_selected(&target.objects)
        {
            warn(&["spec", "correct", "kubernetes"], MADE_WITHOUT_END);
        }
        for (path, message) in target.shared_requests().into_iter().chain(target.aws_traps()) {
            warn(&path, &message);
        }
        for (path, message) in target.unbounded_grants() {
            warn(&path, &message);
        }
        for (key, message) in target.unobserved() {
            warn(&["spec", "compare", "desired", &key], &message);
        }
        if let Some((has, lacks)) = half(target) {
            let section = target.correct.key().unwrap_or_default();
            warn(&["spec", "correct", section, has], &format!("it has {has} without {lacks}"));
        }
    }
    remarks
}

/// Returns the half of its corrections that a target has, and the one that it lacks.
fn half(target: &Target) -> Option<(&'static str, &'static str)> {
    let actions = target.correct.actions();
    match (actions.create, actions.update) {
        _ if !target.correct.mode.corrects() => None,
        (false, true) => Some(("update", "create: a missing resource is reported and never created")),
        (true, false) if !target.replaces_all() && !target.settles_all() => {
            Some(("create", "update: a difference is reported and never corrected"))
        }
        _ => None,
    }
}

/// Returns true if the controller has to read the Secrets of all namespaces.
fn reads_every_secret(target: &Target) -> bool {
    target.correct.mode.corrects()
        && target.objects.namespaces.is_empty()
        && target.secrets.iter().any(DeclaredSecret::is_of_object)
}

/// The doubts about the steps of a create.
fn doubts_of_create(target: &Target) -> Vec<String> {
    let mut doubts = Vec::from_iter(has_unmarked_look_up(target).then(|| UNMARKED_LOOK_UP.to_owned()));
    if let Some(Destination::Http(correct)) = &target.correct.destination
        && let Some(position) = correct.untraceable_create()
    {
        let name = correct.steps.create.get(position).and_then(|step| step.name.clone());
        doubts.push(format!("step {} {UNTRACEABLE}", name.unwrap_or_else(|| (position + 1).to_string())));
    }
    if let Some(Destination::Http(correct)) = &target.correct.destination
        && let Some((look_up, post)) = correct.unguarded_create()
    {
        let name = |position: usize| {
            let name = correct.steps.create.get(position).and_then(|step| step.name.clone());
            name.unwrap_or_else(|| (position + 1).to_string())
        };
        doubts.push(format!(
            "step {} is a POST without `when` after the look-up of step {}, which nothing in it uses: it is sent also if the look-up finds \
             the resource; add a `when` that reads the look-up",
            name(post),
            name(look_up)
        ));
    }
    doubts
}

/// Returns true if a create begins with a POST that may be a look-up: the read is one, and a later step can write.
fn has_unmarked_look_up(target: &Target) -> bool {
    let (Some(Destination::Http(correct)), Some(read)) = (&target.correct.destination, target.read.http()) else {
        return false;
    };
    let asks = |first: &HttpStep| first.request.method == Method::POST && first.reads.is_none();
    correct.steps.create.len() > 1
        && correct.steps.create.first().is_some_and(asks)
        && read.steps().any(|step| step.request.method == Method::POST)
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

/// Targets that write outside and whose identities name things in one scope.
fn shared_scopes(targets: &[(&Document, Arc<Target>)]) -> Vec<Remark> {
    let mut scopes = BTreeMap::<&str, Vec<&Target>>::new();
    let mut remarks = Vec::new();
    for (document, target) in targets.iter().filter(|(_, target)| writes(target)) {
        let others = scopes.entry(&*target.scope.name).or_default();
        let first = others.iter().find(|other| !target.never_shares_identity(other)).copied();
        others.push(target);
        let Some(first) = first else { continue };
        let message = format!(
            "it writes to the scope that target `{}` writes to ({}): of objects with one identity only one has the external \
             resource, the others say IdentityTaken; give the targets a `scope` each if they mean different systems",
            first.name, target.scope.name
        );
        let path: &[&str] =
            if document.places.has_key(&["spec", "scope"]) { &["spec", "scope"] } else { &["spec", "identity"] };
        remarks.push(document.remark(Severity::Warning, document.places.of_key(path), message));
    }
    remarks
}

/// Returns true if the default scope holds, and is made of a query.
fn has_scope_of_query(document: &Document) -> bool {
    let mut databases = ["postgres", "mysql"].iter();
    databases.any(|key| document.places.has_key(&["spec", "read", key])) && !document.places.has_key(&["spec", "scope"])
}

/// Returns true if its corrections change the external system by themselves.
fn writes(target: &Target) -> bool {
    target.correct.mode.corrects() && target.correct.writes_outside()
}
