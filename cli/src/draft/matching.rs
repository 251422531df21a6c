//! Finds the field of an answer that has the name of a field of the kind, and writes the template that compares both.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{Field, Form, form_of, plain};

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

/// A field of the kind, by its position, and a field of the answer that has its name below a wrapper.
struct Candidate<'a> {
    field: usize,
    answer: AnswerField<'a>,
    wrapper: usize,
    desired: Result<String, String>,
}

impl<'a> Matches<'a> {
    /// Matches the fields by their names.
    pub(super) fn of(fields: &'a [Field], answer: &'a Value) -> Self {
        let mut all = Vec::new();
        collect(answer, &[], &mut all);
        let mut candidates = candidates(fields, &all);
        let wrapper = wrapper_of(&candidates);
        candidates.retain(|one| wrapper.starts_with(&one.answer.path[..one.wrapper]));
        // A fitting type, then the whole path of the field, then the deepest wrapper, then the same spelling.
        candidates.sort_by_key(|one| {
            let path = &fields[one.field].path;
            let is_whole = joined(path) == joined(&one.answer.path[one.wrapper..]);
            let is_same = path.last().map(String::as_str) == one.answer.path.last().copied();
            (one.desired.is_err(), !is_whole, usize::MAX - one.wrapper, !is_same, one.field)
        });
        let (mut matches, mut reasons) = (Self::default(), BTreeMap::new());
        for Candidate { field, answer, wrapper, desired } in candidates {
            let field_of = &fields[field];
            let is_taken = |one: &Match<'_>| {
                std::ptr::eq(one.field, field_of) || is_within(&one.answer, &answer) || is_within(&answer, &one.answer)
            };
            match desired {
                _ if matches.found.iter().any(is_taken) => {}
                Ok(desired) => matches.found.push(Match { field: field_of, answer, desired, wrapper }),
                Err(reason) => drop(reasons.entry(field).or_insert(reason)),
            }
        }
        matches.found.sort_by(|left, right| left.field.path.cmp(&right.field.path));
        matches.base = matches.common_wrapper();
        let is_left = |field: &&Field| !matches.found.iter().any(|one| std::ptr::eq(one.field, *field));
        let reason = |(at, field): (usize, &'a Field)| {
            let reason =
                if field.looks_secret() { "looks like a secret" } else { "the answer has no field of this name" };
            (field, reasons.get(&at).cloned().unwrap_or_else(|| reason.to_owned()))
        };
        matches.left = fields.iter().enumerate().filter(|(_, field)| is_left(field)).map(reason).collect();
        let is_unused = |one: &AnswerField<'_>| {
            let is_leaf = one.value.as_object().is_none_or(serde_json::Map::is_empty);
            is_leaf && !matches.found.iter().any(|found| is_within(one, &found.answer))
        };
        matches.unused = all.iter().filter(|one| is_unused(one)).cloned().collect();
        matches
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

impl Match<'_> {
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

fn candidates<'a>(fields: &[Field], all: &[AnswerField<'a>]) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let ends_of = |path: &[&str]| -> Vec<String> { (0..path.len()).map(|from| joined(&path[from..])).collect() };
    let named: Vec<_> = all.iter().map(|answer| (answer, ends_of(&answer.path))).collect();
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| !field.looks_secret()) {
        let path: Vec<&str> = field.path.iter().map(String::as_str).collect();
        let of_field = ends_of(&path);
        for (answer, ends) in &named {
            let wrappers = (0..ends.len()).filter(|wrapper| of_field.contains(&ends[*wrapper]));
            found.extend(wrappers.map(|wrapper| Candidate {
                field: at,
                answer: (*answer).clone(),
                wrapper,
                desired: desired(field, answer.value),
            }));
        }
    }
    found
}

/// The wrapper below which most fields of the kind have their name, of several the outermost.
fn wrapper_of<'a>(candidates: &[Candidate<'a>]) -> Vec<&'a str> {
    let mut named: BTreeMap<&[&'a str], BTreeSet<usize>> = BTreeMap::new();
    for one in candidates.iter().filter(|one| one.desired.is_ok()) {
        named.entry(&one.answer.path[..one.wrapper]).or_default().insert(one.field);
    }
    let best = named.iter().max_by_key(|(path, fields)| (fields.len(), usize::MAX - path.len()));
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
