//! Headers that a target sets on a request.
//!
//! Headers of the credential, the connection and the body are reserved.

use std::sync::Arc;

use http::HeaderName;

use crate::cel::{Scope, Site, TextTemplate};
use crate::yaml::{Node, Reader};

/// Maximum headers of one request. More are a mistake.
const MAX_HEADERS: usize = 32;
/// Reserved headers: they belong to the credential, to the connection or to the body.
pub(crate) const RESERVED_HEADERS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The header name and its value.
pub(crate) type HeaderTemplate = (HeaderName, Arc<TextTemplate>);

/// Returns a reader of headers in this scope.
pub(crate) fn headers(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Vec<HeaderTemplate>> {
    move |reader, node, place| read_headers(reader, node, &reader.site(place, scope).sending())
}

fn read_headers(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<Vec<HeaderTemplate>> {
    let fields = reader.any_fields(node, &site.place)?;
    if fields.entries().len() > MAX_HEADERS {
        return reader.refuse(node.at, format!("{}: at most {MAX_HEADERS} headers", site.place));
    }
    let mut headers: Vec<HeaderTemplate> = Vec::new();
    let mut whole = true;
    for entry in fields.entries() {
        let site = site.at(&fields.place(&entry.key));
        let name = HeaderName::try_from(entry.key.as_str()).ok();
        let template = reader.text(&entry.value, &site.place);
        let template = template.and_then(|text| reader.compiled(&entry.value, &site, TextTemplate::parse(text, &site)));
        let refusal = match &name {
            None => Some(format!("`{}` is no header name", entry.key)),
            Some(name) if RESERVED_HEADERS.contains(&name.as_str()) => {
                Some(format!("the header `{name}` cannot be set here; credentials are given by auth"))
            }
            Some(name) if headers.iter().any(|(known, _)| known == name) => {
                Some(format!("the header `{name}` is written twice"))
            }
            Some(_) => None,
        };
        if let Some(message) = refusal {
            reader.refuse::<()>(entry.key_at, message);
            whole = false;
        } else if let (Some(name), Some(template)) = (name, template) {
            headers.push((name, Arc::new(template)));
        } else {
            whole = false;
        }
    }
    whole.then_some(headers)
}
