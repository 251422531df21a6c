//! `as`: the form in which a value is compared.
//!
//! A text and a number can have the same meaning in two notations. A form maps both to one value.

use std::borrow::Cow;

use ipnet::IpNet;
use serde_json::{Number, Value};

use crate::values::addresses::parse_network;
use crate::values::decimal::Decimal;
use crate::values::json::parse_json;
use crate::values::texts::normal_text;
use crate::values::units::{parse_duration, parse_quantity, parse_timestamp, unix_time};

/// Maximum number of values in one text that holds JSON, the same as for a response.
const MAX_JSON_NODES: usize = 200_000;

/// Parses a text that holds JSON.
#[must_use]
pub fn json_of(text: &str) -> Option<Value> {
    parse_json(text.as_bytes(), MAX_JSON_NODES).ok()
}

/// Form in which a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A Kubernetes quantity: `1Gi`, `500m`, 2.
    Quantity,
    /// A number, also in a text: `"5"` is 5.
    Number,
    /// A duration: `1h30m`, `PT1H30M`, `01:30:00`, or a number of seconds.
    Duration,
    /// A point in time: in RFC 3339 format, or a number, which is a Unix time.
    Timestamp,
    /// An IP address, also with a prefix length.
    Ip,
    /// A network in CIDR notation. Bits behind the prefix do not count.
    Cidr,
    /// A text compared without regard to case.
    CaseInsensitive,
    /// A text compared in Unicode normal form, without regard to the kind of line ends.
    Text,
    /// A text that holds JSON.
    Json,
}

/// The normalised value of a scalar. Equal scalars have equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Meaning<'v> {
    /// A boolean value.
    Truth(bool),
    /// A number, written as one or in the notation of a form.
    Number(Decimal),
    /// A point in time, in seconds since 1970. No other number equals it.
    Time(Decimal),
    /// An address or a network, with its prefix length.
    Network(IpNet),
    /// A text value.
    Text(Cow<'v, str>),
}

/// Defines the keywords of the forms, and the rules that contain them.
macro_rules! keywords {
    ($($word:literal => $form:ident),* $(,)?) => {
        impl Form {
            /// Every form with its keyword.
            pub(super) const WORDS: [(&'static str, Self); [$($word),*].len()] = [$(($word, Self::$form)),*];

            /// The rule of `compare` with this form, as a target writes it.
            pub(crate) const fn rule(self) -> &'static str {
                match self {
                    $(Self::$form => concat!("as: ", $word),)*
                }
            }
        }
    };
}

keywords! {
    "quantity" => Quantity,
    "number" => Number,
    "duration" => Duration,
    "timestamp" => Timestamp,
    "ip" => Ip,
    "cidr" => Cidr,
    "caseInsensitive" => CaseInsensitive,
    "text" => Text,
    "json" => Json,
}

impl Form {
    /// The type of its values in messages. `None` if every value has the form.
    const fn noun(self) -> Option<&'static str> {
        match self {
            Self::Quantity => Some("quantity"),
            Self::Number => Some("number"),
            Self::Duration => Some("duration"),
            Self::Timestamp => Some("time"),
            Self::Ip => Some("IP address"),
            Self::Cidr => Some("network"),
            Self::Json => Some("JSON"),
            Self::CaseInsensitive | Self::Text => None,
        }
    }

    /// Parses a value in the notation of the form. `None` if it is none.
    fn parse(self, value: &Value) -> Option<Meaning<'_>> {
        match (self, value) {
            (Self::Quantity, Value::String(text)) => parse_quantity(text).map(Meaning::Number),
            (Self::Number, Value::String(text)) => Decimal::parse(text).map(Meaning::Number),
            (Self::Duration, Value::String(text)) => parse_duration(text).map(Meaning::Number),
            (Self::Timestamp, Value::String(text)) => parse_timestamp(text).map(Meaning::Time),
            (Self::Ip, Value::String(text)) => parse_network(text).map(Meaning::Network),
            (Self::Cidr, Value::String(text)) => parse_network(text).map(|network| Meaning::Network(network.trunc())),
            (Self::CaseInsensitive, Value::String(text)) => Some(Meaning::Text(Cow::Owned(without_case(text)))),
            (Self::Text, Value::String(text)) => Some(Meaning::Text(normal_text(text))),
            (Self::Timestamp, Value::Number(number)) => unix_time(number).map(Meaning::Time),
            (Self::Quantity | Self::Number | Self::Duration, Value::Number(number)) => {
                Decimal::of(number).map(Meaning::Number)
            }
            _ => None,
        }
    }

    /// Returns the type, if a scalar is no value of it.
    pub(super) fn type_missed_by(self, value: &Value) -> Option<&'static str> {
        let is_value = match (self, value) {
            (_, Value::Null | Value::Array(_) | Value::Object(_)) => true,
            (Self::Json, Value::String(text)) => json_of(text).is_some(),
            (Self::Json, _) => true,
            _ => self.parse(value).is_some(),
        };
        self.noun().filter(|_| !is_value)
    }

    /// Returns true if the form yields numbers, to which a tolerance applies.
    pub(super) const fn is_numeric(self) -> bool {
        matches!(self, Self::Quantity | Self::Number | Self::Duration | Self::Timestamp)
    }
}

