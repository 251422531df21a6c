//! The values of keys: how each is read, and what the schema says of it.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::schema::{Schema, Section};
use crate::yaml::{Content, Node, Reader, durations};

/// A value of a key.
pub(crate) trait Leaf {
    type Value;

    /// Reads the value at a place, or records its mistakes.
    fn read(&self, reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Self::Value>;

    /// Returns the description of the value.
    fn schema(&self) -> Schema;

    /// Makes another value of it.
    fn map<U>(self, make: impl Fn(Self::Value) -> U) -> impl Leaf<Value = U>
    where
        Self: Sized,
    {
        let read = move |leaf: &Self, reader: &mut Reader<'_>, node: &Node, place: &str| {
            leaf.read(reader, node, place).map(&make)
        };
        Around { leaf: self, schema: |schema| schema, read }
    }

    /// Adds the short form that is the text of one key. It is expanded before anything reads it, unless the key of a
    /// section around it is misspelt.
    fn or_short(self, key: &'static str) -> impl Leaf<Value = Self::Value>
    where
        Self: Sized,
    {
        let read = move |leaf: &Self, reader: &mut Reader<'_>, node: &Node, place: &str| {
            if node.as_text().is_none() {
                return leaf.read(reader, node, place);
            }
            let mut long = node.clone();
            long.put_below(key);
            leaf.read(reader, &long, place)
        };
        Around { leaf: self, schema: |long| Schema::OrText(Box::new(long)), read }
    }

