//! The poll of `explain`, made by the poller's code with the rights and the network of the person who runs it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_api::names::{CREDENTIAL_POLLER, PERSON_MANAGER, POLLER_MANAGER};
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_kube::resources::ResourceClient;
use drift_kube::watch::read_secret;
use drift_language::Target;
use drift_systems::{Databases, HttpSender, ProjectedTokens, RecordedExchange, RecordedExchanges, SentCredentials};

use super::PollingSettings;
use crate::ending::CommandError;
use crate::targets::session::Session;
use drift_poller::engine::judgement::finding::{Failure, Finding};
use drift_poller::engine::judgement::observation::Observation;
use drift_poller::engine::judgement::rendered::{Rendered, rule_error};
use drift_poller::engine::poll::request::{Prepared, Request};
use drift_poller::run::rate_limit::SharedRate;
use drift_poller::run::reads::outside::Outside;
use drift_poller::run::reads::sources::{ReadResult, look_at_all, look_at_one, observe_entry};
use drift_poller::run::reads::troubles::Troubles;

/// The result of one poll.
pub(super) struct Polled {
    /// The first request; `None` if none was needed.
    pub(super) request: Option<Request>,
    /// The observation, perhaps without a request.
    pub(super) observed: Result<Observation, Failure>,
    /// The credentials of its requests.
    pub(super) sent: SentCredentials,
    /// All HTTP requests of the read, with their answers.
    pub(super) exchanges: Vec<RecordedExchange>,
}

impl Polled {
    /// The observation of a poll that needed no request.
    pub(super) fn without_request(observed: Result<Observation, Failure>) -> Self {
        Self { request: None, observed, sent: SentCredentials::default(), exchanges: Vec::new() }
    }
}

/// The way out of one target's polls, with the Secrets that reading needs.
pub(crate) struct WayOut {
    pub(super) outside: Outside,
    exchanges: RecordedExchanges,
}

impl WayOut {
    /// Reads the Secrets of a target.
    ///
    /// # Errors
    /// If there is no usable configuration, or a certificate bundle is bad.
    pub(crate) async fn open(
        session: &Session<'_>,
        settings: &PollingSettings,
        target: &Target,
    ) -> Result<Self, CommandError> {
        settings.egress.trust_bundle().map_err(CommandError::BadUsage)?;
        let mut secrets: Vec<(String, LabelledSecret)> = Vec::new();
        for needed in target.needed_secrets().into_iter().filter(|needed| needed.user == CREDENTIAL_POLLER) {
            match read_secret(&session.client, session.home, &needed.name).await {
                Ok(Some((label, secret))) if label.as_deref() == Some(CREDENTIAL_POLLER) => {
                    secrets.push((needed.name, secret))
                }
                Ok(_) => {}
                Err(error) => tracing::warn!("Secret {} cannot be read: {error}", needed.name),
            }
        }
        let secrets: Arc<ArcSwap<LabelledSecrets>> = Arc::new(ArcSwap::from_pointee(secrets.into_iter().collect()));
        let resources =
            session.cluster.configuration().await.and_then(|config| ResourceClient::of(config, PERSON_MANAGER));
        let exchanges = RecordedExchanges::default();
        let projected = ProjectedTokens::new(&settings.projected_tokens);
        let sender = HttpSender::with_projected(projected, settings.egress.proxy(), secrets.clone(), POLLER_MANAGER);
        let outside = Outside {
            sender: sender.recording(exchanges.clone()),
            databases: Databases::new(secrets, POLLER_MANAGER),
            resources: resources.map_err(|error| CommandError::BadUsage(error.to_string()))?,
            gate: Arc::default(),
            troubles: Arc::new(Troubles::silent()),
        };
        Ok(Self { outside, exchanges })
    }
}

/// The ways out of the targets that were polled so far, by their names.
#[derive(Default)]
pub(crate) struct WaysOut(BTreeMap<String, WayOut>);

impl WaysOut {
    /// Returns the way out of a target. The first call opens it.
    ///
    /// # Errors
    /// As [`WayOut::open`].
    pub(crate) async fn of(
        &mut self,
        session: &Session<'_>,
        settings: &PollingSettings,
        target: &Target,
    ) -> Result<&WayOut, CommandError> {
        Ok(match self.0.entry(target.name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(WayOut::open(session, settings, target).await?),
        })
    }
}

/// One poll, as the poller makes it.
pub(super) async fn poll(
    WayOut { outside, exchanges }: &WayOut,
    target: &Target,
    object: &LeanObject,
    rendered: &Rendered,
) -> Polled {
    let prepared = Prepared::of(target, &object.view);
    let request = match first_request(&prepared, rendered) {
        Ok(request) => request.clone(),
        Err(observed) => return Polled::without_request(*observed),
    };
    let (observed, sent) = match observe(outside, target, object, (rendered, &prepared, &request)).await {
        Ok(result) => (result.read.unwrap_or_else(|postponed| Err(postponed.cause)), result.sent),
        Err(failure) => (Err(failure), SentCredentials::default()),
    };
    Polled { request: Some(request), observed, sent, exchanges: exchanges.take() }
}

/// The first request of a poll that nothing rejects.
///
/// # Errors
/// The observation, if no request is needed.
pub(super) fn first_request<'p>(
    prepared: &'p Prepared,
    rendered: &Rendered,
) -> Result<&'p Request, Box<Result<Observation, Failure>>> {
    if let Some(rejected) = &rendered.rejected {
        return Err(Box::new(Err((**rejected).clone())));
    }
    prepared.first().map_err(|found| match &found.finding {
        Finding::Failed(failure) => Box::new(Err(failure.clone())),
        _ => Box::new(Ok(Observation::Absent)),
    })
}

async fn observe(
    outside: &Outside,
    target: &Target,
    object: &LeanObject,
    (rendered, prepared, request): (&Rendered, &Prepared, &Request),
) -> Result<ReadResult<Observation>, Failure> {
    let (uid, view) = (&object.id.uid, &object.view.open());
    let Some(keys) = target.read.keys() else {
        return Ok(look_at_one(outside, target, (uid, prepared, view), (None, None)).await);
    };
    let identity = rendered.identity.as_deref().unwrap_or_default();
    let key = keys.of_object(view, identity).map_err(|error| rule_error(&error))?;
    let rate = SharedRate::per_second(target.read.limits.per_second);
    let wanted = (vec![uid.clone()], HashSet::from([key.clone()]));
    let result = look_at_all(outside, target, wanted, (request.clone(), &rate)).await;
    Ok(result.and_then(|entries| entries.observe(&key, |entry| observe_entry(target, view, entry))))
}
