//! The address of a resource and its identity: which parts of a sample address are fields of the object.

use std::borrow::Cow;

use serde_json::Value;
use url::{Position, Url};

use super::fields::{Field, Form, plain};
use super::matching::{AnswerField, Matches};
use super::sample_url::{is_of_operations, is_value};
use crate::check::document::PLACEHOLDER;

/// The expression for the name of an object.
const OBJECT_NAME: &str = "self.metadata.name";
/// Names of fields that identify a resource, the likeliest first.
const NAMING: [&str; 6] = ["name", "fqdn", "hostname", "id", "identifier", "slug"];

/// Ends of names of fields that refer to the resource that the rest of the name is.
const KEYS: [&str; 6] = ["", "id", "uid", "name", "ref", "refname"];

/// The address of a resource, as templates.
#[derive(Debug, Default)]
pub(super) struct Address<'a> {
    /// The URL.
    pub(super) url: String,
    /// The fields of the kind in it.
    pub(super) fields: Vec<&'a Field>,
    /// The expressions in it, which together are the identity.
    pub(super) expressions: Vec<String>,
    /// The field of the answer at the end of the address that the kind does not have.
    pub(super) foreign_id: Option<AnswerField<'a>>,
    /// True if the host and the path are to be written.
    pub(super) is_placeholder: bool,
    /// Parts that every object shares, each with the field that it may be the value of.
    pub(super) doubtful: Vec<(String, &'a Field)>,
    /// The other parts that every object shares.
    pub(super) shared: Vec<String>,
}

impl<'a> Address<'a> {
    /// Replaces the parts of a sample address that occur as values of matched fields.
    pub(super) fn of(url: Option<&Url>, fields: &'a [Field], matches: &Matches<'a>) -> Self {
        match url {
            Some(url) => Self::sampled(url, matches),
            None => Self::placeholder(fields),
        }
    }

    /// The address of a list. The identity is a field that names a resource.
    pub(super) fn of_list(url: Option<&Url>, fields: &'a [Field], matches: &Matches<'a>) -> Self {
        let address = Self::placeholder(fields);
        let Some(url) = url else {
            return Self { url: format!("https://{PLACEHOLDER}.example/{PLACEHOLDER}"), ..address };
        };
        let doubtful =
            literal_parts(url).filter_map(|part| Some((part.text.clone(), part.doubtful(matches)?))).collect();
        Self { url: url.to_string(), is_placeholder: false, doubtful, ..address }
    }

    fn placeholder(fields: &'a [Field]) -> Self {
        let mut address = Self { is_placeholder: true, ..Self::default() };
        let naming = |name: &&str| {
            let is_it = |field: &&Field| names(field) && field.path.last().is_some_and(|last| plain(last) == **name);
            fields.iter().find(is_it)
        };
        let by_end = || fields.iter().find(|field| names(field) && plain(&field.path.concat()).ends_with("name"));
        let part = match NAMING.iter().find_map(naming).or_else(by_end) {
            Some(field) => address.add(Some(field), field.present()),
            None => address.add(None, OBJECT_NAME.to_owned()),
        };
        address.url = format!("https://{PLACEHOLDER}.example/{PLACEHOLDER}/{part}");
        address
    }

    fn sampled(url: &Url, matches: &Matches<'a>) -> Self {
        let mut address = Self::default();
        let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
        let pairs = pairs_of(url);
        let mut path: Vec<_> = segments.iter().map(|segment| address.part(segment, url, matches)).collect();
        let mut query: Vec<_> = pairs.iter().map(|pair| address.part(&pair.value, url, matches)).collect();
        let last = segments.iter().rposition(|segment| !segment.is_empty()).unwrap_or_default();
        let naming = pairs.iter().position(|pair| NAMING.contains(&plain(&pair.name).as_str()));
        match naming.filter(|_| address.expressions.is_empty()) {
            // The query names the resource, so the path is that of all.
            Some(at) => query[at] = Some(address.add(None, OBJECT_NAME.to_owned())),
            // The body names the resource.
            None if is_of_operations(url) => drop(address.add(None, OBJECT_NAME.to_owned())),
            None if path.get(last).is_some_and(Option::is_none) => {
                path[last] = address.end(segments[last], (url, matches));
            }
            None => {}
        }
        let is_kept = [&path[..], &query].concat();
        let kept = literal_parts(url).zip(is_kept).filter(|(literal, part)| part.is_none() && !literal.text.is_empty());
        for (literal, _) in kept {
            match literal.doubtful(matches) {
                Some(field) => address.doubtful.push((literal.text, field)),
                None => address.shared.push(literal.shown),
            }
        }
        let path = path.into_iter().zip(segments).map(|(part, segment)| part.unwrap_or_else(|| segment.to_owned()));
        let query = query.into_iter().zip(&pairs).map(|(part, pair)| match part {
            Some(part) => format!("{}={part}", pair.written.split('=').next().unwrap_or_default()),
            None => pair.written.to_owned(),
        });
        let (path, query) = (path.collect::<Vec<_>>().join("/"), query.collect::<Vec<_>>().join("&"));
        let query = if query.is_empty() { query } else { format!("?{query}") };
        address.url = format!("{}/{path}{query}", &url[..Position::BeforePath]);
        address
    }

