//! The address of a resource and its identity: which parts of a sample address are fields of the object.

use std::borrow::Cow;

use serde_json::Value;
use url::{Position, Url};

use super::fields::{Field, Form, plain};
use super::matching::{AnswerField, Matches};
use drift_api::secrets::secret_names::looks_secret;

/// The expression for the name of an object.
const OBJECT_NAME: &str = "self.metadata.name";
/// Names of fields that identify a resource, the likeliest first.
const NAMING: [&str; 6] = ["name", "fqdn", "hostname", "id", "identifier", "slug"];

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
}

impl<'a> Address<'a> {
    /// Replaces the parts of a sample address that occur as values of matched fields.
    pub(super) fn of(url: Option<&Url>, fields: &'a [Field], matches: &Matches<'a>) -> Self {
        match url {
            Some(url) => Self::sampled(url, matches),
            None => Self::placeholder(fields),
        }
    }

    fn placeholder(fields: &'a [Field]) -> Self {
        let mut address = Self { is_placeholder: true, ..Self::default() };
        let naming = |name: &&str| {
            let is_it = |field: &&Field| names(field) && field.path.last().is_some_and(|last| plain(last) == **name);
            fields.iter().find(is_it)
        };
        let by_end = || fields.iter().find(|field| names(field) && plain(&field.path.concat()).ends_with("name"));
        let part = match NAMING.iter().find_map(naming).or_else(by_end) {
            Some(field) => address.add(Some(field), field.expression()),
            None => address.add(None, OBJECT_NAME.to_owned()),
        };
        address.url = format!("https://CHANGE-ME.example/CHANGE-ME/{part}");
        address
    }

    fn sampled(url: &Url, matches: &Matches<'a>) -> Self {
        let mut address = Self::default();
        let segments: Vec<&str> = url.path_segments().into_iter().flatten().collect();
        let last = segments.iter().rposition(|segment| !segment.is_empty()).unwrap_or_default();
        let mut path = String::new();
        for (at, segment) in segments.iter().enumerate() {
            let part = address.part(segment, url, matches).unwrap_or_else(|| (*segment).to_owned());
            path.push('/');
            path.push_str(&if at == last { address.end(segment, part, (url, matches)) } else { part });
        }
        let written = url.query().into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty());
        let pair = |(written, (_, value)): (&str, (_, Cow<'_, str>))| {
            let name = written.split('=').next().unwrap_or_default();
            address.part(&value, url, matches).map_or_else(|| written.to_owned(), |part| format!("{name}={part}"))
        };
        let query: Vec<String> = written.zip(url.query_pairs()).map(pair).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        address.url = format!("{}{path}{query}", &url[..Position::BeforePath]);
        address
    }

    /// The template for a part that is the value of a matched field which every object has.
    fn part(&mut self, part: &str, url: &Url, matches: &Matches<'a>) -> Option<String> {
        let is_it = |value: &Value| is_value(value, part, url);
        let found = matches.found.iter().filter(|one| !one.field.is_optional() && is_it(one.answer.value));
        let best = found.min_by_key(|one| {
            let name = one.field.path.last().map(|name| plain(name)).unwrap_or_default();
            NAMING.iter().position(|naming| *naming == name).unwrap_or(NAMING.len())
        })?;
        Some(self.add(Some(best.field), best.field.expression()))
    }

    /// The last part of the path, which names the resource.
    fn end(&mut self, segment: &str, part: String, (url, matches): (&Url, &Matches<'a>)) -> String {
        if part.starts_with("${") {
            return part;
        }
        let foreign = matches.unused.iter().find(|one| is_value(one.value, segment, url));
        if foreign.is_none() && !self.expressions.is_empty() {
            return part;
        }
        self.foreign_id = foreign.cloned();
        self.add(None, OBJECT_NAME.to_owned())
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

/// Returns true if every object has this text.
fn names(field: &Field) -> bool {
    !field.is_optional() && field.form == Form::Text && !field.looks_secret()
}

/// Returns true if a part of an address is this value, encoded or not.
fn is_value(value: &Value, part: &str, url: &Url) -> bool {
    let text = match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return false,
    };
    let encoded = || {
        let mut encoded = url.clone();
        encoded.path_segments_mut().ok()?.clear().push(&text);
        encoded.path_segments()?.next().map(str::to_owned)
    };
    text == part || encoded().is_some_and(|encoded| encoded == part)
}

/// Reads the address of a resource.
///
/// # Errors
/// A sentence, if it is none or contains a credential.
pub(super) fn parse_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("--url is no URL: {error}; write https://HOST/PATH"))?;
    let has_secret = !url.username().is_empty() || url.password().is_some();
    if has_secret || url.query_pairs().any(|(name, _)| looks_secret(&name)) {
        return Err("--url contains a credential: leave it out, and write `auth` into the target".to_owned());
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err("--url is no address over HTTP: write https://HOST/PATH".to_owned());
    }
    if url.fragment().is_some() || text.contains(['{', '}']) {
        return Err("--url has a fragment or braces: write the address of one resource, as it was requested".to_owned());
    }
    Ok(url)
}
