//! Formats a value as a few printable characters without secrets.

use drift_api::secrets::secret_names::{is_named_like_a_secret, looks_secret};
use drift_api::secrets::secret_texts::REDACTED;
use drift_language::{ListKind, RulePlace};
use serde_json::Value;

use super::secrecy::is_hidden_text;
use super::texts::{cut, show_text};

/// Maximum characters of a shown path, so that a hostile key cannot displace the other fields.
const MAX_PATH_CHARACTERS: usize = 128;
/// Bytes of an item that are formatted before it is cut.
const MAX_ITEM_BYTES: usize = 4_096;

/// Formats a field's value: scalars in full, lists and maps by their size.
pub(super) fn show_value(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => format!("\"{}\"", show_text(text)),
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => format!("an object of {} fields", fields.len()),
        number_or_boolean => number_or_boolean.to_string(),
    }
}

/// Formats a whole item of a list: scalars in full, other values as JSON.
pub(super) fn show_item(item: &Value, place: &RulePlace<'_>, is_secret: bool) -> String {
    let mut shown = String::new();
    write_item(item, place, is_secret, &mut shown);
    if item.is_string() { shown } else { cut(&shown) }
}

fn write_item(item: &Value, place: &RulePlace<'_>, is_secret: bool, shown: &mut String) {
    if shown.len() > MAX_ITEM_BYTES {
        return;
    }
    let is_hidden = place.is_redacted() || (place.redacts_below() && !item.is_object() && !item.is_array());
    match item {
        _ if is_hidden => shown.push_str(REDACTED),
        Value::String(text) if is_hidden_text(place, text, is_secret) => shown.push_str(REDACTED),
        Value::Array(items) => {
            let ordered = *place.list() == ListKind::Ordered;
            shown.push('[');
            for (position, item) in items.iter().enumerate() {
                separate(position, shown);
                let below = if ordered { place.item(position) } else { place.any_item() };
                let is_hidden = place.redacts_single_items();
                match is_hidden {
                    true => shown.push_str(REDACTED),
                    false => write_item(item, &below, is_secret || is_named_like_a_secret(item), shown),
                }
            }
            shown.push(']');
        }
        Value::Object(fields) => {
            shown.push('{');
            for (position, (name, field)) in fields.iter().enumerate() {
                separate(position, shown);
                shown.push_str(&format!("\"{}\":", show_text(name)));
                write_item(field, &place.field(name), is_secret || looks_secret(name), shown);
            }
            shown.push('}');
        }
        Value::Null => shown.push_str("null"),
        scalar => shown.push_str(&show_value(scalar)),
    }
}

fn separate(position: usize, shown: &mut String) {
    if position > 0 {
        shown.push(',');
    }
}

/// Returns a path with both ends of a long one.
pub(super) fn cut_path(path: &str) -> String {
    middle_out(path, MAX_PATH_CHARACTERS)
}

/// Returns at most `most` characters, with both ends of a longer text.
fn middle_out(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let head = kept.div_ceil(2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - (kept - head)).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_text_are_shown() {
        assert_eq!(middle_out("abcdefgh", 8), "abcdefgh");
        assert_eq!(middle_out("abcdefghi", 8), "abcd…ghi");
        assert_eq!(middle_out("ääääääbbb", 4), "ää…b");
    }
}