    /// The template for a part that is the value of a field of the kind: of a matched field, else of one that has the
    /// name of the part's field in the answer, or its end. Fields that every object has come first.
    fn part(&mut self, part: &str, url: &Url, matches: &Matches<'a>) -> Option<String> {
        let is_it = |value: &Value| is_value(value, part, url);
        let matched = matches.found.iter().filter(|one| is_it(one.answer.value)).map(|one| one.field);
        let unused = matches.unused.iter().filter(|one| is_it(one.value));
        let of_name = unused.filter_map(|one| {
            let name = plain(one.path.last()?);
            let has_name = |field: &&&Field| field.path.last().is_some_and(|last| plain(last) == name);
            let mut left = matches.left.iter().map(|(field, _)| field);
            let is_similar = |field: &&&Field| matches.similar(field).is_some_and(|similar| similar.path == one.path);
            left.clone().find(has_name).or_else(|| left.find(is_similar)).copied()
        });
        let is_scalar = |field: &&Field| matches!(field.form, Form::Text | Form::Number) && !field.looks_secret();
        let best = matched.chain(of_name).filter(is_scalar).min_by_key(|field| {
            let name = field.path.last().map(|name| plain(name)).unwrap_or_default();
            let naming = NAMING.iter().position(|naming| *naming == name).unwrap_or(NAMING.len());
            (field.is_optional(), naming)
        })?;
        Some(self.add(Some(best), best.present()))
    }

    /// The last part of the path, which names the resource if nothing else does.
    fn end(&mut self, segment: &str, (url, matches): (&Url, &Matches<'a>)) -> Option<String> {
        let foreign = matches.unused.iter().find(|one| is_value(one.value, segment, url));
        if foreign.is_none() && !self.expressions.is_empty() {
            return None;
        }
        // The answer is a Kubernetes object with the name of ours.
        self.foreign_id = foreign.filter(|one| one.path != ["metadata", "name"]).cloned();
        Some(self.add(None, OBJECT_NAME.to_owned()))
    }

    /// The fields in the address that an object may lack.
    pub(super) fn optional(&self) -> impl Iterator<Item = &'a Field> {
        self.fields.iter().copied().filter(|field| field.is_optional())
    }

    fn add(&mut self, field: Option<&'a Field>, expression: String) -> String {
        let part = format!("${{{expression}}}");
        if !self.expressions.contains(&expression) {
            self.fields.extend(field);
            self.expressions.push(expression);
        }
        part
    }
}

/// A name and a value of a query.
struct Pair<'u> {
    written: &'u str,
    name: Cow<'u, str>,
    value: Cow<'u, str>,
}

fn pairs_of(url: &Url) -> Vec<Pair<'_>> {
    let written = url.query().into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty());
    written.zip(url.query_pairs()).map(|(written, (name, value))| Pair { written, name, value }).collect()
}

/// Returns true if every object has this text.
fn names(field: &Field) -> bool {
    !field.is_optional() && field.form == Form::Text && !field.looks_secret()
}

/// A part of an address.
struct Literal {
    /// Its value.
    text: String,
    /// The part of the path before it, or its name in the query.
    word: String,
    /// The part for people, with its name in the query.
    shown: String,
}

/// The parts of the path and of the query, in their order.
fn literal_parts(url: &Url) -> impl Iterator<Item = Literal> {
    let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
    let words = std::iter::once("").chain(segments.clone());
    let path = segments.into_iter().zip(words).map(|(part, word)| Literal {
        text: part.to_owned(),
        word: word.to_owned(),
        shown: part.to_owned(),
    });
    let query = pairs_of(url).into_iter().map(|pair| Literal {
        text: pair.value.into_owned(),
        word: pair.name.into_owned(),
        shown: pair.written.to_owned(),
    });
    path.chain(query)
}

impl Literal {
    /// The field that it may be the value of, by the word before it: `zones/z1` and `zoneId`.
    fn doubtful<'a>(&self, matches: &Matches<'a>) -> Option<&'a Field> {
        let word = plain(&self.word);
        let one = word.strip_suffix('s').unwrap_or(&word);
        let of_kind = matches.left.iter().map(|(field, _)| *field).chain(matches.found.iter().map(|one| one.field));
        let is_it = |field: &Field| {
            let names = [field.path.last().map(|name| plain(name)), Some(plain(&field.path.concat()))];
            let ends = names.iter().flatten().filter_map(|name| name.strip_prefix(&word).or(name.strip_prefix(one)));
            ends.into_iter().any(|end| KEYS.contains(&end))
        };
        let is_scalar = |field: &Field| matches!(field.form, Form::Text | Form::Number) && !field.looks_secret();
        let is_named = !self.text.is_empty() && !word.is_empty();
        of_kind.into_iter().find(|field| is_named && is_scalar(field) && is_it(field))
    }
}