/// Returns true for null, and for a text, list or map without content. `0` and `false` are values.
pub(super) fn is_empty(form: Option<Form>, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) if form == Some(Form::Text) => matches!(text.as_str(), "" | "\n" | "\r\n"),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Normalises a scalar. A value that is none of the form, such as `infinity` in place of a time, means itself. `None`
/// for null, lists and maps.
pub(super) fn meaning(form: Option<Form>, value: &Value) -> Option<Meaning<'_>> {
    form.and_then(|form| form.parse(value)).or_else(|| plain_meaning(value))
}

fn plain_meaning(value: &Value) -> Option<Meaning<'_>> {
    match value {
        Value::Bool(truth) => Some(Meaning::Truth(*truth)),
        Value::Number(number) => Decimal::of(number).map(Meaning::Number),
        Value::String(text) => Some(Meaning::Text(Cow::Borrowed(text))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Maximum bytes of a text for which a form is looked for. Names, addresses and durations are shorter.
const MAX_BYTES_OF_FORMS: usize = 4_096;

/// Returns the rule with the first form in which two values have the same meaning.
pub(super) fn common_form(desired: &Value, observed: &Value) -> Option<&'static str> {
    let is_short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= MAX_BYTES_OF_FORMS);
    let is_json =
        |value: &Value| value.as_str().and_then(json_of).is_some_and(|json| json.is_object() || json.is_array());
    let is_prefixed = |value: &Value| value.as_str().is_some_and(|text| text.contains('/'));
    let joins = |form: Form| match form {
        // What has a prefix length is a network more often than an address.
        Form::Ip if is_prefixed(desired) || is_prefixed(observed) => false,
        // Of two numbers, one is a thousand times the other by chance.
        Form::Timestamp if desired.is_number() && observed.is_number() => false,
        Form::Json => is_json(desired) && is_json(observed) && texts_of(desired) == texts_of(observed),
        form => is_same(Some(form), None, desired, observed),
    };
    // `as: caseInsensitive` fits some notations of an address by chance.
    let forms = [
        Form::Number,
        Form::Ip,
        Form::Cidr,
        Form::CaseInsensitive,
        Form::Quantity,
        Form::Duration,
        Form::Timestamp,
        Form::Text,
        Form::Json,
    ];
    let known = || forms.into_iter().find(|form| joins(*form)).map(Form::rule);
    (is_short(desired) && is_short(observed)).then(known).flatten()
}

fn texts_of(value: &Value) -> Option<Value> {
    value.as_str().and_then(json_of)
}

/// Folds the case of each letter by itself: to upper case and back, because some letters have several lower-case forms.
/// A letter whose other case is several letters stays, so that `STRASSE` and `straße` differ.
fn without_case(text: &str) -> String {
    text.chars().map(|letter| single(single(letter, char::to_uppercase), char::to_lowercase)).collect()
}

/// Returns the letter in the other case, if that is one letter.
fn single<I: Iterator<Item = char> + ExactSizeIterator>(letter: char, change: fn(char) -> I) -> char {
    let mut changed = change(letter);
    if changed.len() == 1 { changed.next().unwrap_or(letter) } else { letter }
}

