//! The rows that a command line asks for, and the sentence in their place if there are none.

use drift_api::condition::ConditionStatus;
use drift_api::held_corrections::Held;

use super::rows::Row;

/// The rows that are asked for, by status and by hold. Both statuses together mean either.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// Only drifted objects.
    pub(crate) drifted: bool,
    /// Only objects whose status is unknown.
    pub(crate) unknown: bool,
    /// Of these only objects that something holds.
    pub(crate) held: bool,
}

impl Wanted {
    /// The sentence in the place of a table if none of the rows that were found is asked for.
    #[must_use]
    pub(crate) fn nothing_of(&self, found: &[Row], namespace: Option<&str>) -> String {
        let what = match (self.drifted, self.unknown) {
            (true, false) => "nothing drifted",
            (false, true) => "nothing is unknown",
            (false, false) => "nothing is held",
            (true, true) => "nothing drifted or is unknown",
        };
        let what =
            if self.held && (self.drifted || self.unknown) { format!("{what} and is held") } else { what.to_owned() };
        match namespace {
            _ if !found.is_empty() => format!("{what}: {}", counts(found)),
            Some(namespace) => format!("no objects found in {namespace} (-A lists all namespaces)"),
            None => "no objects found in any namespace".to_owned(),
        }
    }

    /// Returns true if this row is asked for.
    #[must_use]
    pub(crate) fn wants(&self, row: &Row) -> bool {
        match row.status() {
            _ if self.held && !is_held(row) => false,
            _ if !self.drifted && !self.unknown => true,
            Some(ConditionStatus::True) => self.drifted,
            Some(ConditionStatus::Unknown) => self.unknown,
            Some(ConditionStatus::False) | None => false,
        }
    }
}

/// Returns true if something but a poll has to happen before a correction, a deletion or a verdict can follow.
fn is_held(row: &Row) -> bool {
    let is_by_object = row.next.held().is_some_and(|why| why != Held::NotVerified);
    row.hold.is_some() || (is_by_object && !row.unread)
}

/// The wanted rows by namespace, kind and name, without duplicates of objects that two targets select.
#[must_use]
pub(crate) fn arrange(mut rows: Vec<Row>, wanted: Wanted) -> Vec<Row> {
    rows.retain(|row| wanted.wants(row));
    let place = |row: &Row| (row.namespace.clone(), row.kind.clone(), row.api_version.clone(), row.name.clone());
    rows.sort_by_cached_key(|row| (place(row), row.target.clone()));
    rows.dedup_by_key(|row| place(row));
    rows
}

/// The number of rows of each status: `2 objects in sync, 1 unknown`.
fn counts(rows: &[Row]) -> String {
    let statuses = [
        (Some(ConditionStatus::False), "in sync"),
        (Some(ConditionStatus::True), "drifted"),
        (Some(ConditionStatus::Unknown), "unknown"),
        (None, "being deleted"),
    ];
    let counted = statuses.map(|(status, word)| (rows.iter().filter(|row| row.status() == status).count(), word));
    let mut noun = Some(if counted.iter().find(|(count, _)| *count > 0).is_some_and(|(count, _)| *count == 1) {
        " object"
    } else {
        " objects"
    });
    let parts = counted.iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, word)| format!("{count}{} {word}", noun.take().unwrap_or_default()));
    parts.collect::<Vec<_>>().join(", ")
}
