//! Reads the responses of a server (RFC 4511). Never recurses, and never reads more than its allowance.

use crate::guard::failure::SystemFailure;
use crate::ldap::result_code::ResultCode;
use drift_language::ldap::Search;
use drift_language::ldap::ber::{OCTETS, SEQUENCE};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::failure::LdapFailure;
use crate::guard::allowance::Allowance;
use crate::refusal::ServerText;

use super::messages::{ENUMERATED, INTEGER, SET, requested};

/// Bytes of a response without entries: a code, a DN and a diagnostic message.
pub(super) const RESULT_BYTES: Allowance = Allowance::of(64 * 1024, "larger than 64 KiB");

/// Bytes of the entries of a search. A group with 10,000 members has about 600 KiB.
pub(super) const SEARCH_BYTES: Allowance = Allowance::of(1024 * 1024, "larger than 1 MiB");

/// Values of the entries of a search. Short ones take far more memory than bytes on the wire.
pub(super) const SEARCH_VALUES: Allowance = Allowance::of(100_000, "more than 100,000 values");

const NOT_LDAP: LdapFailure = LdapFailure::System(SystemFailure::Unreachable("the answer is not LDAP"));

/// The answer to a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchAnswer {
    /// The base does not exist.
    NoBase,
    /// The entries, each a map from the requested attributes to lists of texts, with `dn`.
    Entries(Vec<Value>),
}

impl SearchAnswer {
    /// Returns true if no entry was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::NoBase => true,
            Self::Entries(entries) => entries.is_empty(),
        }
    }
}

/// One message of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Response<'m> {
    Bind(ResultCode, ServerText),
    Entry(Entry<'m>),
    /// A part of the result is on another server.
    Reference,
    SearchDone(ResultCode, ServerText),
    Changed(ResultCode, ServerText),
    Extended(ResultCode),
}

/// The content of an entry, not yet decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'m>(Elements<'m>);

/// Reads one whole message and returns its content.
pub(super) async fn read_message(
    wire: &mut (impl AsyncRead + Unpin + ?Sized),
    allowance: &mut Allowance,
) -> Result<Vec<u8>, LdapFailure> {
    if wire.read_u8().await? != SEQUENCE {
        return Err(NOT_LDAP);
    }
    let mut length = usize::from(wire.read_u8().await?);
    if length >= 0x80 {
        let digits = length - 0x80;
        if !(1..=4).contains(&digits) {
            return Err(NOT_LDAP);
        }
        length = 0;
        for _ in 0..digits {
            length = length << 8 | usize::from(wire.read_u8().await?);
        }
    }
    allowance.take(length).map_err(SystemFailure::Unreadable)?;
    let mut content = vec![0; length];
    wire.read_exact(&mut content).await?;
    Ok(content)
}

/// The elements in the content of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Elements<'m>(&'m [u8]);