/// Returns true if two scalars have the same meaning, numbers within the tolerance.
pub(super) fn is_same(form: Option<Form>, tolerance: Option<Decimal>, desired: &Value, observed: &Value) -> bool {
    if form.is_none() {
        match (desired, observed) {
            (Value::Number(expected), Value::Number(real)) => return is_same_number(expected, real, tolerance),
            _ => return desired == observed,
        }
    }
    match (meaning(form, desired), meaning(form, observed), tolerance) {
        (Some(Meaning::Number(expected)), Some(Meaning::Number(real)), Some(tolerance))
        | (Some(Meaning::Time(expected)), Some(Meaning::Time(real)), Some(tolerance)) => {
            expected.is_within(tolerance, real)
        }
        (Some(expected), Some(real), _) => expected == real,
        _ => false,
    }
}

/// Compares two numbers: 1 equals 1.0. Whole numbers are compared exactly, also beyond the 53 bits of a double.
fn is_same_number(expected: &Number, real: &Number, tolerance: Option<Decimal>) -> bool {
    if expected == real {
        return true;
    }
    match (Decimal::of(expected), Decimal::of(real), tolerance) {
        (Some(expected), Some(real), Some(tolerance)) => expected.is_within(tolerance, real),
        (expected, real, _) => expected.is_some() && expected == real,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ipnet::Ipv6Net;
    use proptest::prelude::*;
    use serde_json::json;

    fn same(form: Form, desired: Value, observed: Value) -> bool {
        is_same(Some(form), None, &desired, &observed)
    }

    /// The address with all of its digits.
    fn padded(address: std::net::Ipv6Addr) -> String {
        address.segments().map(|segment| format!("{segment:04X}")).join(":")
    }

    /// Values in the notations of the forms, of few different meanings.
    fn notations() -> impl Strategy<Value = Value> {
        let texts = [
            "",
            "\n",
            "\r\n",
            "a",
            "A",
            "a\n",
            "a\r\n",
            "\u{e9}",
            "e\u{301}",
            "\u{c9}",
            "1",
            "1.0",
            "1000m",
            "60",
            "60s",
            "1m",
            "PT1M",
            "00:01:00",
            "P1M",
            "1970-01-01T00:01:00Z",
            "1970-01-01 00:01:00",
            "1970-01-01T01:01:00+01:00",
            "::1",
            "::1/128",
            "0:0::1",
            "::1/0",
            "::/0",
            "10.0.0.1",
            "10.0.0.1/8",
            "10.0.0.0/8",
            "{}",
            "{ }",
            "null",
            "true",
        ];
        let numbers = [json!(0), json!(1), json!(1.0), json!(60), json!(100_000_000), json!(100_000_000_000_u64)];
        let texts = texts.into_iter().map(Value::from);
        proptest::sample::select(texts.chain(numbers).chain([json!(true)]).collect::<Vec<_>>())
    }

    #[test]
    fn the_form_that_two_values_share_is_found() {
        let table = [
            (json!("A@x.org"), json!("a@x.org"), Some("as: caseInsensitive")),
            (json!("5"), json!(5), Some("as: number")),
            (json!("1Gi"), json!("1024Mi"), Some("as: quantity")),
            (json!("90s"), json!("1m30s"), Some("as: duration")),
            (json!("PT26H"), json!("26h"), Some("as: duration")),
            (json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:00.000Z"), Some("as: timestamp")),
            (json!("2026-01-01T00:00:00Z"), json!(1_767_225_600_000_u64), Some("as: timestamp")),
            (json!(1_767_225_600), json!(1_767_225_600_000_u64), None),
            (json!("2001:DB8::1"), json!("2001:db8::1"), Some("as: ip")),
            (json!("2001:DB8::/48"), json!("2001:db8::/48"), Some("as: cidr")),
            (json!("10.0.0.1/8"), json!("10.0.0.0/8"), Some("as: cidr")),
            (json!("10.0.0.1"), json!("10.0.0.1/32"), Some("as: cidr")),
            (json!("a\r\nb"), json!("a\nb\n"), Some("as: text")),
            (json!(r#"{"a": 1}"#), json!(r#"{"a":1}"#), Some("as: json")),
            (json!("a"), json!("b"), None),
            (json!(1), json!(2), None),
            (json!({"a": 1}), json!({"a": 2}), None),
            (json!("A".repeat(5_000)), json!("a".repeat(5_000)), None),
        ];
        for (desired, observed, expected) in table {
            assert_eq!(common_form(&desired, &observed), expected, "{desired} {observed}");
        }
    }

    #[test]
    fn forms_see_through_notations() {
        let equal = [
            (Form::Quantity, json!("1Gi"), json!("1024Mi")),
            (Form::Quantity, json!("2"), json!(2)),
            (Form::Quantity, json!(0.5), json!("500m")),
            (Form::Number, json!("5"), json!(5)),
            (Form::Number, json!("9007199254740993"), json!(9_007_199_254_740_993_u64)),
            (Form::Duration, json!("1h30m"), json!("90m")),
            (Form::Duration, json!("90s"), json!(90)),
            (Form::Duration, json!("P1DT2H"), json!("1.02:00:00")),
            (Form::Timestamp, json!("2026-01-01T00:00:00"), json!(1_767_225_600)),
            (Form::Timestamp, json!(1_767_225_600_000_u64), json!(1_767_225_600.0)),
            (Form::Ip, json!("2001:0DB8:0::1"), json!("2001:db8::1")),
            (Form::Ip, json!("10.0.0.1"), json!("10.0.0.1/32")),
            (Form::Ip, json!("::ffff:10.0.0.1"), json!("::FFFF:a00:1")),
            (Form::Cidr, json!("2001:db8:74::/48"), json!("2001:0db8:0074:0000:0000:0000:0000:0000/48")),
            (Form::Cidr, json!("10.0.0.1/8"), json!("10.0.0.0/8")),
            (Form::Cidr, json!("::1"), json!("::1/128")),
            (Form::Text, json!("e\u{301}\r\n"), json!("\u{e9}")),
            (Form::Text, json!("a\r\n\r\nb"), json!("a\n\nb\n")),
            (Form::Text, json!(1), json!(1.0)),
            (Form::Timestamp, json!("2026-01-01T00:00:00Z"), json!("2026-01-01T01:00:00.000+01:00")),
            (Form::CaseInsensitive, json!("WWW.Example"), json!("www.eXample")),
            (Form::CaseInsensitive, json!("ΟΔΟΣ"), json!("οδος")),
            (Form::CaseInsensitive, json!(1), json!(1.0)),
        ];
        for (form, desired, observed) in equal {
            assert!(same(form, desired.clone(), observed.clone()), "{form:?} {desired} {observed}");
        }
        let different = [
            (Form::Quantity, json!("1G"), json!("1Gi")),
            (Form::Quantity, json!("x"), json!("y")),
            (Form::Number, json!("9007199254740993"), json!(9_007_199_254_740_992_u64)),
            (Form::Number, json!("5"), json!("five")),
            (Form::Number, json!(1), json!(true)),
            (Form::Duration, json!("P1M"), json!("PT1M")),
            (Form::Duration, json!("P1M"), json!("30d")),
            (Form::Timestamp, json!("2026-01-01T00:00:00Z"), json!("1767225600")),
            (Form::Timestamp, json!("2026-01-01T00:00:00Z"), json!("2026-01-01")),
            (Form::Ip, json!("10.0.0.1/8"), json!("10.0.0.0/8")),
            (Form::Ip, json!("::ffff:10.0.0.1"), json!("10.0.0.1")),
            (Form::Ip, json!("fe80::1%eth0"), json!("fe80::1")),
            (Form::Cidr, json!("10.0.0.0/8"), json!("10.0.0.0/9")),
            (Form::Cidr, json!("0.0.0.0/0"), json!("::/0")),
            (Form::Text, json!("a\n"), json!("a\n\n")),
            (Form::Text, json!("\u{fb01}"), json!("fi")),
            (Form::Text, json!("a b"), json!("a\u{a0}b")),
            (Form::Text, json!("a"), json!("A")),
            (Form::CaseInsensitive, json!("a"), json!("b")),
            (Form::CaseInsensitive, json!("1"), json!(1)),
            (Form::CaseInsensitive, json!("STRASSE"), json!("straße")),
            (Form::CaseInsensitive, json!("ﬁ"), json!("fi")),
        ];
        for (form, desired, observed) in different {
            assert!(!same(form, desired.clone(), observed.clone()), "{form:?} {desired} {observed}");
        }
    }

    #[test]
    fn equal_words_are_equal_under_every_form() {
        for (_, form) in Form::WORDS {
            for word in ["infinity", "unlimited", "auto", "", "5%", "1 Gi", "{"] {
                assert!(same(form, json!(word), json!(word)), "{form:?} {word}");
                for other in
                    [json!("never"), json!(5), json!("5"), json!(true), json!("1h"), json!("2026-01-01T00:00:00Z")]
                {
                    assert!(!same(form, json!(word), other.clone()), "{form:?} {word} {other}");
                    assert!(!same(form, other.clone(), json!(word)), "{form:?} {other} {word}");
                }
            }
        }
        assert!(same(Form::Timestamp, json!(true), json!(true)), "what is no time is compared plainly");
        assert!(same(Form::Duration, json!(true), json!(true)) && !same(Form::Duration, json!(true), json!("true")));
    }

    #[test]
    fn a_tolerance_holds_for_numbers_alone() {
        let near = |form, desired: Value, observed: Value| is_same(form, Decimal::parse("0.01"), &desired, &observed);
        assert!(near(None, json!(0.3), json!(0.29)) && !near(None, json!(0.3), json!(0.28)));
        assert!(near(Some(Form::Duration), json!("1s"), json!("1010ms")));
        assert!(!near(None, json!("1"), json!("1.001")) && !near(None, json!(1), json!("1")));
    }

    proptest! {
        #[test]
        fn equal_values_are_same_whatever_the_form(text in "\\PC{0,8}|[-+0-9.eEinumkKMGThsdwTZ:{}\"%]{0,12}", number: i64) {
            for (_, form) in Form::WORDS {
                prop_assert!(same(form, json!(text.clone()), json!(text.clone())), "{form:?}");
                prop_assert!(same(form, json!(number), json!(number)), "{form:?}");
            }
        }

        #[test]
        fn equality_under_a_form_is_an_equivalence(values in proptest::collection::vec(notations(), 3)) {
            for (_, form) in Form::WORDS {
                let is_same = |one: usize, other: usize| same(form, values[one].clone(), values[other].clone());
                prop_assert!(is_same(0, 0), "{form:?}");
                prop_assert_eq!(is_same(0, 1), is_same(1, 0), "{:?}", form);
                prop_assert!(!(is_same(0, 1) && is_same(1, 2)) || is_same(0, 2), "{form:?}");
            }
        }

        /// The notations of one network are equal, and two networks never.
        #[test]
        fn networks_are_equal_where_their_addresses_are(bits: [u128; 2], lengths in [0..=128_u8, 0..=128_u8]) {
            let networks = [0, 1].map(|at| Ipv6Net::new(bits[at].into(), lengths[at]).unwrap());
            let [one, other] = networks.map(|network| [
                json!(network.to_string()),
                json!(network.to_string().to_uppercase()),
                json!(format!("{}/{}", padded(network.addr()), network.prefix_len())),
            ]);
            for notation in &one {
                prop_assert!(same(Form::Ip, one[0].clone(), notation.clone()));
                prop_assert!(same(Form::Cidr, json!(networks[0].trunc().to_string()), notation.clone()));
                for third in &other {
                    let is_ip = same(Form::Ip, notation.clone(), third.clone());
                    prop_assert_eq!(is_ip, networks[0] == networks[1]);
                    let is_cidr = same(Form::Cidr, notation.clone(), third.clone());
                    prop_assert_eq!(is_cidr, networks[0].trunc() == networks[1].trunc());
                }
            }
        }

        #[test]
        fn plain_numbers_are_same_where_they_mean_the_same(left: f64, right: i64) {
            for (expected, real) in [(json!(left), json!(right)), (json!(right as f64), json!(right)), (json!(left), json!(left))] {
                let equal = expected.is_number() && meaning(None, &expected) == meaning(None, &real);
                prop_assert!(!expected.is_number() || is_same(None, None, &expected, &real) == equal, "{expected} {real}");
            }
        }
    }
}
