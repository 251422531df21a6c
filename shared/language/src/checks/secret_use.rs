//! Whether a target can do with its secrets what it says: send each where it may go, and none that may be gone by then.

use crate::compare::Compare;
use crate::correct::Correct;
use crate::secrets::DeclaredSecret;
use crate::systems::section::SentBy;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

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
        let Some(section) = correct.section() else {
            reader.refuse::<()>(at, format!("{place}: correct has no steps that could send it"));
            return;
        };
        let needs_update = !field.is_replaced(&compare.rules);
        for SentBy { action, is_needed, sends } in section.sent_by(&field.secret) {
            if sends == Some(false) || sends.is_none() && is_needed && needs_update {
                let message = format!("{place}: no write of correct.{action} sends secrets.{}", field.secret);
                reader.refuse::<()>(at, message);
            }
        }
    }
}

/// Refuses a deletion that needs a Secret beside the object: where a namespace is deleted, its Secrets go before objects with
/// our finalizer do, and the deletion could never be done.
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

/// Refuses a step that would carry a secret in the clear. (Where a database is and how it is reached is said in its own
/// Secret, and judged when it is dialled.)
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
