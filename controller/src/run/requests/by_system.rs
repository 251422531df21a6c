//! Renders the requests of one correction for the kind of system that its target corrects.

use std::fmt;
use std::sync::Arc;

use drift_api::{LeanObject, Uid};
use drift_kube::{JobClient, ObjectWriter, ResourceClient};
use drift_language::{Destination, Target};
use drift_systems::{Databases, HttpSender};

use super::SystemRequests;
use super::http::HttpRequests;
use super::job::JobRequest;
use super::kubernetes::ManifestRequests;
use super::ldap::ChangeRequests;
use super::nudge::NudgeRequest;
use super::sql::StatementRequests;
use crate::engine::corrections::correction::Correction;
use crate::engine::rendering::{
    Changes, CorrectionJob, Manifests, Nudge, ObjectSecrets, Rendering, Statements, Unrenderable,
};

/// Requests of one correction, with their metadata.
pub struct Requests<'a> {
    /// Name of the poll target.
    pub(super) target: &'a str,
    pub(super) object: Uid,
    /// Maximum concurrent requests of the target.
    pub(super) concurrent: u32,
    /// Requests for the kind of system.
    pub system: Box<dyn SystemRequests + 'a>,
}

/// Clients of all systems, and the secrets to send.
#[derive(Debug)]
pub struct Ways<'a> {
    /// Sender of HTTP requests, which knows the Secrets.
    pub sender: &'a HttpSender,
    /// Connections to databases.
    pub databases: &'a Databases,
    /// Client for cluster objects that are external resources.
    pub resources: &'a ResourceClient,
    /// Reader and writer of the target's objects.
    pub writer: &'a ObjectWriter,
    /// Secrets that the corrections send.
    pub secrets: ObjectSecrets,
    /// Client for Jobs in the cluster.
    pub jobs: &'a JobClient,
}

/// Renders the unsent requests of a correction.
///
/// # Errors
/// Fails when a template fails for this object, or the target has no such steps.
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
        Some(Destination::Sql(sql)) => {
            let statements = Statements::new(target, sql, (object, correction), ways.secrets)?;
            Box::new(StatementRequests::new(target, sql, statements, ways.databases))
        }
        Some(Destination::Ldap(ldap)) => {
            let changes = Changes::new(target, ldap, (object, correction), ways.secrets)?;
            Box::new(ChangeRequests::new(target, ldap, changes, ways.sender))
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
    let concurrent = target.correct.limits.concurrent;
    Ok(Requests { target: &target.name, object: object.id.uid.clone(), concurrent, system })
}

impl fmt::Debug for Requests<'_> {
    /// Omits sent and received data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Requests").field("object", &self.object).finish_non_exhaustive()
    }
}
