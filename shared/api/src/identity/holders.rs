//! The other objects that block an object from an external resource, as a sentence that can be parsed back.

use std::fmt;

use crate::identity::ObjectRef;

/// Maximum holders that a sentence names. Nearly always there is one. To fix a mistake in a template,
/// examples are enough.
pub const NAMED_HOLDERS: usize = 3;

/// The end of a sentence that names only some.
const OTHERS: &str = " and others";

/// The other objects that hold a resource, the first ones by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// At most [`NAMED_HOLDERS`], in the order of the index.
    pub named: Vec<ObjectRef>,
    /// True if there are others. Their number is left out, because each change would change the sentence.
    pub has_more: bool,
}

impl Holders {
    /// The name of another object where a record tells none.
    pub const UNNAMED: &str = "another object";

    /// Parses the holders at the end of a sentence, after its last `: `. Empty if it names none.
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
