//! Clients for external systems, shared by all targets.

use std::sync::Arc;

use drift_api::condition::ObservedReason;
use drift_api::timing::moment::Moment;
use drift_kube::resources::ResourceClient;
use drift_language::Target;
use drift_systems::{Databases, DirectoryParameters, HostGate, HttpSender, Pause, PauseCause};

use crate::engine::Postponed;
use crate::engine::judgement::finding::Failure;
use crate::engine::poll::request::Request;
use crate::run::reads::troubles::Troubles;

/// Clients for external systems, shared by all targets.
#[derive(Clone, Debug)]
pub struct Outside {
    /// Sender of HTTP requests.
    pub sender: HttpSender,
    /// Connections to databases.
    pub databases: Databases,
    /// Client for cluster objects that are external resources.
    pub resources: ResourceClient,
    /// Limits for each host.
    pub gate: Arc<HostGate>,
    /// Logs why reads fail.
    pub troubles: Arc<Troubles>,
}

impl Outside {
    /// Returns the delay if a poll with this request must wait.
    #[must_use]
    pub fn postponed(&self, target: &Target, request: &Request, now: Moment) -> Option<Postponed> {
        let host = match request {
            Request::Http(request) => request.host(),
            Request::Sql(query) => {
                let connection = query.connection.as_ref().ok()?;
                self.databases.parameters(connection, target.insecure).ok()?.host_and_port().into()
            }
            Request::Ldap(search) => {
                let (secret, secrets) = (search.secret.as_ref().ok()?, self.sender.secrets());
                DirectoryParameters::of(secret, &secrets, target.insecure).ok()?.host_and_port().into()
            }
            Request::Kubernetes(resource) => self.resources.place_of(resource).into(),
        };
        self.gate.paused(&host, now).map(Postponed::from)
    }
}

impl From<Pause> for Postponed {
    fn from(Pause { until, cause }: Pause) -> Self {
        let reason = match cause {
            PauseCause::AskedToWait => ObservedReason::RateLimited,
            PauseCause::TimedOut => ObservedReason::PollTimedOut,
            PauseCause::Unreachable => ObservedReason::ExternalUnreachable,
        };
        Self { until, cause: Failure::of(reason) }
    }
}
