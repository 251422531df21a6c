//! The target language: YAML documents parsed into targets that cannot be wrong.
//!
//! Pure. It must not know where documents come from or who acts on them.
//! `yaml` gives a tree with places, `raw` reads it and collects problems, one file a section makes of it what the
//! section means, `document` puts them together, `catalogue` says which documents are in force.

mod catalogue;
pub mod cel;
mod checked;
mod compare;
mod correct;
mod destinations;
mod document;
mod durations;
mod hash;
mod host_patterns;
mod http;
mod insecure;
mod json;
mod names;
mod naming;
mod network;
mod objects;
mod position;
mod problem;
mod raw;
mod read;
mod scope;
mod selector;
mod templates;
mod yaml;

pub use catalogue::{Catalogue, Texts};
pub use checked::{Confirm, Requirement, Target, Wished};
pub use compare::{Compare, Decimal, Form, ListKind, Meaning, Place, Rules, item_key, json_of};
pub use correct::{Actions, Correct, CorrectLimits, Destination, Existing, HttpCorrect, HttpStep, Mode};
pub use document::parse_document;
pub use http::auth::Auth;
pub use http::body::Body;
pub use http::oauth2::{Grant, OAuth2};
pub use http::request::RequestTemplate;
pub use http::secret_key::SecretKey;
pub use http::statuses::StatusSet;
pub use http::tls::Tls;
pub use json::{JsonError, parse_json};
pub use network::{Network, NetworkError};
pub use objects::ObjectSelection;
pub use problem::{DocumentName, Problem};
pub use read::{Absence, Collection, Format, HttpRead, NextPage, Read, ReadLimits, ReadStep, Source};
pub use scope::IdentityScope;
pub use selector::LabelSelector;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
