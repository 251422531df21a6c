//! Splits JSON text into the texts of its parts, so that each part can be decoded separately.
//!
//! serde_json's `RawValue` does the same, but its feature gives one field name a special meaning in every `Value`,
//! including values from tenants and other systems.

use serde::de::{Error as _, IgnoredAny};
use serde_json::{Deserializer, Error};

/// A cursor in a JSON text.
pub(super) struct Parts<'j> {
    json: &'j [u8],
    at: usize,
}

impl<'j> Parts<'j> {
    /// Creates a cursor at the beginning.
    pub(super) const fn of(json: &'j [u8]) -> Self {
        Self { json, at: 0 }
    }

    /// Calls `part` with the name and the text of each field. The whole text must be a map.
    pub(super) fn for_each_field(
        mut self,
        mut part: impl FnMut(&str, &'j [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.expect(b'{')?;
        while self.has_part(b'}')? {
            let name: String = serde_json::from_slice(self.value()?)?;
            self.expect(b':')?;
            part(&name, self.value()?)?;
        }
        if self.peek().is_none() { Ok(()) } else { Err(Error::custom("more than one value")) }
    }

    /// Calls `part` with the text of each item. The whole text must be a list.
    pub(super) fn for_each_item(mut self, mut part: impl FnMut(&'j [u8])) -> Result<(), Error> {
        self.expect(b'[')?;
        while self.has_part(b']')? {
            part(self.value()?);
        }
        Ok(())
    }

    /// Returns true if another part follows before `end`.
    fn has_part(&mut self, end: u8) -> Result<bool, Error> {
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(next) if next == end => {
                self.at += 1;
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

    fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.peek() != Some(mark) {
            return Err(Error::custom(format!("no {:?}", char::from(mark))));
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = self.json.get(self.at..)?;
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.json.get(self.at).copied()
    }

    /// Returns the text of the next value, at any depth.
    fn value(&mut self) -> Result<&'j [u8], Error> {
        self.peek();
        let rest = self.json.get(self.at..).unwrap_or_default();
        let mut values = Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        values.next().ok_or_else(|| Error::custom("no value"))??;
        let value = rest.get(..values.byte_offset()).unwrap_or_default();
        self.at += value.len();
        Ok(value)
    }
}
