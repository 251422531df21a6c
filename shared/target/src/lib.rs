//! The target language: YAML documents parsed into targets that cannot be wrong.
//!
//! Pure. It must not know where documents come from or who acts on them.
//! `yaml` gives a tree with places, `raw` reads it and collects problems, one file a section makes of it what the
//! section means, `document` puts them together, `catalogue` says which documents are in force.

mod addressing;
mod catalogue;
pub mod cel;
mod checked;
mod cluster_kind;
mod compare;
mod correct;
mod credentials;
mod decimal;
mod destinations;
mod document;
mod durations;
mod field_place;
mod fields;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod hash;
mod hints;
mod host_patterns;
mod http;
mod identity;
mod indentation;
mod insecure;
mod json;
mod json_schema;
mod lookalikes;
mod manifests;
mod names;
mod naming;
mod network;
mod objects;
mod pace;
mod position;
mod problem;
mod raw;
mod read;
mod recording;
mod requirements;
mod scope;
mod secret_use;
mod secrets;
mod selector;
mod shape_hints;
mod shared_requests;
mod sql;
mod status_fields;
mod suspension;
mod templates;
mod unbounded_grants;
mod units;
mod unmarked_expressions;
mod yaml;
mod yaml_mistakes;

pub use catalogue::{Catalogue, Refused, Texts, UnknownField};
pub use checked::{Confirm, Requirement, Target, Wished};
pub use compare::{Compare, Form, ListKind, Meaning, Place, Rules, WriteOnly, item_key, json_of};
pub use correct::{
    Actions, Correct, CorrectLimits, Destination, Existing, HttpCorrect, HttpStep, JobCorrect, JobTemplate,
    KubernetesCorrect, Mode, NudgeCorrect, PostgresCorrect, SqlStatement,
};
pub use credentials::NeededSecret;
pub use decimal::Decimal;
pub use document::parse_document;
pub use hints::{HintSource, ListenHints, WebhookHints};
pub use http::auth::Auth;
pub use http::body::Body;
pub use http::challenge::Challenge;
pub use http::oauth2::{Grant, OAuth2};
pub use http::request::RequestTemplate;
pub use http::secret_key::SecretKey;
pub use http::statuses::StatusSet;
pub use http::tls::Tls;
pub use insecure::{is_unread, is_unread_host};
pub use json::{JsonError, memory_of, parse_json};
pub use json_schema::json_schema;
pub use manifests::{FoundDocument, Holder, find_documents, manifests_of, place_of_key, place_of_secret};
pub use names::{is_dns_label, is_dns_subdomain};
pub use network::{Network, NetworkError};
pub use objects::ObjectSelection;
pub use problem::{DocumentName, Problem};
pub use read::{
    Absence, AnswerRules, Collection, Format, HttpRead, Keys, KubernetesRead, NextPage, PostgresRead, Read, ReadLimits,
    ReadStep, Source,
};
pub use scope::IdentityScope;
pub use secrets::{DeclaredSecret, ObjectSecret, SecretSource};
pub use selector::LabelSelector;
pub use sql::{Connection, SqlTemplate};
pub use status_fields::StatusTemplates;
pub use suspension::{Edited, NotEditable, set_suspend};
pub use yaml::to_yaml;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
