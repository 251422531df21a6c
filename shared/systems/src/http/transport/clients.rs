//! The clients for requests, one pair for each way of connecting.
//!
//! Only requests with the same trusted roots and the same allowed addresses share connections.

use crate::guard::failure::SystemFailure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use http::HeaderValue;
use reqwest::dns::Resolve;
use secrecy::ExposeSecret;

use crate::guard::dialling::DialRules;
use crate::http::auth::proxy_credential;
use crate::http::transport::client::{Clients, GuardedResolver, Way};
use crate::http::transport::proxy::ProgramProxy;
use crate::http::transport::tls::{ClientError, Material, MaterialHash, Roots};
use crate::{HttpFailure, HttpOptions};
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::{HttpRequest, Proxy, SecretKey};

/// Maximum cached clients, each with its connections. Targets with one way of connecting share a client. Beyond the
/// limit, the least recently used one is rebuilt when it is needed.
const KEPT_CLIENTS: usize = 64;

/// Keys of a Secret of type `kubernetes.io/tls`.
const CERTIFICATE: &str = "tls.crt";
const PRIVATE_KEY: &str = "tls.key";

/// Builds and caches clients.
pub(in crate::http) struct ClientStore {
    names: Arc<dyn Resolve>,
    program: &'static str,
    proxy: Option<ProgramProxy>,
    known: Mutex<ClientCache>,
}

#[derive(Default)]
struct ClientCache {
    clients: HashMap<ClientKey, KnownClients>,
    /// Counter of uses.
    uses: u64,
}

/// A way of connecting, as the cache key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClientKey {
    trust: Trust,
    /// The Secret with our client certificate.
    certificate: Option<String>,
    rules: DialRules,
    socket: Option<Arc<str>>,
    /// The proxy. Boxed, because few have one.
    via: Option<Box<Via>>,
}

/// The proxy of a request. A target's proxy with the same URL does not get the credential of the program's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Via {
    proxy: Proxy,
    is_of_program: bool,
}

/// The trusted certificates of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Trust {
    /// No certificates, for plain HTTP.
    Nobody,
    /// The system's roots.
    System,
    /// The roots in this Secret.
    Secret(SecretKey),
}

/// The clients of one way, and the hash of their Secret material.
struct KnownClients {
    hash: MaterialHash,
    /// The Secrets last seen with this hash. No hash is needed while they are the same.
    seen: Weak<LabelledSecrets>,
    clients: Build,
    last_use: u64,
    /// The previous clients, until these are built.
    before: Option<Arc<Clients>>,
}

/// Clients that the first user builds. Users of other clients do not wait for that.
type Build = Arc<OnceLock<Result<Arc<Clients>, ClientError>>>;

impl ClientStore {
    /// Creates a store. `names` resolves names. `program` is the clients' name in the user agent.
    pub(in crate::http) fn new(names: Arc<dyn Resolve>, program: &'static str) -> Self {
        Self { names, program, proxy: None, known: Mutex::default() }
    }

    /// Uses this proxy for requests of targets without their own.
    pub(in crate::http) fn through(self, proxy: Option<ProgramProxy>) -> Self {
        Self { proxy, ..self }
    }

    /// Returns the clients for this request and target. They are rebuilt after a change of the Secret's bundle.
    pub(in crate::http) fn clients(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        secrets: &Arc<LabelledSecrets>,
    ) -> Result<Arc<Clients>, HttpFailure> {
        let mut rules =
            DialRules { has_chosen_host: request.has_chosen_host, allowed: options.allow_networks.to_vec() };
        let (mut via, mut credential) = (None, None);
        if let Some(found) = self.via(request, options) {
            check_proxied(request, options, &rules)?;
            (rules, credential) = self.rules_and_credential(&found, options, secrets)?;
            via = Some(found);
        } else if !rules.allow_literal(request) {
            return Err(HttpFailure::System(SystemFailure::AddressRefused { host: request.host().into_owned() }));
        }
        let mut key = ClientKey { trust: Trust::Nobody, certificate: None, rules, socket: request.socket.clone(), via };
        let mut material = Material { roots: Roots::Nobody, identity: None, proxy: credential.as_ref() };
        if key.socket.is_some() || request.url.scheme() == "http" {
            return self.known_or_built(key, material, secrets);
        }
        let host = request.host();
        (key.trust, material.roots) = (Trust::System, Roots::System);
        if let Some(ca) = options.tls.and_then(|tls| tls.ca.as_ref()) {
            material.roots = Roots::Only(secrets.credential(&ca.name, &ca.key, &host)?.expose_secret().as_bytes());
            key.trust = Trust::Secret(ca.clone());
        }
        if let Some(name) = options.tls.and_then(|tls| tls.certificate.as_ref()) {
            if request.has_chosen_host {
                secrets.check_hosts_are_named(name)?;
            }
            let [chain, private] = [CERTIFICATE, PRIVATE_KEY].map(|key| secrets.credential(name, key, &host));
            material.identity = Some((chain?, private?));
            key.certificate = Some(name.clone());
        }
        self.known_or_built(key, material, secrets)
    }

