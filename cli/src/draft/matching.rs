//! Finds the field of an answer that has the name of a field of the kind, and writes the template that compares both.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::printable::printable;
use serde_json::Value;
use url::Url;

use super::fields::{Field, Form, form_of, plain, words};
use super::sample_url::{is_value, values_in};

/// Ends of the names of links.
const LINKS: [&str; 5] = ["url", "uri", "href", "link", "self"];
/// Names of fields that identify a resource in a link to it.
const IDS: [&str; 5] = ["id", "uid", "uuid", "guid", "slug"];

/// A field of an answer.
#[derive(Clone, Debug)]
pub(super) struct AnswerField<'a> {
    /// The names from the body to it.
    pub(super) path: Vec<&'a str>,
    /// Its value.
    pub(super) value: &'a Value,
}

/// A field of the kind, and the field of the answer that it is compared with.
#[derive(Debug)]
pub(super) struct Match<'a> {
    pub(super) field: &'a Field,
    pub(super) answer: AnswerField<'a>,
    /// The CEL expression for the desired value.
    pub(super) desired: String,
    /// The length of the path to the object that wraps it in the answer.
    wrapper: usize,
}

/// The matches of a kind and an answer.
#[derive(Debug, Default)]
pub(super) struct Matches<'a> {
    /// The path to the object that holds all matched fields.
    pub(super) base: Vec<&'a str>,
    /// In the order of the fields.
    pub(super) found: Vec<Match<'a>>,
    /// The other fields of the kind, each with the reason.
    pub(super) left: Vec<(&'a Field, String)>,
    /// The other fields of the answer.
    pub(super) unused: Vec<AnswerField<'a>>,
}

/// The reasons for which fields of the kind are not compared, by their positions.
type Reasons = BTreeMap<usize, String>;

/// A field of the kind, by its position, and a field of the answer that has its name below a wrapper.
struct Candidate<'a> {
    field: usize,
    answer: AnswerField<'a>,
    wrapper: usize,
    desired: Result<String, String>,
}

impl<'a> Matches<'a> {
    /// Matches the fields by their names, in an answer from an address.
    pub(super) fn of(fields: &'a [Field], answer: &'a Value, url: Option<&Url>) -> Self {
        let mut all = Vec::new();
        collect(answer, &[], &mut all);
        let mut candidates = candidates(fields, &all, url);
        let wrapper = wrapper_of(&candidates, &all, url);
        let is_inside = |one: &Candidate<'_>| wrapper.starts_with(&one.answer.path[..one.wrapper]);
        let outside: Vec<_> = candidates.extract_if(.., |one| !is_inside(one)).collect();
        // A fitting type, then the whole path of the field, then the deepest wrapper, then the same spelling.
        candidates.sort_by_key(|one| {
            let path = &fields[one.field].path;
            let is_whole = joined(path) == joined(&one.answer.path[one.wrapper..]);
            let is_same = path.last().map(String::as_str) == one.answer.path.last().copied();
            (one.desired.is_err(), !is_whole, usize::MAX - one.wrapper, !is_same, one.field)
        });
        let (mut matches, mut reasons) = Self::chosen(fields, candidates);
        let is_matched = |answer: &AnswerField<'_>| matches.found.iter().any(|one| is_within(answer, &one.answer));
        for one in outside.into_iter().filter(|one| !is_matched(&one.answer)) {
            let reason = || format!("the answer has {}, outside of what is compared", one.answer.shown());
            reasons.entry(one.field).or_insert_with(|| one.desired.err().unwrap_or_else(reason));
        }
        matches.found.sort_by(|left, right| left.field.path.cmp(&right.field.path));
        matches.base = matches.common_wrapper();
        let is_unused = |one: &AnswerField<'_>| {
            let is_leaf = one.value.as_object().is_none_or(serde_json::Map::is_empty);
            is_leaf && !matches.found.iter().any(|found| is_within(one, &found.answer))
        };
        matches.unused = all.iter().filter(|one| is_unused(one)).cloned().collect();
        let is_left = |field: &&Field| !matches.found.iter().any(|one| std::ptr::eq(one.field, *field));
        let left = fields.iter().enumerate().filter(|(_, field)| is_left(field));
        matches.left =
            left.map(|(at, field)| (field, reasons.remove(&at).unwrap_or_else(|| matches.absence(field)))).collect();
        matches
    }

    /// Takes each field of the kind and of the answer once, the first candidates first.
    fn chosen(fields: &'a [Field], candidates: Vec<Candidate<'a>>) -> (Self, Reasons) {
        let (mut matches, mut reasons) = (Self::default(), Reasons::new());
        for Candidate { field, answer, wrapper, desired } in candidates {
            let field_of = &fields[field];
            if matches.found.iter().any(|one| std::ptr::eq(one.field, field_of)) {
                continue;
            }
            let is_taken = |one: &&Match<'_>| is_within(&one.answer, &answer) || is_within(&answer, &one.answer);
            let taken = matches.found.iter().find(is_taken).map(|one| one.field.shown());
            match (desired, taken) {
                (Ok(_), Some(other)) => {
                    let reason = || format!("the answer's {} is compared with {other}", answer.shown());
                    reasons.entry(field).or_insert_with(reason);
                }
                (Ok(desired), None) => matches.found.push(Match { field: field_of, answer, desired, wrapper }),
                (Err(reason), _) => drop(reasons.entry(field).or_insert(reason)),
            }
        }
        (matches, reasons)
    }

    /// The reason for which a field without a candidate is not compared.
    fn absence(&self, field: &Field) -> String {
        if field.looks_secret() {
            return "looks like a secret".to_owned();
        }
        match self.similar(field) {
            Some(one) => format!("the answer has no field of this name. Is it {}?", one.shown()),
            None => "the answer has no field of this name".to_owned(),
        }
    }

    /// The only unused field of the answer of which one name ends with the other's words: `recordType` and `Type`.
    pub(super) fn similar(&self, field: &Field) -> Option<&AnswerField<'a>> {
        let of_field = words(field.path.last()?);
        let is_similar = |one: &&AnswerField<'_>| {
            let of_answer = one.path.last().map(|name| words(name)).unwrap_or_default();
            let ends = of_field.ends_with(&of_answer) || of_answer.ends_with(&of_field);
            ends && one.path.starts_with(&self.base) && desired(field, one.value).is_ok()
        };
        let mut similar = self.unused.iter().filter(is_similar);
        similar.next().filter(|_| similar.next().is_none())
    }

    fn common_wrapper(&self) -> Vec<&'a str> {
        let mut wrappers = self.found.iter().map(|one| &one.answer.path[..one.wrapper]);
        let Some(first) = wrappers.next() else { return Vec::new() };
        let length = wrappers.fold(first.len(), |length, one| {
            first[..length].iter().zip(one).take_while(|(left, right)| left == right).count()
        });
        first[..length].to_vec()
    }
}

