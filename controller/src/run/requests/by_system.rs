//! The requests of one correction, rendered for the kind of system that its target corrects.

use std::fmt;
use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_kube::jobs::JobClient;
use drift_kube::object_writer::ObjectWriter;
use drift_kube::resources::ResourceClient;
use drift_language::{Destination, Target};
use drift_systems::Databases;

use super::SystemRequests;
use super::http::HttpRequests;
use super::job::JobRequest;
use super::kubernetes::ManifestRequests;
use super::nudge::NudgeRequest;
use super::postgres::StatementRequests;
use crate::engine::corrections::correction::Correction;
use crate::engine::rendering::http::Rendering;
use crate::engine::rendering::job::CorrectionJob;
use crate::engine::rendering::kubernetes::Manifests;
use crate::engine::rendering::nudge::Nudge;
use crate::engine::rendering::postgres::Statements;
use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::unrenderable::Unrenderable;

/// The requests of one correction, and what is said of each besides its content.
pub struct Requests<'a> {
    pub(super) object: Uid,
    /// The target's limit of concurrent requests.
    pub(super) concurrent: u32,
    /// The requests.
    pub system: Box<dyn SystemRequests + 'a>,
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
    /// The Secrets that corrections send.
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
    let system: Box<dyn SystemRequests + 'a> = match &target.correct.destination {
        None => return Err(Unrenderable::new("correct has no steps")),
        Some(Destination::Http(http)) => {
            let rendering = Rendering::new(target, object, correction, ways.secrets)?;
            Box::new(HttpRequests::new(target, http, rendering))
        }
        Some(Destination::Postgres(postgres)) => {
            let statements = Statements::new(target, postgres, (object, correction), ways.secrets)?;
            Box::new(StatementRequests::new(target, postgres, statements, ways.databases))
        }
        Some(Destination::Job(job)) => {
            let job = CorrectionJob::new(target, job, object, correction)?;
            Box::new(JobRequest::new(job, correction.action, ways.jobs, &ways.writer.slots))
        }
        Some(Destination::Kubernetes(kubernetes)) => {
            let manifests = Manifests::new(target, kubernetes, object, correction)?;
            Box::new(ManifestRequests::new(manifests, ways.resources))
        }
        Some(Destination::Nudge(nudge)) => {
            let nudge = Nudge::new(target, nudge, object, correction)?;
            Box::new(NudgeRequest::new(nudge, object.id.clone(), ways.writer))
        }
    };
    Ok(Requests { object: object.id.uid.clone(), concurrent: target.correct.limits.concurrent, system })
}

impl fmt::Debug for Requests<'_> {
    /// Neither what is sent nor what is answered.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Requests").field("object", &self.object).finish_non_exhaustive()
    }
}