    /// Returns the proxy of a request.
    fn via(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Option<Box<Via>> {
        let of_program = || self.proxy.as_ref().filter(|proxy| proxy.carries(&request.url));
        let (proxy, is_of_program) = match options.proxy {
            _ if request.socket.is_some() => return None,
            Some(proxy) => (proxy, false),
            None => (&of_program()?.proxy, true),
        };
        Some(Box::new(Via { proxy: proxy.clone(), is_of_program }))
    }

    /// Returns the rules for the address of a proxy, and the credential for it.
    fn rules_and_credential(
        &self,
        via: &Via,
        options: &HttpOptions<'_>,
        secrets: &LabelledSecrets,
    ) -> Result<(DialRules, Option<HeaderValue>), HttpFailure> {
        let Via { proxy, is_of_program } = via;
        let allowed = if *is_of_program { Vec::new() } else { options.allow_networks.to_vec() };
        let rules = DialRules { has_chosen_host: false, allowed };
        if !rules.allow_host(&proxy.url) {
            return Err(HttpFailure::System(SystemFailure::AddressRefused { host: proxy.host() }));
        }
        let of_program = || self.proxy.as_ref().filter(|_| *is_of_program)?.credential.clone();
        let of_secret = |secret: &String| proxy_credential(secret, secrets, &proxy.host());
        let credential = proxy.secret.as_ref().map(of_secret).transpose()?;
        Ok((rules, credential.or_else(of_program)))
    }

    /// Returns cached or newly built clients. An unusable certificate or bundle does not replace a usable one, because
    /// a rotation may be seen half done.
    fn known_or_built(
        &self,
        key: ClientKey,
        material: Material<'_>,
        secrets: &Arc<LabelledSecrets>,
    ) -> Result<Arc<Clients>, HttpFailure> {
        if let Some(clients) = self.known(&key, secrets) {
            return Ok(clients);
        }
        let (build, before) = self.build_of(&key, material.hash(), secrets);
        let clients = build.get_or_init(|| {
            let resolver = GuardedResolver { names: self.names.clone(), rules: key.rules.clone() };
            let built = key.way(material.proxy).and_then(|way| Clients::build(material, &way, resolver, self.program));
            if let (Err(error), Some(_)) = (&built, &before) {
                tracing::warn!(cause = %key.failure(*error), "a client cannot be made, and the one before is used for now");
            }
            built
        });
        match (clients, before) {
            (Ok(clients), _) => Ok(clients.clone()),
            (Err(_), Some(before)) => Ok(before),
            (Err(error), None) => {
                self.forget_failed(&key, &build);
                Err(key.failure(*error))
            }
        }
    }

    /// Returns the clients that were built from exactly these Secrets.
    fn known(&self, key: &ClientKey, secrets: &Arc<LabelledSecrets>) -> Option<Arc<Clients>> {
        let mut known = self.lock();
        known.uses += 1;
        let last_use = known.uses;
        let found = known.clients.get_mut(key)?;
        let clients =
            found.clients.get()?.as_ref().ok().filter(|_| found.seen.as_ptr() == Arc::as_ptr(secrets))?.clone();
        found.last_use = last_use;
        found.before = None;
        Some(clients)
    }

    /// Returns the build for these Secrets, finished or not, and the last successful one before.
    fn build_of(
        &self,
        key: &ClientKey,
        hash: MaterialHash,
        secrets: &Arc<LabelledSecrets>,
    ) -> (Build, Option<Arc<Clients>>) {
        let mut known = self.lock();
        known.uses += 1;
        let last_use = known.uses;
        let seen = Arc::downgrade(secrets);
        let mut before = None;
        if let Some(found) = known.clients.get_mut(key) {
            let built = found.clients.get().and_then(|built| built.as_ref().ok()).cloned();
            if found.hash == hash {
                (found.last_use, found.seen) = (last_use, seen);
                if built.is_some() {
                    found.before = None;
                }
                return (found.clients.clone(), found.before.clone());
            }
            before = built.or_else(|| found.before.take());
        }
        let clients = Build::default();
        let entry = KnownClients { hash, seen, clients: clients.clone(), last_use, before: before.clone() };
        known.clients.insert(key.clone(), entry);
        known.forget_least_used();
        (clients, before)
    }

    fn forget_failed(&self, key: &ClientKey, build: &Build) {
        let mut known = self.lock();
        if known.clients.get(key).is_some_and(|known| Arc::ptr_eq(&known.clients, build)) {
            known.clients.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ClientCache> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that a request may go through a proxy. The dial guard cannot check the addresses of its host.
fn check_proxied(request: &HttpRequest, options: &HttpOptions<'_>, rules: &DialRules) -> Result<(), HttpFailure> {
    let refused = match request.url.host() {
        _ if request.url.scheme() != "https" => {
            "a proxy could read and answer a request that is not encrypted; write https"
        }
        Some(host) if !rules.allow_by_proxy(&host) => {
            "the host is an address, or a name of the proxy's machine; name it in allowNetworks or in NO_PROXY"
        }
        _ if request.has_chosen_host && options.has_open_host => {
            "objects choose the host, and the proxy resolves it; name the hosts in allowHosts, without `*`"
        }
        _ => return Ok(()),
    };
    Err(HttpFailure::NotThroughProxy(refused))
}

impl ClientKey {
    /// Returns the way of these clients. The proxy gets this credential.
    fn way(&self, credential: Option<&HeaderValue>) -> Result<Way<'_>, ClientError> {
        Ok(match (&self.socket, &self.via) {
            (Some(path), _) => Way::Socket(path),
            (None, Some(via)) => {
                let proxy = reqwest::Proxy::https(via.proxy.url.as_str()).map_err(|_| ClientError::Build)?;
                let proxy = match credential {
                    Some(value) => proxy.custom_http_auth(value.clone()),
                    None => proxy,
                };
                Way::Proxy(Box::new(proxy), via.proxy.host())
            }
            (None, None) => Way::Direct,
        })
    }

    /// Converts a client error, with the Secret that caused it.
    fn failure(&self, error: ClientError) -> HttpFailure {
        let text = match (error, &self.trust, &self.certificate) {
            (ClientError::Bundle(_), Trust::Secret(SecretKey { name, key }), _) => {
                format!("Secret {name} key {key}: {error}")
            }
            (ClientError::Certificate, _, Some(name)) => {
                format!("Secret {name} keys {CERTIFICATE}, {PRIVATE_KEY}: {error}")
            }
            _ => return HttpFailure::NotConnected(error.to_string()),
        };
        HttpFailure::System(SystemFailure::CredentialUnavailable(text))
    }
}

impl ClientCache {
    fn forget_least_used(&mut self) {
        if self.clients.len() > KEPT_CLIENTS {
            let least = self.clients.iter().min_by_key(|(_, known)| known.last_use).map(|(key, _)| key.clone());
            least.map(|key| self.clients.remove(&key));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::http::transport::client::SystemResolver;
    use std::sync::mpsc;

    /// The key for a socket of that name.
    fn through(socket: &str) -> ClientKey {
        let socket = Some(Arc::from(socket));
        ClientKey { trust: Trust::Nobody, certificate: None, rules: DialRules::default(), socket, via: None }
    }

    fn store() -> ClientStore {
        ClientStore::new(Arc::new(SystemResolver), "drift-poller")
    }

    fn nothing() -> Material<'static> {
        Material { roots: Roots::Nobody, identity: None, proxy: None }
    }

    #[test]
    fn one_way_that_is_built_holds_up_no_other() {
        let (store, slow) = (store(), through("/slow"));
        let (go_on, wait) = mpsc::channel::<()>();
        let (build, _) = store.build_of(&slow, None, &Arc::default());
        std::thread::scope(|scope| {
            let (begun, begins) = mpsc::channel();
            let waiting = build.clone();
            scope.spawn(move || {
                waiting.get_or_init(|| {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Err(ClientError::Build)
                });
            });
            begins.recv().unwrap();
            assert!(store.known_or_built(through("/other"), nothing(), &Arc::default()).is_ok());
            assert!(build.get().is_none(), "the other one was built meanwhile");
            go_on.send(()).unwrap();
        });
        assert!(store.known_or_built(slow.clone(), nothing(), &Arc::default()).is_err());
        assert!(store.known_or_built(slow, nothing(), &Arc::default()).is_ok(), "what failed is tried again");
    }

    #[test]
    fn only_so_many_ways_are_kept() {
        let store = store();
        for number in 0..=KEPT_CLIENTS {
            store.build_of(&through(&format!("/{number}")), None, &Arc::default());
        }
        let known = store.lock();
        assert_eq!(known.clients.len(), KEPT_CLIENTS);
        assert!(!known.clients.contains_key(&through("/0")));
    }
}
