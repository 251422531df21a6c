//! `json.parse(text)` and `json.text(x)`: JSON texts as values, and values as JSON texts.
//!
//! The text of a value has one canonical form: keys are sorted, there is no whitespace between tokens, and equal
//! numbers have equal texts. Values and texts are charged as they are built.

use std::io;

use cel::common::types::{CelNull, CelString};
use cel::common::value::CowVal;
use serde::Serialize as _;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::cel::evaluation::constants::{MAP_COST, of_bytes};
use crate::cel::evaluation::convert::{AsJson, is_left_out};
use crate::cel::evaluation::cost::Cost;
use crate::cel::evaluation::json::own;
use crate::cel::functions::arguments::{Arguments, Evaluated};
use crate::values::json::{JsonError, parse_json};

/// `json.parse(text)`: the parsed value.
pub(super) fn parse<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("json.parse", &arguments)?;
    let (cost, text) = (call.cost, call.text(0)?);
    call.charge(&[text])?;
    match parse_json(text.as_bytes(), cost.left() / MAP_COST) {
        Ok(value) => own(value, cost).map(CowVal::Owned),
        Err(JsonError::TooManyNodes) => cost.charge(usize::MAX).map(|()| CowVal::owned(CelNull)),
        Err(_) => Err(call.failed("the text is no JSON")),
    }
}

/// `json.text(x)`: canonical JSON.
pub(super) fn text<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("json.text", &arguments)?;
    let (cost, value) = (call.cost, call.only()?);
    if is_left_out(value) {
        return Err(call.failed("the optional has no value"));
    }
    let mut written = Written { cost, text: String::new() };
    let result = AsJson { value, meter: cost }.serialize(&mut Serializer::with_formatter(&mut written, Canonical));
    result.map_err(|cause| call.failed(cause))?;
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