impl AnswerField<'_> {
    /// The path in messages.
    pub(super) fn shown(&self) -> String {
        printable(&self.path.join("."))
    }

    /// Returns true if it is the server's link to the resource: to the host of the address, or relative with an id.
    fn is_own_link(&self, all: &[AnswerField<'_>], url: Option<&Url>) -> bool {
        let name = self.path.last().map(|name| plain(name)).unwrap_or_default();
        let Value::String(link) = self.value else { return false };
        if !LINKS.iter().any(|end| name.ends_with(end)) {
            return false;
        }
        if Url::parse(link).is_ok_and(|link| url.is_some_and(|url| url.host() == link.host())) {
            return true;
        }
        let is_id = |one: &&AnswerField<'_>| one.path.last().is_some_and(|name| IDS.contains(&plain(name).as_str()));
        let end = url.and_then(|url| url.path_segments()?.rfind(|part| !part.is_empty()).map(str::to_owned));
        let ids = all.iter().filter(is_id).filter_map(|one| one.value.as_str().map(str::to_owned));
        let named: Vec<_> = ids.chain(end).collect();
        link.starts_with('/') && link.split('/').any(|part| named.iter().any(|id| id == part))
    }
}

impl Match<'_> {
    /// Returns true if it compares a list in the order of its items.
    pub(super) fn is_ordered(&self) -> bool {
        let kind = &self.field.schema["x-kubernetes-list-type"];
        self.answer.value.is_array() && *kind != "set" && *kind != "map"
    }

    /// Returns true if it compares a list of objects.
    pub(super) fn has_objects(&self) -> bool {
        self.answer.value.get(0).is_some_and(Value::is_object)
    }

    /// Returns true if it reads a number from a text.
    pub(super) fn parses_text(&self) -> bool {
        self.field.form == Form::Text && self.answer.value.is_number()
    }
}

fn collect<'a>(value: &'a Value, path: &[&'a str], all: &mut Vec<AnswerField<'a>>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = [path, &[name]].concat();
        all.push(AnswerField { path: path.clone(), value });
        collect(value, &path, all);
    }
}

fn candidates<'a>(fields: &[Field], all: &[AnswerField<'a>], url: Option<&Url>) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let ends_of = |path: &[&str]| -> Vec<String> { (0..path.len()).map(|from| joined(&path[from..])).collect() };
    let named: Vec<_> =
        all.iter().map(|answer| (answer, ends_of(&answer.path), answer.is_own_link(all, url))).collect();
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.looks_secret()) {
        let path: Vec<&str> = field.path.iter().map(String::as_str).collect();
        let of_field = ends_of(&path);
        for (answer, ends, is_own_link) in &named {
            let desired = || match is_own_link {
                true => Err(format!("the answer's {} seems to be a link that the server makes", answer.shown())),
                false => desired(field, answer.value),
            };
            let wrappers = (0..ends.len()).filter(|wrapper| of_field.contains(&ends[*wrapper]));
            found.extend(wrappers.map(|wrapper| Candidate {
                field: at,
                answer: (*answer).clone(),
                wrapper,
                desired: desired(),
            }));
        }
    }
    found
}

