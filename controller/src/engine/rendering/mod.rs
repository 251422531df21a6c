//! The requests of a correction, rendered from the object: HTTP steps, statements, changes of directories, manifests, nudges and Jobs.

pub mod api_refusal;
pub mod desired;
pub mod http;
pub mod job;
pub mod kubernetes;
pub mod ldap;
pub mod nudge;
pub mod plan;
pub mod requests;
pub mod secrets;
pub mod sent_secrets;
pub mod sql;
mod steps;
pub mod unrenderable;

pub use api_refusal::ApiRefusal;
pub use http::Rendering;
pub use job::{CorrectionJob, Course, JobEnd, JobReply, JobStep, Turn};
pub use kubernetes::{Judged, ManifestReply, ManifestStep, Manifests};
pub use ldap::Changes;
pub use nudge::{Nudge, NudgeReply};
pub use plan::{Plan, PlannedStep};
pub use requests::{Reply, Request, Requests, requests};
pub use secrets::{ObjectSecrets, SecretChange};
pub use sql::Statements;
pub use unrenderable::Unrenderable;
