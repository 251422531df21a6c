//! Sends the requests of a correction one by one to the external system.
//!
//! The engine renders the requests and judges the replies.

mod http;
mod job;
mod kubernetes;
mod ldap;
mod nudge;
mod sql;

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use drift_api::object::ObjectId;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_api::timing::moment::Moment;
use drift_kube::process::clock;
use drift_kube::{JobClient, Leadership, ObjectWriter, ResourceClient};
use drift_language::{Destination, Target};
use drift_systems::{
    ConnectionParameters, Databases, DirectoryParameters, HostGate, HostReply, HttpFailure, HttpSender, Permit, Probe,
    SystemFailure,
};
use tokio_util::sync::CancellationToken;

use crate::engine::corrections::Doubt;
use crate::engine::execution::{Destinations, Event, Probes};
use crate::engine::rendering::{Request, Requests};

pub use job::FollowedJob;

/// Maximum age of the last Lease renewal when a step is sent. Together with the cut-off at the loss of the Lease, none
/// of our requests is running when another controller may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// Interval of Lease checks while a request waits for its response. A request outlives the Lease by at most this time.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// A place among the requests to one host. Dropping it releases the place.
#[derive(Debug)]
pub struct HostPlace {
    host: String,
    permit: Permit,
}

/// Context of sending a request.
#[derive(Debug)]
pub struct SendContext<'s> {
    /// Sender of the request.
    pub sender: &'s RequestSender,
    /// Target of the correction.
    pub target: &'s Target,
    /// Reader and writer of the target's objects.
    pub writer: &'s ObjectWriter,
    /// Corrected object.
    pub object: &'s ObjectId,
    /// Number of the correction.
    pub correction: u64,
    /// True until an external write was accepted. Such a request is not sent during shutdown or while the host asks for
    /// a delay.
    pub begins: bool,
    /// Host for which the secrets of the request were checked.
    pub checked_host: Option<String>,
    /// Place at the host of the next request. A look-up gives it back for the write, which must not wait after the last
    /// check of the object.
    pub place: &'s mut Option<HostPlace>,
    /// Probes of unresponsive hosts, for this and the next requests.
    pub probes: &'s mut Probes,
}

/// Subject of a line of the log: a correction of an object.
#[derive(Clone, Copy, Debug)]
struct Subject<'s> {
    target: &'s str,
    kind: &'s str,
    namespace: Option<&'s str>,
    name: &'s str,
    uid: &'s str,
    correction: u64,
}

impl<'s> SendContext<'s> {
    /// Returns the subject of lines of the log.
    fn subject(&self) -> Subject<'s> {
        let (object, kind) = (self.object, &*self.writer.kind.resource.kind);
        let (namespace, name, uid) = (object.namespace.as_deref(), &*object.name, &*object.uid);
        Subject { target: &self.target.name, kind, namespace, name, uid, correction: self.correction }
    }

    /// Sends a request. `job` is the Job that the correction follows.
    pub async fn send(self, request: Request, job: &mut Option<FollowedJob>) -> Event {
        match request {
            Request::Http { request, deadline, format } => http::send(self, &request, deadline, &format).await,
            Request::Statements(statements) => sql::send(self, &statements).await,
            Request::Change(change) => ldap::send(self, &change).await,
            Request::Job(correction, step) => job::send(self, &correction, step, job).await,
            Request::Manifest(manifests, step) => kubernetes::send(self, &manifests, &step).await,
            Request::Nudge(patch) => nudge::send(self, &patch).await,
        }
    }

    /// Waits for a place at this host; `None` if no request may be sent any more.
    async fn take_place(&mut self, host: &str) -> Option<HostPlace> {
        let (sender, begins) = (self.sender, self.begins);
        let concurrent = self.target.correct.limits.concurrent;
        let entered = match self.place.take().filter(|place| place.host == host) {
            Some(place) => Some(place),
            None if begins => sender.enter_first(host.to_owned(), concurrent).await,
            None => sender.enter(host.to_owned(), concurrent).await,
        };
        // Checked after the wait for a place, which may have taken long.
        let mut place = entered.filter(|_| sender.may_send(begins))?;
        place.permit.take_over(self.probes.remove(host));
        // A delay that began after the first write does not interrupt a correction.
        let is_paused = sender.gate.begin(&mut place.permit, clock::now()).is_err();
        (!(is_paused && begins)).then_some(place)
    }

    /// The same for a database server or directory, to which the secrets of the request must be allowed.
    async fn take_checked_place(&mut self, host: &str) -> Option<HostPlace> {
        if self.checked_host.as_deref() != Some(host) {
            return None;
        }
        self.take_place(host).await
    }

    fn note(&self, place: &HostPlace, heard: HostReply) {
        self.sender.gate.note(&place.permit, &self.object.uid, heard, clock::now());
    }
}

