//! Encodes the requests of a session (RFC 4511).

use drift_language::ldap::ber::{OCTETS, SEQUENCE, element, number};
use drift_language::ldap::{Attribute, Change, Edit, Search, SearchScope};

pub(super) const INTEGER: u8 = 0x02;
pub(super) const ENUMERATED: u8 = 0x0a;
pub(super) const SET: u8 = 0x31;
const BOOLEAN: u8 = 0x01;
/// The filter that an attribute is present (RFC 4511, section 4.5.1.7).
const PRESENT: u8 = 0x87;

/// OID of StartTLS (RFC 4511, section 4.14.1).
const START_TLS: &[u8] = b"1.3.6.1.4.1.1466.20037";

/// Limits that the server applies to a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchLimits {
    pub(super) entries: u32,
    pub(super) seconds: u32,
}

/// Returns a message with one operation.
pub(super) fn message(id: u32, operation: &[u8]) -> Vec<u8> {
    element(SEQUENCE, &[&*element(INTEGER, &number(id)), operation].concat())
}

pub(super) fn start_tls() -> Vec<u8> {
    element(0x77, &element(0x80, START_TLS))
}

pub(super) fn bind(dn: &str, password: &str) -> Vec<u8> {
    let version = element(INTEGER, &number(3));
    element(0x60, &[version, octets(dn), element(0x80, password.as_bytes())].concat())
}

pub(super) fn unbind() -> Vec<u8> {
    element(0x42, &[])
}

pub(super) fn search(search: &Search, limits: SearchLimits) -> Vec<u8> {
    let scope = match search.scope {
        SearchScope::Base => 0,
        SearchScope::One => 1,
        SearchScope::Subtree => 2,
    };
    let attributes: Vec<u8> = requested(search).iter().flat_map(|name| octets(name)).collect();
    let parts = [
        octets(&search.base),
        element(ENUMERATED, &number(scope)),
        // Aliases are not followed: the entry itself is compared.
        element(ENUMERATED, &number(0)),
        element(INTEGER, &number(limits.entries)),
        element(INTEGER, &number(limits.seconds)),
        element(BOOLEAN, &[0]),
        search.encoded_filter.clone(),
        element(SEQUENCE, &attributes),
    ];
    element(0x63, &parts.concat())
}

pub(super) fn change(change: &Change) -> Vec<u8> {
    match change {
        Change::Delete { dn } => element(0x4a, dn.as_bytes()),
        Change::Add { dn, attributes } => {
            let attributes: Vec<u8> = attributes.iter().flat_map(attribute).collect();
            element(0x68, &[octets(dn), element(SEQUENCE, &attributes)].concat())
        }
        Change::Modify { dn, edits } => {
            let edit = |(edit, values): &(Edit, Attribute)| {
                let operation = match edit {
                    Edit::Add => 0,
                    Edit::Delete => 1,
                    Edit::Replace => 2,
                };
                element(SEQUENCE, &[element(ENUMERATED, &number(operation)), attribute(values)].concat())
            };
            let edits: Vec<u8> = edits.iter().flat_map(edit).collect();
            element(0x66, &[octets(dn), element(SEQUENCE, &edits)].concat())
        }
    }
}

/// Returns the attributes that a search asks for: those of its result, and those that only have to be there.
pub(super) fn requested(search: &Search) -> Vec<String> {
    let Search { attributes, present, .. } = search;
    let is_extra = |name: &&String| !attributes.iter().any(|known| known.eq_ignore_ascii_case(name));
    attributes.iter().chain(present.iter().filter(is_extra)).cloned().collect()
}

/// Returns the search for the entry above the result of another. It has no result but that entry.
pub(super) fn container_of(search: &Search) -> Search {
    const OBJECT_CLASS: &str = "objectClass";
    Search {
        secret: search.secret.clone(),
        base: search.container.clone(),
        scope: SearchScope::Base,
        filter: format!("({OBJECT_CLASS}=*)"),
        encoded_filter: element(PRESENT, OBJECT_CLASS.as_bytes()),
        attributes: Vec::new(),
        present: vec![OBJECT_CLASS.to_owned()],
        container: String::new(),
    }
}

fn octets(text: &str) -> Vec<u8> {
    element(OCTETS, text.as_bytes())
}

fn attribute(attribute: &Attribute) -> Vec<u8> {
    let values: Vec<u8> = attribute.values.iter().flat_map(|value| octets(value)).collect();
    element(SEQUENCE, &[octets(&attribute.name), element(SET, &values)].concat())
}