impl<'m> Elements<'m> {
    /// Returns the tag and the content of the next element.
    fn next(&mut self) -> Result<(u8, &'m [u8]), LdapFailure> {
        let [tag, first, rest @ ..] = self.0 else { return Err(NOT_LDAP) };
        let (length, rest) = match usize::from(*first) {
            short if short < 0x80 => (short, rest),
            long => {
                let (digits, rest) = rest.split_at_checked(long - 0x80).ok_or(NOT_LDAP)?;
                if digits.is_empty() || digits.len() > 4 {
                    return Err(NOT_LDAP);
                }
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(NOT_LDAP)?;
        self.0 = rest;
        Ok((*tag, content))
    }

    /// Returns the content of the next element, which has this tag.
    fn expect(&mut self, tag: u8) -> Result<&'m [u8], LdapFailure> {
        let (found, content) = self.next()?;
        if found == tag { Ok(content) } else { Err(NOT_LDAP) }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn number_of(content: &[u8]) -> Result<u32, LdapFailure> {
    if content.is_empty() || content.len() > 4 {
        return Err(NOT_LDAP);
    }
    Ok(content.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// Returns the words of the server in a result, which follow the code and the DN.
fn diagnostic_message(result: &[u8]) -> Option<ServerText> {
    let mut parts = Elements(result);
    parts.expect(ENUMERATED).ok()?;
    parts.expect(OCTETS).ok()?;
    Some(ServerText::from(&*String::from_utf8_lossy(parts.expect(OCTETS).ok()?)))
}

impl<'m> Response<'m> {
    /// Parses a message that answers the request with this ID.
    pub(super) fn parse(message: &'m [u8], id: u32) -> Result<Self, LdapFailure> {
        let mut parts = Elements(message);
        let answered = number_of(parts.expect(INTEGER)?)?;
        let (tag, content) = parts.next()?;
        if answered == 0 {
            // The notice of disconnection is the only such message.
            return Err(LdapFailure::System(SystemFailure::Unreachable("the server ends the session")));
        }
        if answered != id {
            return Err(NOT_LDAP);
        }
        let code = || number_of(Elements(content).expect(ENUMERATED)?).map(ResultCode);
        let said = || diagnostic_message(content).unwrap_or_default();
        Ok(match tag {
            0x61 => Self::Bind(code()?, said()),
            0x64 => Self::Entry(Entry(Elements(content))),
            0x73 => Self::Reference,
            0x65 => Self::SearchDone(code()?, said()),
            0x67 | 0x69 | 0x6b => Self::Changed(code()?, said()),
            0x78 => Self::Extended(code()?),
            _ => return Err(NOT_LDAP),
        })
    }
}

impl Entry<'_> {
    /// Returns the result of a search: the attributes of an entry that shows all that must be present.
    pub(super) fn to_result(&self, search: &Search, values: &mut Allowance) -> Result<Value, LdapFailure> {
        let mut entry = self.to_json(&requested(search), values)?;
        let shows = |name: &str| {
            let values =
                entry.as_object().and_then(|entry| entry.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
            values.and_then(|(_, values)| values.as_array()).is_some_and(|values| !values.is_empty())
        };
        if let Some(hidden) = search.present.iter().find(|name| !shows(name)) {
            return Err(LdapFailure::AttributeHidden(hidden.clone()));
        }
        if let Some(entry) = entry.as_object_mut() {
            entry.retain(|name, _| name == "dn" || search.attributes.contains(name));
        }
        Ok(entry)
    }

    /// Returns the entry with its requested attributes. An attribute without values is an empty list.
    pub(super) fn to_json(&self, requested: &[String], values_left: &mut Allowance) -> Result<Value, LdapFailure> {
        let mut parts = self.0;
        let mut found = Map::new();
        found.insert("dn".to_owned(), text(parts.expect(OCTETS)?)?);
        found.extend(requested.iter().map(|name| (name.clone(), Value::Array(Vec::new()))));
        let mut attributes = Elements(parts.expect(SEQUENCE)?);
        while !attributes.is_empty() {
            let mut attribute = Elements(attributes.expect(SEQUENCE)?);
            let name = std::str::from_utf8(attribute.expect(OCTETS)?).map_err(|_| NOT_LDAP)?;
            let mut values = Elements(attribute.expect(SET)?);
            if is_partial(name, requested) {
                return Err(LdapFailure::System(SystemFailure::Unreadable(
                    "an attribute has more values than the server returns at once",
                )));
            }
            let Some(name) = requested.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
                // Servers also return subtypes of the requested attributes: `cn;lang-de`.
                if is_subtype(name, requested) {
                    continue;
                }
                // The values of a requested attribute, which would seem to have none.
                return Err(LdapFailure::System(SystemFailure::Unreadable(
                    "an attribute has another name than requested: request that name",
                )));
            };
            let mut texts = Vec::new();
            while !values.is_empty() {
                values_left.take(1).map_err(SystemFailure::Unreadable)?;
                texts.push(text(values.expect(OCTETS)?)?);
            }
            found.insert(name.clone(), Value::Array(texts));
        }
        Ok(Value::Object(found))
    }
}

/// Returns true for `cn;lang-de` if `cn` is requested.
fn is_subtype(name: &str, requested: &[String]) -> bool {
    let base = name.split_once(';').map(|(base, _)| base);
    base.is_some_and(|base| {
        requested.iter().any(|known| known.split(';').next().unwrap_or(known).eq_ignore_ascii_case(base))
    })
}

/// Returns true for `member;range=0-1499`, with which Active Directory returns a part of many values.
fn is_partial(name: &str, requested: &[String]) -> bool {
    let lower = name.to_ascii_lowercase();
    let Some((base, _)) = lower.split_once(";range=") else { return false };
    requested.iter().any(|known| known.eq_ignore_ascii_case(base))
}

fn text(bytes: &[u8]) -> Result<Value, LdapFailure> {
    let text = std::str::from_utf8(bytes);
    text.map(Value::from).map_err(|_| LdapFailure::System(SystemFailure::Unreadable("a value is not UTF-8 text")))
}
