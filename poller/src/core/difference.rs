//! The comparison: which fields of the wish the observed state does not fulfil.
//!
//! It walks the wish, so that what the wish does not name is not managed. It must not know where either side came
//! from, nor how a difference is shown.

use serde_json::{Map, Number, Value};

/// One field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    /// Keys and indices from the root of the wish.
    pub path: Vec<&'a str>,
    /// What the wish says.
    pub desired: &'a Value,
    /// What was observed; `None` where it is absent or null.
    pub observed: Option<&'a Value>,
}

/// The differences in the order of the wish's keys; a list counts as one field.
#[must_use]
pub fn differences<'a>(desired: &'a Value, observed: &'a Value) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), desired, Some(observed), &mut found);
    found
}

fn walk<'a>(path: &mut Vec<&'a str>, desired: &'a Value, observed: Option<&'a Value>, found: &mut Vec<Difference<'a>>) {
    let observed = observed.filter(|value| !value.is_null());
    match (desired, observed) {
        (Value::Object(wished), Some(Value::Object(real))) => walk_fields(path, wished, real, found),
        _ if is_fulfilled(desired, observed) => {}
        _ => found.push(Difference { path: path.clone(), desired, observed }),
    }
}

fn walk_fields<'a>(
    path: &mut Vec<&'a str>,
    wished: &'a Map<String, Value>,
    real: &'a Map<String, Value>,
    found: &mut Vec<Difference<'a>>,
) {
    let mut keys: Vec<_> = wished.iter().collect();
    keys.sort_unstable_by_key(|(key, _)| key.as_str());
    for (key, value) in keys {
        path.push(key);
        walk(path, value, real.get(key), found);
        path.pop();
    }
}

/// Whether the observed value is what the wish asks for: more fields are allowed in objects, not in lists.
#[must_use]
pub fn is_fulfilled(desired: &Value, observed: Option<&Value>) -> bool {
    let observed = observed.filter(|value| !value.is_null());
    match (desired, observed) {
        (Value::Null, None) => true,
        (_, None) | (Value::Null, Some(_)) => false,
        (Value::Object(wished), Some(Value::Object(real))) => {
            wished.iter().all(|(key, value)| is_fulfilled(value, real.get(key)))
        }
        (Value::Array(wished), Some(Value::Array(real))) => {
            wished.len() == real.len() && wished.iter().zip(real).all(|(wish, item)| is_fulfilled(wish, Some(item)))
        }
        (Value::Number(wish), Some(Value::Number(real))) => is_same_number(wish, real),
        (wish, Some(real)) => wish == real,
    }
}

/// 1 equals 1.0; integers are compared exactly, beyond the 53 bits of a double too.
fn is_same_number(wish: &Number, real: &Number) -> bool {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(wish), whole(real)) {
        (Some(wish), Some(real)) => wish == real,
        _ => wish.as_f64() == real.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn paths(desired: &Value, observed: &Value) -> Vec<String> {
        differences(desired, observed).iter().map(|difference| format!("/{}", difference.path.join("/"))).collect()
    }

    #[test]
    fn only_what_the_wish_names_is_compared() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1, "b": 2}), vec![]),
            (json!({"a": 1}), json!({"a": 1.0}), vec![]),
            (json!({"a": 9_007_199_254_740_993_u64}), json!({"a": 9_007_199_254_740_992_u64}), vec!["/a"]),
            (json!({"a": 1}), json!({"a": "1"}), vec!["/a"]),
            (json!({"a": null}), json!({}), vec![]),
            (json!({"a": null}), json!({"a": 1}), vec!["/a"]),
            (json!({"a": 1}), json!({"a": null}), vec!["/a"]),
            (json!({"b": {"x": 1, "y": 2}, "a": 1}), json!({"b": {"x": 1, "y": 3}}), vec!["/a", "/b/y"]),
            (json!({"a": {"x": 1}}), json!({"a": 5}), vec!["/a"]),
            (json!({"l": [1, {"x": 1}]}), json!({"l": [1, {"x": 1, "more": 2}]}), vec![]),
            (json!({"l": [1, 2]}), json!({"l": [2, 1]}), vec!["/l"]),
            (json!({"l": [1]}), json!({"l": [1, 2]}), vec!["/l"]),
            (json!({"l": []}), json!({"l": []}), vec![]),
            (json!({"l": []}), json!({}), vec!["/l"]),
        ];
        for (desired, observed, expected) in cases {
            assert_eq!(paths(&desired, &observed), expected, "{desired} against {observed}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]", inner, 0..4).prop_map(|fields| json!(fields)),
            ]
        })
    }

    proptest! {
        #[test]
        fn anything_fulfils_itself(value in values()) {
            prop_assert!(differences(&value, &value).is_empty());
        }

        #[test]
        fn no_difference_means_fulfilled(desired in values(), observed in values()) {
            prop_assert_eq!(differences(&desired, &observed).is_empty(), is_fulfilled(&desired, Some(&observed)));
        }
    }
}
