//! The parts of an answer that the value of an expression contains.
//!
//! A write whose body is made of a look-up sends back what the look-up gave. This module follows a field of the answer
//! through an expression: it is carried, left out, or set to something else.

/// The fate of a field of an answer in the value of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// The value has nothing of it, or something else in its place.
    Absent,
    /// The value has the resource without the field.
    LeftOut,
    /// The value has the field as the answer gave it.
    Carried,
}

/// The origin of a value: the parts of answers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nothing of an answer.
    Elsewhere,
    /// All answers.
    Steps,
    /// One answer.
    Answer,
    /// A text or bytes with the whole answer.
    Whole,
    /// The body of an answer, or the field at this path. The items of a list count as bodies of their own.
    Body(Vec<String>),
    /// The item of a step's list.
    Item,
    /// A field of a value.
    Field(Box<Self>, String),
    /// A map without these keys.
    Without(Box<Self>, Vec<String>),
    /// Two maps as one.
    Merged { base: Box<Self>, over: Box<Self>, is_deep: bool },
    /// A map with these keys. `None` is a key that is not known here or may be missing.
    Map(Vec<(Option<String>, Self)>),
    /// One of these, or a value with all of them.
    Among(Vec<Self>),
}

/// A field of an answer within a value.
struct Found {
    /// Its place in the value. `None` if the value is no map.
    place: Option<Vec<String>>,
    is_left_out: bool,
}

impl Origin {
    /// Returns the fate of a field, given by its path in the body of an answer. `items` is the origin of a step's list.
    pub(crate) fn fate(&self, field: &[String], items: &Self) -> Fate {
        let found = self.find(field, items);
        let fates = found.iter().map(|found| if found.is_left_out { Fate::LeftOut } else { Fate::Carried });
        fates.max().unwrap_or(Fate::Absent)
    }

    /// Returns true if the value is this field, or a part of it.
    pub(crate) fn is_field(&self, field: &[String]) -> bool {
        matches!(self, Self::Body(path) if path.starts_with(field))
    }

    fn find(&self, field: &[String], items: &Self) -> Vec<Found> {
        let somewhere = || vec![Found { place: None, is_left_out: false }];
        match self {
            Self::Elsewhere => Vec::new(),
            Self::Steps | Self::Answer | Self::Whole => somewhere(),
            Self::Body(path) if path.starts_with(field) => somewhere(),
            Self::Body(path) => match field.strip_prefix(path.as_slice()) {
                Some(below) => vec![Found { place: Some(below.to_vec()), is_left_out: false }],
                None => Vec::new(),
            },
            Self::Item if *items == Self::Item => Vec::new(),
            Self::Item => items.find(field, &Self::Item),
            Self::Field(value, name) => {
                value.find(field, items).into_iter().filter_map(|found| found.below(name)).collect()
            }
            Self::Without(value, keys) => {
                let drops = |place: &Vec<String>| place.first().is_some_and(|first| keys.contains(first));
                let mut found = value.find(field, items);
                found.iter_mut().for_each(|found| found.is_left_out |= found.place.as_ref().is_some_and(drops));
                found
            }
            Self::Merged { base, over, is_deep } => {
                let kept = base.find(field, items).into_iter().filter_map(|found| found.under(over, *is_deep));
                kept.chain(over.find(field, items)).collect()
            }
            Self::Map(entries) => {
                let within = |(key, value): &(Option<String>, Self)| {
                    let key = key.clone();
                    value
                        .find(field, items)
                        .into_iter()
                        .map(move |found| found.above(key.as_deref()))
                        .collect::<Vec<_>>()
                };
                entries.iter().flat_map(within).collect()
            }
            Self::Among(values) => values.iter().flat_map(|value| value.find(field, items)).collect(),
        }
    }

    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Self::Steps => Self::Answer,
            Self::Answer => match name {
                "body" => Self::Body(Vec::new()),
                "text" | "raw" => Self::Whole,
                _ => Self::Elsewhere,
            },
            Self::Body(path) => Self::Body(path.into_iter().chain([name.to_owned()]).collect()),
            Self::Elsewhere => Self::Elsewhere,
            value => Self::Field(Box::new(value), name.to_owned()),
        }
    }

    /// Returns the origin of an item of a list, or of the value at a key that is not known here.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Steps => Self::Answer,
            Self::Answer => Self::Whole,
            Self::Body(_) => Self::Body(Vec::new()),
            value => value,
        }
    }

    /// Returns the number of its parts.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Elsewhere | Self::Steps | Self::Answer | Self::Whole | Self::Body(_) | Self::Item => 1,
            Self::Field(value, _) | Self::Without(value, _) => 1 + value.size(),
            Self::Merged { base, over, .. } => 1 + base.size() + over.size(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.size()).sum::<usize>(),
            Self::Among(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// Returns the value at a key that a map certainly has.
    fn value_at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name.as_deref() == Some(key)).map(|(_, value)| value),
            Self::Merged { base, over, .. } => over.value_at(key).or_else(|| base.value_at(key)),
            Self::Without(value, keys) if !keys.iter().any(|dropped| dropped == key) => value.value_at(key),
            _ => None,
        }
    }
}

impl Found {
    fn below(self, name: &str) -> Option<Self> {
        match self.place {
            Some(mut place) if !place.is_empty() => {
                let first = place.remove(0);
                (first == name).then_some(Self { place: Some(place), ..self })
            }
            _ => Some(self),
        }
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
