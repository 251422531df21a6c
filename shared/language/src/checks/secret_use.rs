//! Whether a target can do with its secrets what it says: send each where it may go, and none that may be gone by then.
//!
//! This file must not know what a secret is made of.

use crate::checks::insecure::goes_unread;
use crate::compare::Compare;
use crate::correct::{Correct, Destination};
use crate::secrets::DeclaredSecret;
use crate::systems::http::correct_step::HttpStep;
use crate::systems::postgres::correct::SqlStatement;
use crate::yaml::Node;
use crate::yaml::raw::Reader;

/// Refuses what a target does with its secrets where it must not or cannot; `insecure` lets them go anywhere.
pub(crate) fn check_secrets(
    reader: &mut Reader<'_>,
    spec: &Node,
    secrets: &[DeclaredSecret],
    insecure: bool,
    compare: &Compare,
    correct: &Correct,
) {
    check_write_only(reader, spec, compare, correct);
    check_deletion(reader, spec, secrets, correct);
    if !insecure {
        check_ways(reader, spec, secrets, correct);
    }
}

/// Refuses a field that cannot be read back where a correction would not send it: nobody would ever know that it is missing.
fn check_write_only(reader: &mut Reader<'_>, spec: &Node, compare: &Compare, correct: &Correct) {
    let at = spec.get("compare").and_then(|compare| compare.get("writeOnly")).map_or(spec.at, |node| node.at);
    for (position, field) in compare.write_only.iter().enumerate() {
        let place = format!("compare.writeOnly[{position}].secret");
        let Some(destination) = &correct.destination else {
            reader.refuse::<()>(at, format!("{place}: correct has no steps that could send it"));
            return;
        };
        let needs_update = !field.is_replaced(&compare.rules);
        for (action, is_needed, sends) in sent_by(destination, &field.secret) {
            if sends == Some(false) || sends.is_none() && is_needed && needs_update {
                let message = format!("{place}: no write of correct.{action} sends secrets.{}", field.secret);
                reader.refuse::<()>(at, message);
            }
        }
    }
}

/// The actions that make or change a resource, whether each is needed for a change, and whether a write of it sends the secret;
/// `None` where the target does not have the action.
fn sent_by(destination: &Destination, secret: &str) -> [(&'static str, bool, Option<bool>); 3] {
    let http = |steps: &[HttpStep]| {
        (!steps.is_empty()).then(|| steps.iter().any(|step| !step.looks_up() && step.sends(secret)))
    };
    let sql = |statements: &[SqlStatement]| {
        (!statements.is_empty()).then(|| statements.iter().any(|statement| statement.sends(secret)))
    };
    match destination {
        Destination::Http(to) => [
            ("http.create", false, http(&to.create)),
            ("http.update", true, http(&to.update)),
            ("http.replace", false, http(&to.replace)),
        ],
        Destination::Postgres(to) => [
            ("postgres.create", false, sql(&to.create)),
            ("postgres.update", true, sql(&to.update)),
            ("postgres.replace", false, sql(&to.replace)),
        ],
        // It may name Secrets of its own namespace, and is handed none.
        Destination::Job(_) => [("job.create", false, None), ("job.update", true, None), ("job.update", false, None)],
        // The operator that is woken corrects by itself.
        Destination::Nudge(_) => [("nudge", true, None), ("nudge", false, None), ("nudge", false, None)],
        // A manifest is read by whoever may read the object that it makes, so no secret stands in it.
        Destination::Kubernetes(_) => {
            [("kubernetes", true, None), ("kubernetes", false, None), ("kubernetes", false, None)]
        }
    }
}

/// Refuses a deletion that needs a Secret beside the object: where a namespace is deleted, its Secrets go before objects with
/// our finalizer do, and the deletion could never be done.
fn check_deletion(reader: &mut Reader<'_>, spec: &Node, secrets: &[DeclaredSecret], correct: &Correct) {
    let Some(destination) = &correct.destination else { return };
    let (kind, steps) = match destination {
        Destination::Http(http) => ("http", http.delete.len()),
        Destination::Postgres(postgres) => ("postgres", postgres.delete.len()),
        Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_) => return,
    };
    let sends = |index: usize, name: &str| match destination {
        Destination::Http(http) => http.delete.get(index).is_some_and(|step| step.sends(name)),
        Destination::Postgres(postgres) => postgres.delete.get(index).is_some_and(|statement| statement.sends(name)),
        Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_) => false,
    };
    let node = spec.get("correct").and_then(|correct| correct.get(kind)?.get("delete"));
    for secret in secrets.iter().filter(|secret| secret.is_of_object()) {
        if let Some(index) = (0..steps).find(|index| sends(*index, &secret.name)) {
            let message = format!(
                "correct.{kind}.delete[{index}]: secrets.{} stands beside the object, and is gone before it where its namespace is \
                 deleted; a deletion can send those of secretRef alone",
                secret.name
            );
            reader.refuse::<()>(node.map_or(spec.at, |node| node.at), message);
        }
    }
}

/// Refuses a step that would carry a secret in the clear. (Where a database is and how it is reached is said in its own
/// Secret, and judged when it is dialled.)
fn check_ways(reader: &mut Reader<'_>, spec: &Node, secrets: &[DeclaredSecret], correct: &Correct) {
    let Some(Destination::Http(http)) = &correct.destination else { return };
    let sends = |step: &&HttpStep| secrets.iter().any(|secret| step.sends(&secret.name));
    let Some(step) = http.steps().find(|step| sends(step) && !goes_unread(&step.request)) else { return };
    let message = format!(
        "correct.http: a secret would go unencrypted to {}; write https, or insecure: true beside correct",
        step.request.url.host()
    );
    let node = spec.get("correct").and_then(|correct| correct.get("http"));
    reader.refuse::<()>(node.map_or(spec.at, |node| node.at), message);
}
