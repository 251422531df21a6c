//! The fields of a drift, read from the sentence of a condition: `1 field differs: /ttl desired 300, observed 60`.
//!
//! The sentence is already redacted, so nothing secret can appear here.

use drift_api::secrets::secret_texts::REDACTED;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Its path, for example `/ttl`.
    pub path: String,
    /// The desired value, as the sentence shows it.
    pub desired: String,
    /// The observed value, as the sentence shows it.
    pub observed: String,
}

/// The fields that a sentence names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldChanges {
    /// The fields with their values.
    pub fields: Vec<FieldChange>,
    /// The number of fields that differ and are not named.
    pub more: usize,
}

impl FieldChanges {
    /// Parses the sentence of a verdict; `None` if it names no fields, or not exactly as many as it counts.
    #[must_use]
    pub fn parse(sentence: &str) -> Option<Self> {
        let (head, fields) = sentence.split_once(" differ: ").or_else(|| sentence.split_once(" differs: "))?;
        // A note about corrections without effect may come before the count.
        let head = head.rsplit(": ").next()?;
        let count: usize = head.strip_suffix(" fields").or_else(|| head.strip_suffix(" field"))?.parse().ok()?;
        let mut parts = joined(fields);
        let more = parts.last().and_then(|last| last.strip_prefix("and ")?.strip_suffix(" more")?.parse().ok());
        parts.truncate(parts.len() - usize::from(more.is_some()));
        let fields: Vec<_> = parts.iter().map(|part| FieldChange::parse(part)).collect::<Option<_>>()?;
        let more = more.unwrap_or(0);
        (fields.len() + more == count).then_some(Self { fields, more })
    }
}

/// The parts between semicolons. A part that does not begin like a field belongs to the value before it.
fn joined(fields: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in fields.split("; ") {
        let begins_field = part.starts_with('/') || part == REDACTED;
        let is_count = part.starts_with("and ") && part.ends_with(" more");
        match parts.last_mut() {
            Some(last) if !begins_field && !is_count => {
                last.push_str("; ");
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

impl FieldChange {
    /// Parses one field, for example `/ttl desired 300, observed 60`, `/members missing "bob"` or `/token (redacted)`.
    fn parse(part: &str) -> Option<Self> {
        let change = |path: &str, desired: &str, observed: &str| {
            Some(Self { path: path.to_owned(), desired: desired.to_owned(), observed: observed.to_owned() })
        };
        if part == REDACTED {
            return change(REDACTED, REDACTED, REDACTED);
        }
        let fixed = [
            (REDACTED, (REDACTED, REDACTED)),
            ("in another order", ("this order", "another order")),
            ("changed", ("this item", "another item")),
            ("missing", ("present", "absent")),
            ("unexpected", ("absent", "present")),
        ];
        let found = ["desired ", "missing ", "unexpected ", "observed "].into_iter().filter_map(|word| {
            let start = part.find(&format!(" {word}"))?;
            Some((start, word, &part[start + 1 + word.len()..]))
        });
        match found.min_by_key(|(start, ..)| *start) {
            Some((end, "desired ", values)) => {
                let (desired, observed) = values.split_once(", observed ")?;
                change(&part[..end], desired, observed)
            }
            Some((end, "missing ", value)) => change(&part[..end], value, "absent"),
            Some((end, "unexpected ", value)) => change(&part[..end], "absent", value),
            Some((end, _, times)) => change(&part[..end], "once", times),
            None => fixed.into_iter().find_map(|(words, (desired, observed))| {
                let path = part.strip_suffix(words)?.strip_suffix(' ')?;
                change(path, desired, observed)
            }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::fixtures::ruled;
    use crate::engine::judgement::description::Description;
    use crate::engine::judgement::difference::find_differences;

    fn sentence(rules: &str, desired: &Value, observed: &Value) -> Option<String> {
        let mut description = Description::without(None);
        find_differences(&ruled(rules).compare.rules, desired, observed, &mut |found| description.add(found)).unwrap();
        description.sentence()
    }

    /// The fields as `path|desired|observed`.
    fn shown(sentence: &str) -> Vec<String> {
        let changes = FieldChanges::parse(sentence).unwrap_or_default();
        let line = |change: &FieldChange| format!("{}|{}|{}", change.path, change.desired, change.observed);
        let more = (changes.more > 0).then(|| format!("{} more", changes.more));
        changes.fields.iter().map(line).chain(more).collect()
    }

    #[test]
    fn a_note_before_the_count_is_no_field() {
        let noted = "sent twice, the same answer: perhaps the system keeps another form, and a rule with as: number in compare \
                     ends that: 1 field differs: /a desired \"1\", observed 1";
        let changes = FieldChanges::parse(noted).unwrap();
        assert_eq!((changes.fields.len(), changes.fields[0].path.as_str()), (1, "/a"));
    }

    #[test]
    fn the_fields_of_a_sentence_become_rows() {
        let records = "{path: /r, list: map, keys: [name]}";
        let set = "{path: /m, list: set}";
        let many = json!({"l": (0..20).collect::<Vec<_>>()});
        let table = [
            ("", json!({"a": 1, "b": true}), json!({"a": 2}), vec!["/a|1|2", "/b|true|absent"]),
            ("", json!({"a": "x; y"}), json!({"a": "z, observed"}), vec!["/a|\"x; y\"|\"z, observed\""]),
            (set, json!({"m": ["bob"]}), json!({"m": ["eve"]}), vec!["/m|\"bob\"|absent", "/m|absent|\"eve\""]),
            (records, json!({"r": [{"name": "a"}]}), json!({"r": []}), vec!["/r[name=a]|present|absent"]),
            (records, json!({"r": []}), json!({"r": [{"name": "a"}]}), vec!["/r[name=a]|absent|present"]),
            ("", json!({"l": [1, 2]}), json!({"l": [2, 1]}), vec!["/l|this order|another order"]),
            ("", json!({"token": "hunter2"}), json!({"token": "x"}), vec!["/token|(redacted)|(redacted)"]),
            ("", json!({"l": []}), json!({}), vec!["/l|0 items|absent"]),
        ];
        for (rules, desired, observed, expected) in table {
            let sentence = sentence(rules, &desired, &observed).unwrap();
            assert_eq!(shown(&sentence), expected, "{sentence}");
        }
        let cut = shown(&sentence(set, &json!({"m": many["l"]}), &json!({"m": []})).unwrap());
        assert_eq!((cut.len(), cut[8].as_str()), (9, "12 more"));
        let twice = json!({"r": [{"name": "a"}, {"name": "a"}]});
        let twice = sentence(records, &json!({"r": [{"name": "a"}]}), &twice).unwrap();
        assert_eq!(shown(&twice), ["/r[name=a]|once|twice"]);
    }

    #[test]
    fn other_sentences_stay_sentences() {
        for sentence in [
            "the external resource does not exist yet",
            "2 fields differ: /a desired 1, observed 2",
            "2 fields differ: /a desired 1, observed 2; /b desired \"long…",
            "1 field differs: a desired 1, observed 2; /b desired 1, observed 2",
            "1 field differs: /a",
            "many fields differ: /a desired 1, observed 2",
        ] {
            assert_eq!(FieldChanges::parse(sentence), None, "{sentence}");
        }
    }

    proptest! {
        #[test]
        fn any_sentence_can_be_parsed(text in "\\PC{0,60}", count in 0usize..3) {
            let _ = FieldChanges::parse(&text);
            let _ = FieldChanges::parse(&format!("{count} fields differ: /{text}"));
        }
    }
}
