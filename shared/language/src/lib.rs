//! The target language: YAML documents parsed into valid targets.
//!
//! Pure. `yaml` builds a tree with positions. One file for each section
//! interprets its content and collects problems. `document` combines the sections, and `catalogue` selects the active documents.

pub mod cel;
mod checks;
mod compare;
mod correct;
mod credentials;
mod document;
mod doubtful_create;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod hints;
mod holds;
mod json_schema;
mod misplaced_keys;
mod network;
mod read;
mod scope;
mod secrets;
mod section;
mod spec;
mod systems;
mod target;
mod target_state;
mod types;
mod unreadable;
mod values;
mod yaml;

pub use cel::{EvaluationError, Expression, Mistake, RawAnswers, SecretValues, ValueTemplate, Variables};
pub use compare::{Compare, Form, ListKind, Meaning, RulePlace, Rules, WriteOnly, item_key, json_of};
pub use correct::{Correct, CorrectLimits, Existing, Mode, Windows};
pub use document::catalogue::{Catalogue, CreationTimes, Refused, Texts, UnknownField};
pub use document::manifests::{
    BrokenYaml, FoundDocument, Holder, HolderLabel, broken_manifests, find_documents, manifests_of,
};
pub use document::parse_document;
pub use document::places::Places;
pub use document::suspension::{Edited, NotEditable, set_suspend};
pub use hints::{HintSource, HintedIdentities, ListenHints, WebhookHints};
pub use holds::SUSPENDED_ALONE;
pub use json_schema::{annotated_target, json_schema};
pub use network::{Network, NetworkError};
pub use read::{Read, ReadLimits};
pub use scope::{IdentityScope, scope_by_id};
pub use secrets::secret_key::SecretKey;
pub use secrets::{DeclaredSecret, ObjectSecret, SecretSource};
pub use spec::object_may::ObjectMay;
pub use spec::objects::{ClusterKind, ConditionsPlace, ObjectSelection, kind_and_group};
pub use spec::polling::Confirm;
pub use spec::requirements::Requirement;
pub use spec::selector::LabelSelector;
pub use spec::status_fields::StatusTemplates;
pub use systems::actions::{Action, ActionSteps, Actions};
pub use systems::by_namespace::{ByNamespace, CredentialList};
pub use systems::http::auth::aws_sig_v4::{AwsKeys, AwsRole, AwsSigV4};
pub use systems::http::auth::challenge::Challenge;
pub use systems::http::auth::field::{AuthField, CredentialPlace};
pub use systems::http::auth::jwt_claims::JwtClaims;
pub use systems::http::auth::login::{Login, LoginBody, TokenPlace};
pub use systems::http::auth::oauth2::{Grant, OAuth2};
pub use systems::http::auth::{Auth, AuthHeader, Auths};
pub use systems::http::collection::{Collection, NextPage};
pub use systems::http::correct::HttpCorrect;
pub use systems::http::correct_step::HttpStep;
pub use systems::http::for_each::{ForEach, MAX_ITEMS};
pub use systems::http::format::Format;
pub use systems::http::insecure::{is_unread, is_unread_host};
pub use systems::http::proxy::Proxy;
pub use systems::http::read::HttpRead;
pub use systems::http::read_step::{Absence, ReadStep};
pub use systems::http::request::RequestTemplate;
pub use systems::http::request::body::{Body, form_with_fields};
pub use systems::http::request::rendered::HttpRequest;
pub use systems::http::statuses::StatusSet;
pub use systems::http::tls::Tls;
pub use systems::job::progress::{Job, JobProgress, JobStage};
pub use systems::job::{JobCorrect, JobTemplate};
pub use systems::keys::Keys;
pub use systems::kubernetes::correct::KubernetesCorrect;
pub use systems::kubernetes::read::KubernetesRead;
pub use systems::ldap;
pub use systems::ldap::correct::LdapCorrect;
pub use systems::ldap::read::LdapRead;
pub use systems::ldap::step::LdapStep;
pub use systems::needed_secret::{Credential, NeededSecret};
pub use systems::nudge::NudgeCorrect;
pub use systems::repeated_create::RepeatedCreate;
pub use systems::single_value_answers::AnswerRules;
pub use systems::sql::correct::{SqlCorrect, SqlStatement};
pub use systems::sql::query::SqlQuery;
pub use systems::sql::read::SqlRead;
pub use systems::sql::{Connection, Dialect, SqlTemplate};
pub use systems::step_timeout::STEP_TIMEOUT;
pub use systems::steps::{Step, Steps};
pub use systems::{Destination, Source};
pub use target::{DesiredState, Target};
pub use target_state::{Polls, StateRules, TargetState};
pub use types::{KindSchema, TypeMistake, type_mistakes};
pub use values::decimal::Decimal;
pub use values::entities::without_entities;
pub use values::json::{JsonError, fault_in, memory_of, parse_json};
pub use values::names::{is_dns_label, is_dns_subdomain};
pub use values::xml::{XmlError, parse_xml};
pub use yaml::problem::{DocumentName, Folded, Problem};
pub use yaml::to_yaml;

pub(crate) mod suggest;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
