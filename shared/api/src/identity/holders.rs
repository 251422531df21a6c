//! The other objects that keep an object from an external resource, in a sentence that a program reads back.

use std::fmt;

use crate::identity::ObjectRef;

/// Holders that a sentence names. Nearly always there is one; who repairs a mistake in a template needs an example.
pub const NAMED_HOLDERS: usize = 3;

/// The end of a sentence that does not name all.
const OTHERS: &str = " and others";

/// The other objects that have a resource, the first of them by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// At most [`NAMED_HOLDERS`], in the order of the index.
    pub named: Vec<ObjectRef>,
    /// There are others. How many is not said: each that comes or goes would make the sentence another one.
    pub has_more: bool,
}

impl Holders {
    /// Reads the holders that end a sentence, after its last `: `; none where it names none.
    #[must_use]
    pub fn parse(sentence: &str) -> Self {
        let (_, list) = sentence.rsplit_once(": ").unwrap_or_default();
        let (names, has_more) = match list.strip_suffix(OTHERS) {
            Some(names) => (names, true),
            None => (list, false),
        };
        let named: Option<Vec<_>> = names.split(", ").map(ObjectRef::parse).collect();
        named.map_or_else(Self::default, |named| Self { named, has_more })
    }
}

impl fmt::Display for Holders {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.named.iter().map(ToString::to_string).collect();
        formatter.write_str(&named.join(", "))?;
        if self.has_more { formatter.write_str(OTHERS) } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_read_as_they_were_written() {
        let named = ["Proxy.example.com shop/orders", "Service a/b"];
        let of = |count: usize, has_more| Holders {
            named: named[..count].iter().map(|name| ObjectRef::parse(name).unwrap()).collect(),
            has_more,
        };
        for holders in [of(1, false), of(2, false), of(2, true)] {
            assert_eq!(Holders::parse(&format!("others claim it: {holders}")), holders);
        }
        for foreign in ["", "updated", "refused: 409", "others: Proxy a/b, c"] {
            assert_eq!(Holders::parse(foreign), Holders::default(), "{foreign}");
        }
    }
}
