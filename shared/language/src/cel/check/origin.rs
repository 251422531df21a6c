//! The parts of answers, and the secrets, that the value of an expression contains.
//!
//! A write whose body is made of a look-up sends back what the look-up gave. This module follows a field of the answer
//! through an expression: it is carried, left out, or set to something else. It finds the fields that hold a secret in
//! the same way.

use std::fmt::{Display, Formatter, Result};

use crate::cel::check::variables::STEPS;

/// The selection of an item whose index is not known here.
pub(super) const AN_ITEM: &str = "[…]";

/// The body of an answer, an item of a list in it, or a field of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerPart {
    /// The expression of the body or the item: `steps.look.body`, `steps.look.body.items[…]`.
    root: String,
    /// The field's path in it.
    pub(super) path: Vec<String>,
}

impl AnswerPart {
    pub(crate) fn new(root: impl Into<String>) -> Self {
        Self { root: root.into(), path: Vec::new() }
    }

    pub(crate) fn field(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    /// Returns an item of the list. The item of a filtered list, whose parts are items already, is such an item too.
    pub(super) fn item(self) -> Self {
        match self.path.is_empty() && self.root.ends_with(AN_ITEM) {
            true => self,
            false => Self::new(format!("{self}{AN_ITEM}")),
        }
    }
}

impl Display for AnswerPart {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(&self.path.iter().fold(self.root.clone(), |value, name| selected(&value, name)))
    }
}

/// Returns the expression of a field: `steps.look.body`, `steps['my-step']`.
pub(super) fn selected(value: &str, name: &str) -> String {
    let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match is_word && !name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("{value}.{name}"),
        false => format!("{value}['{name}']"),
    }
}

/// The origin of a value: the parts of answers and the secrets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing of an answer, and no secret.
    Elsewhere,
    /// All answers.
    Steps,
    /// The answer to the step that this expression names.
    Answer(String),
    /// A text or bytes with the whole answer.
    Whole,
    /// The body of an answer, or a field of it. The items of a list count as bodies of their own.
    Body(AnswerPart),
    /// The item of a step's list.
    Item,
    /// All secrets.
    Secrets,
    /// The secret of this name, or a text with it.
    Secret(String),
    /// A field of a value.
    Field(Box<Self>, String),
    /// A map without these keys.
    Without(Box<Self>, Vec<String>),
    /// Two maps as one.
    Merged { base: Box<Self>, over: Box<Self>, is_deep: bool },
    /// The entries of a map.
    Map(Vec<Entry>),
    /// One of these, or a value with all of them.
    Among(Vec<Self>),
}

/// An entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `None` if it is not known here.
    pub(super) key: Option<String>,
    /// True if the map may lack the entry.
    pub(super) is_optional: bool,
    pub(super) value: Origin,
}

