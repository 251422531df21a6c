//! The values of keys: how each is read, and what the schema says of it.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::Section;
use super::schema::Schema;
use crate::yaml::{Content, Node, Reader, durations};

/// A value of a key.
pub(crate) struct Leaf<R, S> {
    /// Reads the value at a place, or records its mistakes.
    pub(crate) read: R,
    schema: S,
}

impl<R, S: Fn() -> Schema> Leaf<R, S> {
    /// Makes a list of such values, which `read` reads with the reader of one.
    pub(crate) fn listed<T, L>(
        self,
        read: impl Fn(&mut Reader<'_>, &Node, &str, &R) -> Option<L>,
    ) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<L>, impl Fn() -> Schema>
    where
        R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
    {
        let Self { read: item, schema } = self;
        Leaf {
            read: move |reader: &mut Reader<'_>, node: &Node, place: &str| read(reader, node, place, &item),
            schema: move || Schema::List(Box::new(schema())),
        }
    }

    /// Adds the short form that is a text. It is expanded before anything reads it.
    pub(crate) fn or_short(self) -> Leaf<R, impl Fn() -> Schema> {
        let Self { read, schema } = self;
        Leaf { read, schema: move || Schema::OrText(Box::new(schema())) }
    }

    /// Makes another value of it.
    pub(crate) fn map<T, U>(self, make: impl Fn(T) -> U) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<U>, S>
    where
        R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
    {
        let Self { read, schema } = self;
        Leaf {
            read: move |reader: &mut Reader<'_>, node: &Node, place: &str| read(reader, node, place).map(&make),
            schema,
        }
    }

    pub(crate) fn schema(&self) -> Schema {
        (self.schema)()
    }
}

/// Creates a leaf whose value has these JSON types. Empty for any.
pub(crate) fn typed<T, R>(types: &'static [&'static str], read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
{
    Leaf { read, schema: move || Schema::Types(types) }
}

/// A value of any type.
pub(crate) fn any<T, R>(read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
{
    typed(&[], read)
}

/// A text.
pub(crate) fn text<T, R>(read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
{
    typed(&["string"], read)
}

/// A map with user-defined keys.
pub(crate) fn map<T, R>(read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
{
    typed(&["object"], read)
}

/// A map with user-defined keys whose values have the schema of this leaf.
pub(crate) fn map_of<T, R, I, S>(item: Leaf<I, S>, read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
    S: Fn() -> Schema,
{
    Leaf { read, schema: move || Schema::Map(Box::new(item.schema())) }
}

/// A text without templates for which `parse` has a value. Its error follows the place.
pub(crate) fn literal<T>(
    parse: impl Fn(&str) -> Result<T, String>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>, impl Fn() -> Schema> {
    text(move |reader, node, place| {
        let text = reader.literal(node, place)?;
        parse(text).map_or_else(|error| reader.refuse(node.at, format!("{place}: {error}")), Some)
    })
}

/// A text without templates.
pub(crate) fn plain_text() -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<String>, impl Fn() -> Schema> {
    text(|reader, node, place| reader.literal(node, place).map(str::to_owned))
}

/// `true` or `false`.
pub(crate) fn truth() -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<bool>, impl Fn() -> Schema> {
    typed(&["boolean"], |reader: &mut Reader<'_>, node: &Node, place: &str| reader.truth(node, place))
}

/// A whole number within bounds.
pub(crate) fn whole<T>(
    bounds: RangeInclusive<T>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>, impl Fn() -> Schema>
where
    T: TryFrom<u64> + PartialOrd + Display + Clone,
{
    let (least, most) = (bounds.start().to_string(), bounds.end().to_string());
    Leaf {
        read: move |reader: &mut Reader<'_>, node: &Node, place: &str| reader.whole(node, place, bounds.clone()),
        schema: move || Schema::Whole(least.clone(), most.clone()),
    }
}

/// A duration within bounds.
pub(crate) fn duration(
    bounds: RangeInclusive<Duration>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Duration>, impl Fn() -> Schema> {
    text(move |reader: &mut Reader<'_>, node: &Node, place: &str| {
        durations::duration(reader, node, place, bounds.clone())
    })
}

/// A number of bytes within bounds.
pub(crate) fn size(
    bounds: RangeInclusive<usize>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<usize>, impl Fn() -> Schema> {
    typed(&["string", "integer"], move |reader: &mut Reader<'_>, node: &Node, place: &str| {
        durations::size(reader, node, place, bounds.clone())
    })
}

/// One of a few words.
pub(crate) fn words<T: Clone>(
    words: &'static [(&'static str, T)],
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>, impl Fn() -> Schema> {
    Leaf {
        read: |reader: &mut Reader<'_>, node: &Node, place: &str| reader.choice(node, place, words),
        schema: || Schema::Words(words.iter().map(|(word, _)| *word).collect()),
    }
}

/// A section.
pub(crate) fn section<S: Section>(
    context: S::Context,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<S::Value>, impl Fn() -> Schema> {
    Leaf {
        read: move |reader: &mut Reader<'_>, node: &Node, place: &str| S::read(reader, node, place, context),
        schema: move || Schema::Keys(S::keys(context)),
    }
}

/// A section that has a reader of its own.
pub(crate) fn read_by<S: Section<Context = ()>, R>(read: R) -> Leaf<R, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<S::Value>,
{
    Leaf { read, schema: || Schema::Keys(S::keys(())) }
}

/// A list of values, with bounds of its length.
pub(crate) fn list<T, R, S>(
    length: RangeInclusive<usize>,
    item: Leaf<R, S>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<T>>, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
    S: Fn() -> Schema,
{
    item.listed(move |reader, node, place, read| reader.list(node, place, length.clone(), read))
}

/// A list of different texts, with bounds of its length.
pub(crate) fn distinct<R, S>(
    length: RangeInclusive<usize>,
    item: Leaf<R, S>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<String>>, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<String>,
    S: Fn() -> Schema,
{
    item.listed(move |reader, node, place, read| {
        let mut known = HashSet::new();
        reader.list(node, place, length.clone(), |reader, item, place| {
            let text = read(reader, item, place)?;
            match known.insert(text.clone()) {
                true => Some(text),
                false => reader.refuse(item.at, format!("{place}: `{text}` is written twice")),
            }
        })
    })
}

/// A text in short form, or a value in its long form.
pub(crate) fn or_text<T, R, S>(
    long: Leaf<R, S>,
    short: impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
) -> Leaf<impl Fn(&mut Reader<'_>, &Node, &str) -> Option<T>, impl Fn() -> Schema>
where
    R: Fn(&mut Reader<'_>, &Node, &str) -> Option<T>,
    S: Fn() -> Schema,
{
    let Leaf { read, schema } = long;
    Leaf {
        read: move |reader: &mut Reader<'_>, node: &Node, place: &str| match node.content {
            Content::Text(_) => short(reader, node, place),
            _ => read(reader, node, place),
        },
        schema: move || Schema::OrText(Box::new(schema())),
    }
}