/// The wrapper below which most fields of the kind have their name. Of several, one with a value of the address wins,
/// then the outermost.
fn wrapper_of<'a>(candidates: &[Candidate<'a>], all: &[AnswerField<'a>], url: Option<&Url>) -> Vec<&'a str> {
    let mut named: BTreeMap<&[&'a str], BTreeSet<usize>> = BTreeMap::new();
    for one in candidates.iter().filter(|one| one.desired.is_ok()) {
        named.entry(&one.answer.path[..one.wrapper]).or_default().insert(one.field);
    }
    let parts = url.map(values_in).unwrap_or_default();
    let is_in_address = |value: &Value| url.is_some_and(|url| parts.iter().any(|part| is_value(value, part, url)));
    let names_it = |wrapper: &[&str]| {
        let is_here = |one: &&AnswerField<'_>| one.path.split_last().is_some_and(|(_, above)| above == wrapper);
        all.iter().filter(is_here).any(|one| is_in_address(one.value))
    };
    let best = named.iter().max_by_key(|(path, fields)| (fields.len(), names_it(path), usize::MAX - path.len()));
    best.map(|(path, _)| path.to_vec()).unwrap_or_default()
}

fn joined(path: &[impl AsRef<str>]) -> String {
    path.iter().map(|name| plain(name.as_ref())).collect()
}

fn is_within(one: &AnswerField<'_>, other: &AnswerField<'_>) -> bool {
    one.path.starts_with(&other.path)
}

/// The expression that gives a field in the type that the answer has.
///
/// # Errors
/// The reason, if both types do not fit.
fn desired(field: &Field, value: &Value) -> Result<String, String> {
    let read = field.expression();
    let unfit = || format!("{} in the kind, {} in the answer", field.form.described(), described(value));
    let function = match (field.form, value) {
        (Form::Nested(_), Value::Array(items))
            if items.iter().any(Value::is_object) && is_shaped(&field.schema, value) =>
        {
            String::new()
        }
        (Form::Nested(what), _) => return Err(format!("{what}: write it by hand")),
        (Form::List, Value::Array(items)) => {
            let form = form_of(&field.schema["items"]);
            let functions: BTreeSet<_> = items.iter().map(|item| conversion(form, item)).collect();
            match functions.into_iter().collect::<Option<Vec<_>>>().as_deref() {
                Some([] | [""]) => String::new(),
                Some([function]) => format!(".map(item, {function}(item))"),
                _ => return Err(unfit()),
            }
        }
        (Form::Map, Value::Object(values)) => {
            let form = form_of(&field.schema["additionalProperties"]);
            let is_same = values.values().all(|value| conversion(form, value) == Some(""));
            return if is_same { Ok(read) } else { Err(unfit()) };
        }
        (form, value) => conversion(form, value).ok_or_else(unfit)?.to_owned(),
    };
    Ok(match (function.as_str(), field.is_optional()) {
        ("", _) => read,
        (map, false) if map.starts_with('.') => format!("{read}{map}"),
        (map, true) if map.starts_with('.') => format!("{read}.optMap(value, value{map})"),
        (function, false) => format!("{function}({read})"),
        (function, true) => format!("{read}.optMap(value, {function}(value))"),
    })
}

/// Returns true if all of a value is declared by a schema, in the same spelling and types.
fn is_shaped(schema: &Value, value: &Value) -> bool {
    match (form_of(schema), value) {
        (Form::List | Form::Nested(_), Value::Array(items)) => {
            items.iter().all(|item| is_shaped(&schema["items"], item))
        }
        (Form::Map, Value::Object(values)) => {
            values.values().all(|value| is_shaped(&schema["additionalProperties"], value))
        }
        (Form::Nested(_), Value::Object(values)) => values
            .iter()
            .all(|(name, value)| schema["properties"].get(name).is_some_and(|below| is_shaped(below, value))),
        (form, value) => conversion(form, value) == Some(""),
    }
}

/// The function that gives a value of the kind the type that the answer has. Empty if both are the same, `None` if they do not fit.
fn conversion(form: Form, value: &Value) -> Option<&'static str> {
    match (form, value) {
        (Form::Text, Value::Number(number)) => Some(if number.is_f64() { "double" } else { "int" }),
        (Form::Text, Value::Bool(_)) => Some("bool"),
        (Form::Number | Form::Truth, Value::String(_)) => Some("string"),
        (_, Value::Null) | (Form::Open, _) | (Form::Text, Value::String(_)) => Some(""),
        (Form::Number, Value::Number(_)) | (Form::Truth, Value::Bool(_)) => Some(""),
        _ => None,
    }
}

impl Form {
    const fn described(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Truth => "true or false",
            Self::Open => "open",
            Self::List => "a list of scalars",
            Self::Map => "a map of scalars",
            Self::Nested(what) => what,
        }
    }
}

/// The type of a value in messages.
pub(super) const fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