/// Sends requests while this process leads.
#[derive(Clone, Debug)]
pub struct RequestSender {
    /// Sender of HTTP requests to external systems.
    pub sender: HttpSender,
    /// Connections to databases.
    pub databases: Databases,
    /// Client for Jobs in the cluster.
    pub jobs: JobClient,
    /// Client for cluster objects that are external resources.
    pub resources: ResourceClient,
    /// Leadership, checked before each request and while it is running.
    pub leadership: Leadership,
    /// Cancelled at the end of the term, which aborts running requests.
    pub term: CancellationToken,
    /// Cancelled at shutdown. Corrections that have begun continue, and no new one begins.
    pub stop: CancellationToken,
    /// Limits for each host, across all targets.
    pub gate: Arc<HostGate>,
}

impl RequestSender {
    /// Returns true if a correction may begin now.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        !self.stop.is_cancelled() && self.may_go_on()
    }

    /// Returns true if a correction may continue after its first request, also during shutdown.
    fn may_go_on(&self) -> bool {
        !self.term.is_cancelled() && self.leadership.renewed_within(FRESH_LEASE)
    }

    fn may_send(&self, begins: bool) -> bool {
        if begins { self.may_begin() } else { self.may_go_on() }
    }

    /// Waits for a place for a first request, possibly for long. The object must be judged after this wait, so that the
    /// judgement is current. `None` at shutdown.
    pub async fn enter_first(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            place = self.enter(host, concurrent) => place,
        }
    }

    /// Returns a place if one is free.
    #[must_use]
    pub fn try_enter(&self, host: &str) -> Option<HostPlace> {
        self.gate.try_enter(host).map(|permit| HostPlace { host: host.to_owned(), permit })
    }

    /// Waits for a place among the requests to the host; `None` at the end of the term.
    async fn enter(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.term.cancelled() => None,
            permit = self.gate.enter(&host, concurrent) => Some(HostPlace { host, permit }),
        }
    }

    /// Returns where the requests go, and which of their credentials is missing. The API server is no host, because the
    /// program's calls to it have a limit of their own; only cluster objects that are external resources count.
    #[must_use]
    pub fn destinations(&self, target: &Target, requests: &dyn Requests) -> Destinations {
        match &target.correct.destination {
            Some(Destination::Http(http)) => {
                let (probes, options) = (requests.probes(), |probe| http::options(target, http, probe));
                let missing =
                    probes.iter().find_map(|probe| match self.sender.has_credential(probe, &options(probe)) {
                        Err(HttpFailure::System(SystemFailure::CredentialUnavailable(cause))) => {
                            Some((Doubt::CredentialUnavailable, cause))
                        }
                        _ => None,
                    });
                Destinations { hosts: probes.iter().map(|probe| probe.host().into_owned()).collect(), missing }
            }
            Some(Destination::Sql(sql)) => {
                let own = sql.connection.of(requests.namespace());
                let parameters = own.and_then(|own| self.databases.parameters(own, target.insecure));
                of_server(parameters.as_ref().map(ConnectionParameters::host_and_port), requests)
            }
            Some(Destination::Ldap(ldap)) => {
                let (own, secrets) = (ldap.secret.of(requests.namespace()), self.sender.secrets());
                let parameters = own.and_then(|own| DirectoryParameters::of(own, &secrets, target.insecure));
                of_server(parameters.as_ref().map(DirectoryParameters::host_and_port), requests)
            }
            Some(Destination::Kubernetes(_)) => {
                Destinations { hosts: vec![self.resources.host().to_owned()], missing: None }
            }
            Some(Destination::Job(_) | Destination::Nudge(_)) | None => Destinations::default(),
        }
    }

    /// Acquires probes of these hosts, as far as they are unresponsive.
    ///
    /// # Errors
    /// Returns the end of the delay that a host asked for.
    pub fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment> {
        let mut probes: HashMap<String, Probe> = HashMap::new();
        for host in hosts {
            if !probes.contains_key(host)
                && let Some(probe) = self.gate.take_probe(host, now).map_err(|pause| pause.until)?
            {
                probes.insert(host.clone(), probe);
            }
        }
        Ok(probes)
    }

    /// Returns the output of `send`; `None` if this process does not lead any more. Leadership is checked on every
    /// poll: a process that was suspended while another took the Lease must not send the rest of its request.
    async fn while_leading<T>(&self, send: impl Future<Output = T>) -> Option<T> {
        let mut send = pin!(send);
        let mut lost = pin!(self.term.cancelled());
        let mut look = tokio::time::interval(LOOK_AT_LEASE);
        poll_fn(|context| {
            while look.poll_tick(context).is_ready() {}
            if lost.as_mut().poll(context).is_ready() || !self.leadership.is_held() {
                return Poll::Ready(None);
            }
            send.as_mut().poll(context).map(Some)
        })
        .await
    }
}

/// Returns the destination of requests that all go to one server.
fn of_server(server: Result<String, &CredentialError>, requests: &dyn Requests) -> Destinations {
    match server {
        Ok(host) => {
            let refused = requests.check_host(&host).err();
            let missing = refused.map(|cause| (Doubt::SecretUnavailable, cause.to_string()));
            Destinations { hosts: vec![host], missing }
        }
        Err(cause) => {
            Destinations { hosts: Vec::new(), missing: Some((Doubt::CredentialUnavailable, cause.to_string())) }
        }
    }
}