/// The subject of a search in a value.
#[derive(Clone, Copy)]
enum Sought<'s> {
    /// The field of an answer at this path in its body.
    Field(&'s [String]),
    /// The secret of this name.
    Secret(&'s str),
}

/// A place in a value that has the subject of a search.
pub(crate) struct Found {
    /// `None` if the place is not known.
    place: Option<Vec<String>>,
    /// The part of an answer that the value takes, and the path of the field in it: empty if the part is the field.
    /// `None` if the value takes a whole answer.
    pub(crate) part: Option<(AnswerPart, Vec<String>)>,
    /// True if the value has the map around that place, without the field.
    pub(crate) is_left_out: bool,
}

impl Origin {
    /// Returns where a value has a field, given by its path in the body of an answer. `items` is the origin of the items
    /// of a step's list.
    pub(crate) fn find_field(&self, field: &[String], items: &Self) -> Vec<Found> {
        self.find(Sought::Field(field), items)
    }

    /// Returns the paths of the fields that hold a secret.
    pub(crate) fn fields_with(&self, secret: &str) -> Vec<Vec<String>> {
        let found = self.find(Sought::Secret(secret), &Self::Item).into_iter();
        found.filter(|found| !found.is_left_out).filter_map(|found| found.place).collect()
    }

    fn find(&self, sought: Sought<'_>, items: &Self) -> Vec<Found> {
        match (self, sought) {
            (Self::Steps | Self::Answer(_) | Self::Whole, Sought::Field(_)) => vec![Found::at(None, None)],
            (Self::Body(part), Sought::Field(field)) if part.path.starts_with(field) => {
                vec![Found::at(None, Some((part.clone(), Vec::new())))]
            }
            (Self::Body(part), Sought::Field(field)) => match field.strip_prefix(part.path.as_slice()) {
                Some(below) => vec![Found::at(Some(below.to_vec()), Some((part.clone(), below.to_vec())))],
                None => Vec::new(),
            },
            (Self::Secret(name), Sought::Secret(secret)) if name == secret => vec![Found::at(Some(Vec::new()), None)],
            (Self::Item, _) if *items != Self::Item => items.find(sought, &Self::Item),
            (Self::Field(value, name), _) => {
                value.find(sought, items).into_iter().filter_map(|found| found.below(name)).collect()
            }
            (Self::Without(value, keys), _) => {
                let drops = |place: &Vec<String>| place.first().is_some_and(|first| keys.contains(first));
                let mut found = value.find(sought, items);
                found.iter_mut().for_each(|found| found.is_left_out |= found.place.as_ref().is_some_and(drops));
                found
            }
            (Self::Merged { base, over, is_deep }, _) => {
                let kept = base.find(sought, items).into_iter().filter_map(|found| found.under(over, *is_deep));
                kept.chain(over.find(sought, items)).collect()
            }
            (Self::Map(entries), _) => {
                let within = |entry: &Entry| {
                    let key = entry.key.clone();
                    let found = entry.value.find(sought, items).into_iter();
                    found.map(move |found| found.above(key.as_deref())).collect::<Vec<_>>()
                };
                entries.iter().flat_map(within).collect()
            }
            (Self::Among(values), _) => values.iter().flat_map(|value| value.find(sought, items)).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Steps => Self::Answer(selected(STEPS, name)),
            Self::Answer(answer) => match name {
                "body" => Self::Body(AnswerPart::new(selected(&answer, name))),
                "text" | "raw" => Self::Whole,
                _ => Self::Elsewhere,
            },
            Self::Body(part) => Self::Body(part.field(name)),
            Self::Secrets => Self::Secret(name.to_owned()),
            Self::Elsewhere => Self::Elsewhere,
            value => Self::Field(Box::new(value), name.to_owned()),
        }
    }

    /// Returns the origin of an item of a list, or of the value at a key that is not known here.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Steps => Self::Answer(format!("{STEPS}{AN_ITEM}")),
            Self::Answer(_) => Self::Whole,
            Self::Body(part) => Self::Body(part.item()),
            value => value,
        }
    }

    /// Returns the number of its parts.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Elsewhere
            | Self::Steps
            | Self::Answer(_)
            | Self::Whole
            | Self::Body(_)
            | Self::Item
            | Self::Secrets
            | Self::Secret(_) => 1,
            Self::Field(value, _) | Self::Without(value, _) => 1 + value.size(),
            Self::Merged { base, over, .. } => 1 + base.size() + over.size(),
            Self::Map(entries) => 1 + entries.iter().map(|entry| entry.value.size()).sum::<usize>(),
            Self::Among(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// Returns the value at a key that a map certainly has.
    fn value_at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => {
                let is_it = |entry: &&Entry| !entry.is_optional && entry.key.as_deref() == Some(key);
                entries.iter().find(is_it).map(|entry| &entry.value)
            }
            Self::Merged { base, over, .. } => over.value_at(key).or_else(|| base.value_at(key)),
            Self::Without(value, keys) if !keys.iter().any(|dropped| dropped == key) => value.value_at(key),
            _ => None,
        }
    }
}

impl Found {
    fn at(place: Option<Vec<String>>, part: Option<(AnswerPart, Vec<String>)>) -> Self {
        Self { place, part, is_left_out: false }
    }

    /// Returns the place in a field of the value. `None` if it is not in that field.
    fn below(mut self, name: &str) -> Option<Self> {
        let Some((first, rest)) = self.place.as_ref().and_then(|place| place.split_first()) else { return Some(self) };
        if first != name {
            return None;
        }
        let rest = rest.to_vec();
        // Without a map around it, the field of the value is one of the part.
        self.part = self.part.map(|(part, below)| match below.len() > rest.len() {
            true => (part.field(name), rest.clone()),
            false => (part, below),
        });
        Some(Self { place: Some(rest), ..self })
    }

    fn above(self, key: Option<&str>) -> Self {
        let place = self.place.zip(key).map(|(place, key)| std::iter::once(key.to_owned()).chain(place).collect());
        Self { place, ..self }
    }

    /// Returns what is left of it under another map. `None` if that map sets it.
    fn under(self, over: &Origin, is_deep: bool) -> Option<Self> {
        let Some(place) = &self.place else { return Some(self) };
        let mut here = over;
        for (depth, name) in place.iter().enumerate() {
            let Some(value) = here.value_at(name) else {
                // A map below a key replaces the one before it, unless both are merged.
                return Some(Self { is_left_out: self.is_left_out || depth > 0 && !is_deep, ..self });
            };
            here = value;
        }
        if place.is_empty() { Some(self) } else { None }
    }
}
