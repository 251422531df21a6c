//! Exact decimal numbers, to which `as` converts numbers, quantities and times.
//!
//! With doubles, 0.1 + 0.2 would differ from 0.3, and two identifiers beyond 2^53 would be equal.

use std::cmp::Ordering;

use serde_json::Number;

/// `digits` × 10^`exponent`, without trailing zeros in `digits`, so that equal numbers are equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    pub(crate) fn new(mut digits: i128, mut exponent: i32) -> Self {
        if digits == 0 {
            return Self { digits, exponent: 0 };
        }
        while digits % 10 == 0 {
            digits /= 10;
            exponent = exponent.saturating_add(1);
        }
        Self { digits, exponent }
    }

    /// Converts a JSON number.
    #[must_use]
    pub fn of(number: &Number) -> Option<Self> {
        match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Some(Self::new(whole.into(), 0)),
            (None, Some(whole)) => Some(Self::new(whole.into(), 0)),
            // A double has the value of its shortest text that round-trips.
            (None, None) => Self::parse(&number.to_string()),
        }
    }

    /// Parses `-12.5`, `1e3`, `+.5`. `None` for anything else, and for more than 38 digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let mut digits: i128 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
            digits = digits.checked_mul(10)?.checked_add(digit)?;
        }
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Self::new(if negative { -digits } else { digits }, exponent))
    }

    /// Returns the product, or `None` if it has more than 38 digits.
    pub(crate) fn times(self, other: Self) -> Option<Self> {
        Some(Self::new(self.digits.checked_mul(other.digits)?, self.exponent.checked_add(other.exponent)?))
    }

    /// Returns the sum, or `None` if it has more than 38 digits.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |number: Self| {
            let zeros = u32::try_from(number.exponent.checked_sub(exponent)?).ok()?;
            if number.digits == 0 { Some(0) } else { number.digits.checked_mul(10_i128.checked_pow(zeros)?) }
        };
        Some(Self::new(aligned(self)?.checked_add(aligned(other)?)?, exponent))
    }

    /// Returns the difference, or `None` if it has more than 38 digits.
    pub(crate) fn minus(self, other: Self) -> Option<Self> {
        self.plus(Self { digits: -other.digits, ..other })
    }

    pub(crate) const fn is_negative(self) -> bool {
        self.digits < 0
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Returns the number with the opposite sign.
    pub(crate) const fn negated(self) -> Self {
        Self { digits: -self.digits, exponent: self.exponent }
    }

    /// Returns true if two numbers are at most `tolerance` apart.
    #[must_use]
    pub fn is_within(self, tolerance: Self, other: Self) -> bool {
        let apart = self.minus(other).map(|apart| if apart.is_negative() { apart.negated() } else { apart });
        match apart.and_then(|apart| tolerance.minus(apart)) {
            Some(left) => !left.is_negative(),
            // They do not fit one scale of 38 digits, so a double distinguishes them as well.
            None => (self.to_f64() - other.to_f64()).abs() <= tolerance.to_f64(),
        }
    }

    /// Compares two numbers.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match self.minus(other) {
            Some(apart) => apart.digits.cmp(&0),
            // They do not fit one scale of 38 digits, so a double distinguishes them as well.
            None => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    /// Returns the whole number, or `None` for a fraction and for more than 64 bits.
    pub(crate) fn to_i64(self) -> Option<i64> {
        let zeros = u32::try_from(self.exponent).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(zeros)?)?.try_into().ok()
    }

    /// Returns the nearest double.
    pub(crate) fn to_f64(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

fn parse_exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn equal_numbers_are_equal_values() {
        let groups: [&[&str]; 5] = [
            &["1", "1.0", "+1", "01", "10e-1", "0.1e1", "1E0", "1."],
            &["0", "-0", "0.000", "0e99"],
            &["0.5", ".5", "5e-1"],
            &["9007199254740993", "9007199254740993.0"],
            &["9007199254740992"],
        ];
        for (position, group) in groups.iter().enumerate() {
            for text in *group {
                let number = Decimal::parse(text);
                assert!(number.is_some(), "{text}");
                for (other, others) in groups.iter().enumerate() {
                    assert_eq!(number == Decimal::parse(others[0]), position == other, "{text} and {}", others[0]);
                }
            }
        }
        for text in ["", "+", ".", "1e", "e1", "1e+", "0x1", "1 ", "--1", "1.2.3", "1e1.5", &"9".repeat(40), "NaN"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_tolerance_is_exact() {
        let within = |left: &str, right: &str, tolerance: &str| {
            let number = |text| Decimal::parse(text).unwrap();
            number(left).is_within(number(tolerance), number(right))
        };
        assert!(within("0.3", "0.29", "0.01"), "a double would say no");
        assert!(within("-1", "1", "2") && !within("-1", "1", "1.99"));
        assert!(!within("1e300", "1", "1e299") && within("1e300", "1", "1e301"));
        assert!(within("1e30000", "1e30000", "0.1"));
    }

    #[test]
    fn numbers_of_any_scale_have_an_order() {
        let ascending = ["-1e300", "-2", "-1.5", "0", "1e-300", "0.1", "9007199254740992", "9007199254740993", "1e300"];
        let numbers = ascending.map(|text| Decimal::parse(text).unwrap());
        for (left, one) in numbers.iter().enumerate() {
            for (right, other) in numbers.iter().enumerate() {
                assert_eq!(one.order(*other), left.cmp(&right), "{} and {}", ascending[left], ascending[right]);
            }
        }
        let whole = |text: &str| Decimal::parse(text).unwrap().to_i64();
        assert_eq!((whole("12e2"), whole("-9223372036854775808"), whole("0")), (Some(1200), Some(i64::MIN), Some(0)));
        assert_eq!((whole("1.5"), whole("9223372036854775808"), whole("1e99")), (None, None, None));
    }

    proptest! {
        #[test]
        fn a_number_and_its_text_are_one(float: f64, whole: i64) {
            for value in [json!(float), json!(whole)] {
                if let Value::Number(number) = value {
                    prop_assert_eq!(Decimal::of(&number), Decimal::parse(&number.to_string()));
                }
            }
        }

        #[test]
        fn sums_are_those_of_integers(left in -1_000_000_000..1_000_000_000_i64, right in -1_000_000_000..1_000_000_000_i64) {
            let number = |whole: i64| Decimal::new(whole.into(), -3);
            prop_assert_eq!(number(left).plus(number(right)), Some(number(left + right)));
        }

        #[test]
        fn no_text_breaks_it(text in "[-+0-9.eE]{0,50}", other in "[-+0-9.eE]{0,12}") {
            if let (Some(left), Some(right)) = (Decimal::parse(&text), Decimal::parse(&other)) {
                let _ = left.is_within(right, right);
                left.times(right);
            }
        }
    }
}
