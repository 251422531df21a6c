//! The requests of one correction, for any kind of system: rendered one by one, sent by the shell, and judged here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::ldap::Change;
use drift_language::{Destination, Format, HttpRequest, SecretValues, Target};
use drift_systems::{HttpFailure, HttpReply, LdapFailure, StatementFailure, WriteStatement};
use jiff::Timestamp;
use serde_json::Value;

use super::job::JobRequests;
use super::{
    Changes, CorrectionJob, JobReply, JobStep, ManifestReply, ManifestStep, Manifests, Nudge, NudgeReply,
    ObjectSecrets, Plan, Rendering, Statements, Unrenderable,
};
use crate::engine::corrections::Correction;
use crate::engine::corrections::outcome::{Doubt, StepAnswer, StepOutcome, Uncertainty};

/// Requests of one correction to one kind of system.
pub trait Requests: Send {
    /// Returns the plan of the steps.
    fn plan(&self) -> Plan;

    /// Renders the next request of this step, using the responses so far. `None` if the step is skipped, or if no item
    /// of its list is left.
    ///
    /// # Errors
    /// Fails when a template fails for this object and the responses so far.
    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable>;

    /// Returns the name of the request rendered last, if its step has one for each item of a list.
    fn item_label(&self, _index: usize) -> Option<Arc<str>> {
        None
    }

    /// Returns the destinations of HTTP requests, as far as they are known before any is sent.
    fn probes(&self) -> Vec<HttpRequest> {
        Vec::new()
    }

    /// The object's namespace, which may choose the credential of statements and changes. HTTP requests name theirs.
    fn namespace(&self) -> Option<&str> {
        None
    }

    /// Checks that the secrets of all statements or changes may be sent to this server. The secrets of HTTP requests
    /// are checked when each request is rendered.
    ///
    /// # Errors
    /// Returns the reason why a secret may not be sent.
    fn check_host(&self, _host: &str) -> Result<(), CredentialError> {
        Ok(())
    }

    /// Returns the meaning of the reply to the request of this step. `wall` is the current time.
    fn judge(&mut self, index: usize, reply: Reply, wall: Timestamp) -> StepAnswer;
}

impl fmt::Debug for dyn Requests {
    /// Omits the contents, because they contain secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Requests")
    }
}

/// One rendered request.
pub enum Request {
    /// An HTTP request.
    Http {
        /// Request to send.
        request: Box<HttpRequest>,
        /// Deadline of the request.
        deadline: Duration,
        /// Format of the response.
        format: Format,
    },
    /// Statements that are sent together.
    Statements(Vec<WriteStatement>),
    /// A change of a directory.
    Change(Change),
    /// A step of a Job.
    Job(Arc<CorrectionJob>, JobStep),
    /// A step with a cluster object.
    Manifest(Arc<Manifests>, ManifestStep),
    /// A merge patch of the object itself.
    Nudge(Value),
}

impl fmt::Debug for Request {
    /// Omits the contents, because they contain secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Http { .. } => "Http",
            Self::Statements(_) => "Statements",
            Self::Change(_) => "Change",
            Self::Job(..) => "Job",
            Self::Manifest(..) => "Manifest",
            Self::Nudge(_) => "Nudge",
        })
    }
}

/// Reply to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The reply of an HTTP server.
    Http {
        /// The response, or the reason why there is none.
        response: Result<HttpReply, HttpFailure>,
        /// Credentials that were sent, so that no shown response repeats them.
        sent: SecretValues,
    },
    /// The reply of a database.
    Statements {
        /// Failed statement, if one failed.
        ended: Result<(), StatementFailure>,
        /// True if a statement may have been sent.
        is_sent: bool,
    },
    /// The reply of a directory.
    Change {
        /// Failure of the change, if it failed.
        ended: Result<(), LdapFailure>,
        /// True if the change may have been sent.
        is_sent: bool,
    },
    /// The result of a step of a Job.
    Job(JobReply),
    /// The result of a step with a cluster object.
    Manifest(ManifestReply),
    /// The reply to a nudge.
    Nudge(NudgeReply),
    /// The deadline passed.
    TimedOut {
        /// True if the request may have been sent.
        is_sent: bool,
    },
}

impl Reply {
    /// Returns the meaning of a reply without an answer of the system.
    pub(in crate::engine) const fn unanswered(&self) -> StepAnswer {
        let why = match self {
            Self::TimedOut { is_sent: true } => Doubt::TimedOut,
            Self::TimedOut { is_sent: false } => Doubt::NotConnected,
            _ => Doubt::NoAnswer,
        };
        StepAnswer::of(StepOutcome::Indefinite(Uncertainty::unanswered(why)))
    }
}

/// Renders the requests of a correction for the kind of system that its target corrects.
///
/// # Errors
/// Fails when a template fails for this object, or the target has no such steps.
pub fn requests(
    target: &Arc<Target>,
    object: &LeanObject,
    correction: &Correction,
    secrets: ObjectSecrets,
) -> Result<Box<dyn Requests>, Unrenderable> {
    Ok(match &target.correct.destination {
        None => return Err(Unrenderable::new("correct has no steps")),
        Some(Destination::Http(_)) => Box::new(Rendering::new(target, object, correction, secrets)?),
        Some(Destination::Sql(sql)) => Box::new(Statements::new(target, sql, (object, correction), secrets)?),
        Some(Destination::Ldap(ldap)) => Box::new(Changes::new(target, ldap, (object, correction), secrets)?),
        Some(Destination::Job(job)) => {
            Box::new(JobRequests::new(CorrectionJob::new(target, job, object, correction)?, correction.action))
        }
        Some(Destination::Kubernetes(kubernetes)) => {
            Box::new(Arc::new(Manifests::new(target, kubernetes, object, correction)?))
        }
        Some(Destination::Nudge(nudge)) => Box::new(Nudge::new(target, nudge, object, correction)?),
    })
}
