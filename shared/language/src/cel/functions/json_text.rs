//! `json.text(x)`: a value as JSON, in one canonical form.
//!
//! Keys are sorted, there is no whitespace between tokens, and equal numbers have equal texts. Output is charged before
//! it is written.

use cel::ExecutionError;
use cel::common::types::{CelOptional, CelString, Kind};
use cel::common::value::{CowVal, Val};
use serde_json::Value;

use crate::cel::evaluation::constants::{MEMBER_COST, of_bytes};
use crate::cel::evaluation::convert::{self, Allowance, json};
use crate::cel::evaluation::cost::{Cost, split};
use crate::cel::functions::texts::{Evaluated, refused};

/// The name of the function in expressions.
const NAME: &str = "json.text";

/// `json.text(x)`: canonical JSON.
pub(in crate::cel) fn json_text<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (cost, arguments) = split(&arguments)?;
    let [value] = arguments else { return Err(refused(NAME, arguments)) };
    let mut writer = Writer { cost, text: String::new() };
    writer.write(value.as_ref())?;
    if writer.text.is_empty() {
        return Err(ExecutionError::function_error(NAME, "the optional has no value"));
    }
    Ok(CowVal::owned(CelString::from(writer.text)))
}

struct Writer<'c> {
    cost: &'c Cost,
    text: String,
}

impl Writer<'_> {
    fn push(&mut self, part: &str) -> Result<(), ExecutionError> {
        self.cost.charge(of_bytes(part.len()))?;
        self.text.push_str(part);
        Ok(())
    }

    /// Writes a text in quotes.
    fn quote(&mut self, text: &str) -> Result<(), ExecutionError> {
        let is_escaped = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
        // The longest escape of one character is `\u0000`.
        let escapes = text.bytes().filter(is_escaped).count().saturating_mul(5);
        self.cost.charge(of_bytes(text.len().saturating_add(escapes)))?;
        self.push(&Value::from(text).to_string())
    }

    /// Writes a value. An optional without value writes nothing.
    fn write(&mut self, value: &dyn Val) -> Result<(), ExecutionError> {
        self.cost.charge(1)?;
        match value.get_type().kind() {
            Kind::List => self.list(value),
            Kind::Map => self.map(value),
            Kind::String => self.quote(value.downcast_ref::<CelString>().map_or("", CelString::inner)),
            _ => match value.downcast_ref::<CelOptional>() {
                Some(optional) => optional.option().map_or(Ok(()), |inner| self.write(inner)),
                None => self.scalar(value),
            },
        }
    }

    fn scalar(&mut self, value: &dyn Val) -> Result<(), ExecutionError> {
        let text = match json(value, &mut Allowance::default()) {
            Ok(None | Some(Value::Null)) => Ok("null".to_owned()),
            Ok(Some(scalar)) => convert::text(scalar),
            Err(cause) => Err(cause),
        };
        self.push(&text.map_err(|cause| ExecutionError::function_error(NAME, cause))?)
    }

    fn list(&mut self, value: &dyn Val) -> Result<(), ExecutionError> {
        let list = value.as_iterable().ok_or_else(ExecutionError::missing_argument_or_target)?;
        self.push("[")?;
        let begun = self.text.len();
        let mut items = list.iter();
        while let Some(item) = items.next() {
            if is_left_out(item) {
                continue;
            }
            if self.text.len() > begun {
                self.text.push(',');
            }
            self.write(item)?;
        }
        self.push("]")
    }

    fn map(&mut self, value: &dyn Val) -> Result<(), ExecutionError> {
        let missing = ExecutionError::missing_argument_or_target;
        let (fields, names) = (value.as_indexer().ok_or_else(missing)?, value.as_iterable().ok_or_else(missing)?);
        let mut keys: Vec<(&str, &dyn Val)> = Vec::new();
        let mut names = names.iter();
        while let Some(key) = names.next() {
            let no_text = || ExecutionError::function_error(NAME, "a key of the map is no text");
            let name = key.downcast_ref::<CelString>().ok_or_else(no_text)?.inner();
            self.cost.charge(MEMBER_COST + of_bytes(name.len()))?;
            keys.push((name, key));
        }
        keys.sort_by_key(|(name, _)| *name);
        self.push("{")?;
        let begun = self.text.len();
        for (name, key) in keys {
            let field = fields.get(key)?;
            if is_left_out(field.as_ref()) {
                continue;
            }
            if self.text.len() > begun {
                self.text.push(',');
            }
            self.quote(name)?;
            self.text.push(':');
            self.write(field.as_ref())?;
        }
        self.push("}")
    }
}

/// Returns true for an optional without value, which is left out of lists and maps.
fn is_left_out(value: &dyn Val) -> bool {
    value.downcast_ref::<CelOptional>().is_some_and(|optional| optional.option().is_none_or(is_left_out))
}
