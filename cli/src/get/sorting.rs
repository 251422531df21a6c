//! The order of `--sort-by`.

use super::json_paths::{JsonPath, order};
use super::rows::Row;

/// The columns, and where the JSON of a row has them.
const COLUMNS: [(&str, &str); 9] = [
    ("namespace", ".namespace"),
    ("name", ".name"),
    ("drift", ".driftObserved.status"),
    ("since", ".driftObserved.since"),
    ("reason", ".driftObserved.reason"),
    ("fields", ".driftObserved.fields"),
    ("corrected", ".driftCorrected.reason"),
    ("next", ".next"),
    ("target", ".target"),
];

/// A column, or a path into the JSON of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortKey(JsonPath);

impl SortKey {
    /// Reads the name of a column in any case, or a JSONPath.
    ///
    /// # Errors
    /// A sentence that names the path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let column = COLUMNS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        JsonPath::parse(column.map_or(text, |(_, path)| path)).map(Self)
    }

    /// Sorts rows by the first value at the path. Rows without one come last, and equal ones keep their order.
    ///
    /// # Errors
    /// A sentence, if no row has such a field.
    pub(super) fn sort(&self, rows: &mut [Row]) -> Result<(), String> {
        let of = |row: &Row| {
            let json = row.json();
            self.0.find(&json).first().map(|value| (*value).clone())
        };
        let mut keyed: Vec<_> = rows.iter().map(|row| (of(row), row.clone())).collect();
        let is_column = COLUMNS.iter().any(|(_, path)| *path == self.0.text());
        if !rows.is_empty() && !is_column && keyed.iter().all(|(key, _)| key.is_none()) {
            let names = COLUMNS.map(|(name, _)| name).join(", ");
            let path = self.0.text();
            return Err(format!(
                "--sort-by: no object has {path}; write a column ({names}), or a path that an item of -o json has"
            ));
        }
        keyed.sort_by(|(one, _), (other, _)| order(one.as_ref(), other.as_ref()));
        rows.iter_mut().zip(keyed).for_each(|(place, (_, row))| *place = row);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::get::rows::fixtures::row;
    use serde_json::json;

    fn verdict(name: &str, reason: &str, since: &str) -> Row {
        let condition = json!({"type": "driftObserved", "status": "True", "reason": reason, "message": "m",
            "observedGeneration": 2, "lastTransitionTime": since});
        row(name, &json!([condition]))
    }

    #[test]
    fn rows_are_sorted_by_column_or_path() {
        let new = row("new", &json!([]));
        let rows = [
            verdict("b", "FieldsDiffer", "2026-01-02T00:00:00Z"),
            verdict("a", "NotCreated", "2026-01-01T00:00:00Z"),
            new,
        ];
        for (key, expected) in [
            ("name", Ok("a b new")),
            ("NAME", Ok("a b new")),
            ("since", Ok("a b new")),
            ("{.driftObserved.reason}", Ok("b a new")),
            (".driftObserved.reason", Ok("b a new")),
            ("driftObserved.reason", Ok("b a new")),
            ("corrected", Ok("b a new")),
            (".target", Ok("b a new")),
            (".metadata.name", Err("--sort-by: no object has .metadata.name; write a column (namespace, name, ")),
        ] {
            let mut sorted = rows.clone();
            let said = SortKey::parse(key).unwrap().sort(&mut sorted);
            match expected {
                Ok(names) => {
                    let sorted: Vec<_> = sorted.iter().map(|row| row.name.as_str()).collect();
                    assert_eq!((said, sorted.join(" ").as_str()), (Ok(()), names), "{key}");
                }
                Err(start) => assert!(said.as_ref().unwrap_err().starts_with(start), "{key}: {said:?}"),
            }
        }
        assert!(SortKey::parse(".a[").is_err());
        assert_eq!(SortKey::parse("nothing").unwrap().sort(&mut []), Ok(()));
    }
}
