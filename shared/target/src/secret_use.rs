//! Whether a target can do with its secrets what it says: send each where it may go, and none that may be gone by then.
//!
//! This file must not know what a secret is made of.

use crate::correct::{Correct, Destination, HttpStep};
use crate::insecure::goes_unread;
use crate::raw::Reader;
use crate::secrets::DeclaredSecret;
use crate::yaml::Node;

/// Refuses what a target does with its secrets where it must not or cannot; `insecure` lets them go anywhere.
pub(super) fn check_secrets(
    reader: &mut Reader<'_>,
    spec: &Node,
    (secrets, insecure): (&[DeclaredSecret], bool),
    correct: &Correct,
) {
    check_deletion(reader, spec, secrets, correct);
    if !insecure {
        check_ways(reader, spec, secrets, correct);
    }
}

/// Refuses a deletion that needs a Secret beside the object: where a namespace is deleted, its Secrets go before objects with
/// our finalizer do, and the deletion could never be done.
fn check_deletion(reader: &mut Reader<'_>, spec: &Node, secrets: &[DeclaredSecret], correct: &Correct) {
    let Some(destination) = &correct.destination else { return };
    let (kind, steps) = match destination {
        Destination::Http(http) => ("http", http.delete.len()),
        Destination::Postgres(postgres) => ("postgres", postgres.delete.len()),
        Destination::Nudge(_) => return,
    };
    let sends = |index: usize, name: &str| match destination {
        Destination::Http(http) => http.delete.get(index).is_some_and(|step| step.sends(name)),
        Destination::Postgres(postgres) => postgres.delete.get(index).is_some_and(|statement| statement.sends(name)),
        Destination::Nudge(_) => false,
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
