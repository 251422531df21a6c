//! The requests of one correction, by whatever means they go out: rendered one after the other, and their answers judged.
//!
//! This file must not know how a request is sent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use drift_api::condition::StatusFields;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_kube::jobs::JobClient;
use drift_kube::object_writer::ObjectWriter;
use drift_kube::process::clock;
use drift_kube::resources::ResourceClient;
use drift_language::{Destination, HttpCorrect, Target};
use drift_systems::credentials_of_correct;
use drift_systems::retry_after;
use drift_systems::{Databases, HttpOptions, SentCredentials};

use super::Reply;
use super::job::JobRequest;
use super::manifests::ManifestRequests;
use super::nudge::NudgeRequest;
use super::statements::StatementRequests;
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::StepOutcome;
use crate::engine::execution::Rendered;
use crate::engine::rendering::job::CorrectionJob;
use crate::engine::rendering::manifests::Manifests;
use crate::engine::rendering::nudge::Nudge;
use crate::engine::rendering::plan::Plan;
use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::statements::Statements;
use crate::engine::rendering::steps::Rendering;
use crate::engine::rendering::unrenderable::Unrenderable;

/// How much of an answer is read: as much as of a read where the target does not say. Of a larger one the status counts alone.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The requests of one correction, and what is said of each besides its content.
pub struct Requests<'a> {
    pub(super) object: Uid,
    pub(super) action: Action,
    /// What the target allows at once.
    pub(super) concurrent: u32,
    pub(super) means: Means<'a>,
}

/// By what means the requests go out.
pub(super) enum Means<'a> {
    Http {
        options: HttpOptions<'a>,
        /// What each is made of.
        rendering: Box<Rendering>,
        /// The one that is to be sent next.
        ready: Option<HttpRequest>,
    },
    Sql(StatementRequests<'a>),
    Job(JobRequest<'a>),
    Nudge(NudgeRequest<'a>),
    Manifest(ManifestRequests<'a>),
}

/// What the requests go out by, besides the way over HTTP, and what is sent with them.
#[derive(Debug)]
pub struct Ways<'a> {
    /// The connections to databases.
    pub databases: &'a Databases,
    /// The objects of the cluster that are external resources.
    pub resources: &'a ResourceClient,
    /// Reads and writes of the target's objects.
    pub writer: &'a ObjectWriter,
    /// What is sent of Secrets.
    pub secrets: ObjectSecrets,
    /// Jobs.
    pub jobs: &'a JobClient,
}

/// The requests of a correction, none of which was sent.
///
/// # Errors
/// When a template cannot be evaluated for this object, or the target has no such steps.
pub fn render<'a>(
    target: &'a Arc<Target>,
    object: &LeanObject,
    correction: &Correction,
    ways: Ways<'a>,
) -> Result<Requests<'a>, Unrenderable> {
    let means = match &target.correct.destination {
        None => return Err(Unrenderable::new("correct has no steps")),
        Some(Destination::Http(http)) => {
            let rendering = Box::new(Rendering::new(target, object, correction, ways.secrets)?);
            Means::Http { options: options_of(target, http), rendering, ready: None }
        }
        Some(Destination::Postgres(postgres)) => {
            let statements = Statements::new(target, postgres, (object, correction), ways.secrets)?;
            Means::Sql(StatementRequests::new(target, postgres, statements, ways.databases))
        }
        Some(Destination::Job(job)) => {
            let job = CorrectionJob::new(target, job, object, correction)?;
            Means::Job(JobRequest::new(job, ways.jobs, &ways.writer.slots))
        }
        Some(Destination::Kubernetes(kubernetes)) => {
            let manifests = Manifests::new(target, kubernetes, object, correction)?;
            Means::Manifest(ManifestRequests::new(manifests, ways.resources))
        }
        Some(Destination::Nudge(nudge)) => {
            let nudge = Nudge::new(target, nudge, object, correction)?;
            Means::Nudge(NudgeRequest::new(nudge, object.id.clone(), ways.writer))
        }
    };
    let action = correction.action;
    Ok(Requests { object: object.id.uid.clone(), action, concurrent: target.correct.limits.concurrent, means })
}

fn options_of<'a>(target: &'a Target, http: &'a HttpCorrect) -> HttpOptions<'a> {
    HttpOptions {
        auth: http.auth.as_ref(),
        tls: http.tls.as_ref(),
        allow_networks: &target.allow_networks,
        max_bytes: MAX_ANSWER_BYTES,
    }
}

