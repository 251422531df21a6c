//! Checks the use of secrets: each is sent only to allowed places, and none is needed after it may have been deleted.

use crate::compare::Compare;
use crate::correct::Correct;
use crate::secrets::DeclaredSecret;
use crate::systems::steps::ACTIONS;
use crate::yaml::{Node, Reader};

/// Rejects forbidden or impossible uses of secrets. `insecure` allows them to go anywhere.
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

/// Rejects a write-only field that no correction would send. A missing field would never be noticed.
fn check_write_only(reader: &mut Reader<'_>, spec: &Node, compare: &Compare, correct: &Correct) {
    let at = spec.get("compare").and_then(|compare| compare.get("writeOnly")).map_or(spec.at, |node| node.at);
    for (position, field) in compare.write_only.iter().enumerate() {
        let place = format!("compare.writeOnly[{position}].secret");
        let Some(section) = correct.section() else {
            reader.refuse::<()>(at, format!("{place}: correct has no steps that could send it"));
            return;
        };
        let needs_update = !field.is_replaced(&compare.rules);
        for (action, writes) in ACTIONS.into_iter().zip(section.writes_secret(&field.secret)) {
            let is_missing = writes.is_none() && action == "update" && needs_update;
            if writes == Some(false) && action != "delete" || is_missing {
                let kind = section.key();
                let message = format!("{place}: no write of correct.{kind}.{action} sends secrets.{}", field.secret);
                reader.refuse::<()>(at, message);
            }
        }
    }
}

/// Rejects a deletion that needs a Secret next to the object. When a namespace is deleted, its Secrets go before
/// objects with our finalizer, so the deletion could never succeed.
fn check_deletion(reader: &mut Reader<'_>, spec: &Node, secrets: &[DeclaredSecret], correct: &Correct) {
    let Some(section) = correct.section() else { return };
    let kind = section.key();
    let node = spec.get("correct").and_then(|correct| correct.get(kind)?.get("delete"));
    for secret in secrets.iter().filter(|secret| secret.is_of_object()) {
        if let Some(index) = section.deletion_that_sends(&secret.name) {
            let message = format!(
                "correct.{kind}.delete[{index}]: secrets.{} stands beside the object, and is gone before it where its namespace is \
                 deleted; a deletion can send those of secretRef alone",
                secret.name
            );
            reader.refuse::<()>(node.map_or(spec.at, |node| node.at), message);
        }
    }
}

/// Rejects a step that would send a secret unencrypted. (The address of a database is in its own Secret and is checked
/// when it is dialled.)
fn check_ways(reader: &mut Reader<'_>, spec: &Node, secrets: &[DeclaredSecret], correct: &Correct) {
    let secrets: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    let Some(section) = correct.section() else { return };
    let Some(host) = section.sends_unencrypted(&secrets) else { return };
    let kind = section.key();
    let message = format!(
        "correct.{kind}: a secret would go unencrypted to {host}; write https, or insecure: true beside correct"
    );
    let node = spec.get("correct").and_then(|correct| correct.get(kind));
    reader.refuse::<()>(node.map_or(spec.at, |node| node.at), message);
}
