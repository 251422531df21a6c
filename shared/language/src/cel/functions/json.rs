//! `json.parse(text)` and `json.text(x)`: JSON texts as values, and values as JSON texts.
//!
//! The text of a value has one canonical form: keys are sorted, there is no whitespace between tokens, and equal numbers
//! have equal texts. Values and texts are charged as they are built.

use std::io;

use cel::ExecutionError;
use cel::common::types::{CelNull, CelString};
use cel::common::value::CowVal;
use serde::Serialize as _;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::cel::evaluation::constants::{MAP_COST, of_bytes};
use crate::cel::evaluation::convert::{AsJson, is_left_out};
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::evaluation::json::own;
use crate::cel::functions::texts::{self, Evaluated, refused};
use crate::values::json::{JsonError, parse_json};

const PARSE: &str = "json.parse";
const TEXT: &str = "json.text";

/// `json.parse(text)`: the parsed value.
pub(super) fn parse<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split(&arguments)?;
    let text = texts::text(PARSE, arguments, 0)?;
    cost.charge(of_bytes(text.len()))?;
    match parse_json(text.as_bytes(), cost.left() / MAP_COST) {
        Ok(value) => own(value, cost).map(CowVal::Owned),
        Err(JsonError::TooManyNodes) => cost.charge(usize::MAX).map(|()| CowVal::owned(CelNull)),
        Err(_) => Err(ExecutionError::function_error(PARSE, "the text is no JSON")),
    }
}

/// `json.text(x)`: canonical JSON.
pub(super) fn text<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split(&arguments)?;
    let [value] = arguments else { return Err(refused(TEXT, arguments)) };
    if is_left_out(value.as_ref()) {
        return Err(ExecutionError::function_error(TEXT, "the optional has no value"));
    }
    let mut written = Written { cost, text: String::new() };
    let value = AsJson { value: value.as_ref(), meter: cost };
    let result = value.serialize(&mut Serializer::with_formatter(&mut written, Canonical));
    result.map_err(|cause| ExecutionError::function_error(TEXT, cause))?;
    Ok(CowVal::owned(CelString::from(written.text)))
}

/// A text that is charged before it is written.
struct Written<'c> {
    cost: &'c Cost,
    text: String,
}

impl io::Write for Written<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.cost.charge(of_bytes(part.len())).map_err(io::Error::other)?;
        self.text.push_str(str::from_utf8(part).map_err(io::Error::other)?);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes 1.0 as `1`.
struct Canonical;

impl Formatter for Canonical {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, number: f64) -> io::Result<()> {
        writer.write_all(number.to_string().as_bytes())
    }
}