    /// Makes a leaf with another description and reader. Both get those of this one.
    fn around<U>(
        self,
        schema: impl Fn(Schema) -> Schema,
        read: impl Fn(&Self, &mut Reader<'_>, &Node, &str) -> Option<U>,
    ) -> impl Leaf<Value = U>
    where
        Self: Sized,
    {
        Around { leaf: self, schema, read }
    }

    /// Makes a list of such values, which `read` reads with the leaf of one.
    fn listed<L>(self, read: impl Fn(&Self, &mut Reader<'_>, &Node, &str) -> Option<L>) -> impl Leaf<Value = L>
    where
        Self: Sized,
    {
        Around { leaf: self, schema: |item| Schema::List(Box::new(item)), read }
    }
}

/// A leaf that another one is made of.
struct Around<L, S, R> {
    leaf: L,
    /// Makes its schema from that of the other.
    schema: S,
    read: R,
}

impl<L: Leaf, T, S, R> Leaf for Around<L, S, R>
where
    S: Fn(Schema) -> Schema,
    R: Fn(&L, &mut Reader<'_>, &Node, &str) -> Option<T>,
{
    type Value = T;

    fn read(&self, reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<T> {
        (self.read)(&self.leaf, reader, node, place)
    }

    fn schema(&self) -> Schema {
        (self.schema)(self.leaf.schema())
    }
}

/// A schema and a reader.
struct Described<R> {
    schema: Schema,
    read: R,
}

impl<T, R> Leaf for Described<R>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
{
    type Value = T;

    fn read(&self, reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<T> {
        (self.read)(reader, node, place)
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }
}

fn described<T>(schema: Schema, read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>) -> impl Leaf<Value = T> {
    Described { schema, read }
}

/// A value with these JSON types. Empty for any.
pub(crate) fn typed<T>(
    types: &'static [&'static str],
    read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
) -> impl Leaf<Value = T> {
    described(Schema::Types(types), read)
}

/// A value of any type.
pub(crate) fn any<T>(read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>) -> impl Leaf<Value = T> {
    typed(&[], read)
}

/// A text.
pub(crate) fn text<T>(read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>) -> impl Leaf<Value = T> {
    described(Schema::TEXT, read)
}

/// A map with user-defined keys.
pub(crate) fn map<T>(read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>) -> impl Leaf<Value = T> {
    described(Schema::MAP, read)
}

/// A map with user-defined keys whose values have the schema of this leaf.
pub(crate) fn map_of<T>(
    item: impl Leaf,
    read: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
) -> impl Leaf<Value = T> {
    let read = move |_: &_, reader: &mut Reader<'_>, node: &Node, place: &str| read(reader, node, place);
    Around { leaf: item, schema: |item| Schema::Map(Box::new(item)), read }
}

/// A text without templates for which `parse` has a value. Its error follows the place.
pub(crate) fn literal<T>(parse: impl Fn(&str) -> Result<T, String>) -> impl Leaf<Value = T> {
    text(move |reader, node, place| {
        let text = reader.literal(node, place)?;
        parse(text).map_or_else(|error| reader.refuse(node.at, format!("{place}: {error}")), Some)
    })
}

/// A text without templates.
pub(crate) fn plain_text() -> impl Leaf<Value = String> {
    literal(|text| Ok(text.to_owned()))
}

/// `true` or `false`.
pub(crate) fn truth() -> impl Leaf<Value = bool> {
    typed(&["boolean"], |reader, node, place| reader.truth(node, place))
}

/// A whole number within bounds.
pub(crate) fn whole<T>(bounds: RangeInclusive<T>) -> impl Leaf<Value = T>
where
    T: TryFrom<u64> + Into<u64> + PartialOrd + Display + Clone,
{
    let schema = Schema::Whole(bounds.start().clone().into(), bounds.end().clone().into());
    described(schema, move |reader, node, place| reader.whole(node, place, bounds.clone()))
}

/// A duration within bounds.
pub(crate) fn duration(bounds: RangeInclusive<Duration>) -> impl Leaf<Value = Duration> {
    text(move |reader, node, place| durations::duration(reader, node, place, bounds.clone()))
}

/// A number of bytes within bounds.
pub(crate) fn size(bounds: RangeInclusive<usize>) -> impl Leaf<Value = usize> {
    typed(&["string", "integer"], move |reader, node, place| durations::size(reader, node, place, bounds.clone()))
}

/// One of a few words.
pub(crate) fn words<T: Clone>(words: &'static [(&'static str, T)]) -> impl Leaf<Value = T> {
    let schema = Schema::Words(words.iter().map(|(word, _)| *word).collect());
    described(schema, |reader, node, place| reader.choice(node, place, words))
}

/// A list of values, with bounds of its length.
pub(crate) fn list<T>(length: RangeInclusive<usize>, item: impl Leaf<Value = T>) -> impl Leaf<Value = Vec<T>> {
    item.listed(move |item, reader, node, place| {
        reader.list(node, place, length.clone(), |reader, node, place| item.read(reader, node, place))
    })
}

/// A list of different texts, with bounds of its length.
pub(crate) fn distinct(
    length: RangeInclusive<usize>,
    item: impl Leaf<Value = String>,
) -> impl Leaf<Value = Vec<String>> {
    item.listed(move |item, reader, node, place| {
        let mut known = HashSet::new();
        reader.list(node, place, length.clone(), |reader, node, place| {
            let text = item.read(reader, node, place)?;
            match known.insert(text.clone()) {
                true => Some(text),
                false => reader.refuse(node.at, format!("{place}: `{text}` is written twice")),
            }
        })
    })
}

/// A text in short form, or a value in its long form.
pub(crate) fn or_text<T>(
    long: impl Leaf<Value = T>,
    short: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
) -> impl Leaf<Value = T> {
    let read = move |long: &_, reader: &mut Reader<'_>, node: &Node, place: &str| match node.content {
        Content::Text(_) => short(reader, node, place),
        _ => Leaf::read(long, reader, node, place),
    };
    Around { leaf: long, schema: |long| Schema::OrText(Box::new(long)), read }
}

/// A section in this context.
struct InContext<S: Section>(S::Context);

impl<S: Section> Leaf for InContext<S> {
    type Value = S::Value;

    fn read(&self, reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<S::Value> {
        S::read(reader, node, place, self.0)
    }

    fn schema(&self) -> Schema {
        Schema::Keys(S::keys(self.0))
    }
}

/// A section.
pub(crate) fn section<S: Section>(context: S::Context) -> impl Leaf<Value = S::Value> {
    InContext::<S>(context)
}
