//! The clients that requests go out by, one pair for each way of connecting.
//!
//! Connections are shared by requests that trust the same roots and may go to the same addresses, and by no others. This
//! file must not know requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::Resolve;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use url::Host;

use crate::http::dialling::DialRules;
use crate::http::resolver::GuardedResolver;
use crate::http::tls::{Clients, Roots};
use crate::{HttpFailure, HttpOptions};
use drift_model::http_request::{HttpRequest, host_and_port};
use drift_model::labelled_secrets::LabelledSecrets;
use drift_target::{SecretKey, Tls};

/// Clients that are kept: each of those that trust the system's roots holds a megabyte. Targets with one way of connecting
/// share theirs; beyond this many ways the one that was used least recently is built again when it is needed.
const KEPT_CLIENTS: usize = 64;

/// Builds clients and keeps them.
pub(super) struct ClientStore {
    program: &'static str,
    names: Arc<dyn Resolve>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    clients: HashMap<ClientKey, KnownClients>,
    /// Counts uses.
    uses: u64,
}

/// A way of connecting.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    trust: Trust,
    rules: DialRules,
}

/// Whose certificates a request believes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Trust {
    /// Plain HTTP has none.
    Nobody,
    /// The system's roots.
    System,
    /// The roots in that Secret.
    Secret(SecretKey),
}

/// The clients of one way, and the bundle they were built from.
struct KnownClients {
    bundle_hash: [u8; 32],
    clients: Arc<Clients>,
    last_use: u64,
}

impl ClientStore {
    /// Names are looked up by `names`; `program` names us in the user agent.
    pub(super) fn new(names: Arc<dyn Resolve>, program: &'static str) -> Self {
        Self { program, names, known: Mutex::default() }
    }

    pub(super) const fn program(&self) -> &'static str {
        self.program
    }

    /// The clients that connect as the request and the target say; built once, and again when the Secret's bundle changed.
    pub(super) fn clients(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        secrets: &LabelledSecrets,
    ) -> Result<Arc<Clients>, HttpFailure> {
        let rules = DialRules { has_chosen_host: request.has_chosen_host, allowed: options.allow_networks.to_vec() };
        let address = match request.url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            _ => None,
        };
        // A name's addresses are judged when they are dialled.
        if address.is_some_and(|address| !rules.allow(address)) {
            return Err(HttpFailure::AddressRefused { host: host_and_port(&request.url) });
        }
        let Some(Tls { ca }) = options.tls else {
            return match request.url.scheme() {
                "http" => self.known_or_built(ClientKey { trust: Trust::Nobody, rules }, Roots::Nobody),
                _ => self.known_or_built(ClientKey { trust: Trust::System, rules }, Roots::System),
            };
        };
        let bundle = secrets.credential(&ca.name, &ca.key, &host_and_port(&request.url))?.expose_secret().as_bytes();
        self.known_or_built(ClientKey { trust: Trust::Secret(ca.clone()), rules }, Roots::Only(bundle))
    }

    fn known_or_built(&self, key: ClientKey, roots: Roots<'_>) -> Result<Arc<Clients>, HttpFailure> {
        let bundle_hash = match roots {
            Roots::Only(bundle) => Sha256::digest(bundle).into(),
            Roots::Nobody | Roots::System => [0; 32],
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.uses += 1;
        let last_use = known.uses;
        if let Some(found) = known.clients.get_mut(&key).filter(|found| found.bundle_hash == bundle_hash) {
            found.last_use = last_use;
            return Ok(found.clients.clone());
        }
        let names = GuardedResolver { names: self.names.clone(), rules: key.rules.clone() };
        let clients = Clients::build(roots, Arc::new(names), self.program).map_err(|error| match &key.trust {
            Trust::Secret(SecretKey { name, key }) => {
                HttpFailure::CredentialUnavailable(format!("Secret {name} key {key}: {error}"))
            }
            Trust::Nobody | Trust::System => HttpFailure::Unreachable(error.to_string()),
        })?;
        known.clients.insert(key, KnownClients { bundle_hash, clients: clients.clone(), last_use });
        known.forget_least_used();
        Ok(clients)
    }
}

impl Known {
    fn forget_least_used(&mut self) {
        if self.clients.len() > KEPT_CLIENTS {
            let least = self.clients.iter().min_by_key(|(_, known)| known.last_use).map(|(key, _)| key.clone());
            least.map(|key| self.clients.remove(&key));
        }
    }
}