impl Requests<'_> {
    /// The host of the first.
    #[must_use]
    pub fn first_host(&self) -> Option<String> {
        match &self.means {
            Means::Http { rendering, .. } => rendering.probes().next().map(|probe| probe.host()),
            Means::Sql(statements) => statements.host(),
            Means::Manifest(manifests) => Some(manifests.host()),
            Means::Job(_) | Means::Nudge(_) => None,
        }
    }

    /// Whether the secrets of all statements may go where they would: those of requests are judged one by one, as they are
    /// rendered.
    ///
    /// # Errors
    /// Why one may not.
    pub fn check_secrets(&self) -> Result<(), CredentialError> {
        match &self.means {
            Means::Http { .. } | Means::Job(_) | Means::Nudge(_) | Means::Manifest(_) => Ok(()),
            Means::Sql(statements) => statements.check_secrets(),
        }
    }

    /// What the steps are.
    #[must_use]
    pub fn plan(&self) -> Plan {
        match &self.means {
            Means::Http { rendering, .. } => rendering.plan(),
            Means::Sql(statements) => statements.plan(),
            Means::Job(_) => CorrectionJob::plan(self.action),
            Means::Manifest(manifests) => manifests.manifests.plan(),
            Means::Nudge(_) => Nudge::plan(),
        }
    }

    /// Renders the request of this step, to be sent next.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object and the answers so far.
    pub fn render_next(&mut self, index: usize) -> Result<Rendered, Unrenderable> {
        let is_ready = match &mut self.means {
            Means::Http { rendering, ready, .. } => {
                *ready = rendering.request(index)?;
                ready.is_some()
            }
            Means::Sql(statements) => statements.make_ready(index),
            Means::Manifest(manifests) => manifests.make_ready(index),
            Means::Job(job) => job.make_ready(index),
            Means::Nudge(_) => true,
        };
        Ok(if is_ready { Rendered::Ready } else { Rendered::Skipped })
    }

    /// What the answer to the step that was sent last means, and at which part of it that was, where it has parts.
    pub fn judge(&mut self, index: usize, reply: &Reply) -> (Option<Arc<str>>, StepOutcome) {
        match (&mut self.means, reply) {
            (Means::Http { rendering, .. }, Reply::Http(reply)) => {
                (None, rendering.take_answer(index, reply, retry_after(&reply.headers, clock::wall())))
            }
            (Means::Sql(statements), Reply::Sql(Err(failure))) => statements.judge(index, failure),
            (Means::Nudge(request), Reply::Nudge(reply)) => (None, request.nudge.judge(reply)),
            (Means::Job(request), Reply::Job(reply)) => (None, request.job.judge(reply)),
            (Means::Manifest(request), Reply::Manifest(reply)) => (None, request.manifests.judge(index, reply)),
            (Means::Http { .. } | Means::Sql(_) | Means::Job(_) | Means::Nudge(_) | Means::Manifest(_), _) => {
                (None, StepOutcome::Accepted)
            }
        }
    }

    /// The hosts of all.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<String> {
        match &self.means {
            Means::Http { rendering, .. } => rendering.probes().map(|probe| probe.host()).collect(),
            Means::Sql(statements) => statements.host().into_iter().collect(),
            Means::Manifest(manifests) => BTreeSet::from([manifests.host()]),
            Means::Job(_) | Means::Nudge(_) => BTreeSet::new(),
        }
    }

    /// What the requests went out with besides what was known before: no answer may repeat it to people.
    pub(super) fn keep_secret(&mut self, sent: &SentCredentials) {
        if let Means::Http { rendering, .. } = &mut self.means {
            let values = sent.values(|secrets| credentials_of_correct(rendering.target(), secrets));
            rendering.keep_secret(&values);
        }
    }

    /// What is to be stored of the answer that was judged last.
    pub fn take_stored(&mut self) -> StatusFields {
        match &mut self.means {
            Means::Http { rendering, .. } => rendering.take_stored(),
            Means::Sql(_) | Means::Job(_) | Means::Nudge(_) | Means::Manifest(_) => StatusFields::default(),
        }
    }
}

impl fmt::Debug for Requests<'_> {
    /// Neither what is sent nor what is answered.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut requests = formatter.debug_struct("Requests");
        requests.field("object", &self.object).field("action", &self.action).finish_non_exhaustive()
    }
}
