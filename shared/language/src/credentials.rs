//! Which Secrets of the programs' namespace a target needs, by whom, with which keys, and to which host each would go.
//!
//! It names Secrets and holds none. It must not know whether they are there.

use crate::correct::Destination;
use crate::hints::HintSource;
use crate::read::Source;
use crate::secrets::SecretSource;
use crate::systems::http::auth::Auth;
use crate::systems::http::auth::oauth2::Grant;
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::tls::Tls;
use crate::target::Target;
use drift_api::names::{CREDENTIAL_CONTROLLER, CREDENTIAL_POLLER};

/// One Secret that a target needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededSecret {
    /// Who uses it: what its label `driftpoller.dev/credential` has to say.
    pub user: &'static str,
    /// Its name.
    pub name: String,
    /// Keys that it has to have.
    pub keys: Vec<String>,
    /// Host and port that it goes to, where these are literal and it goes there directly.
    pub host: Option<String>,
}

impl Target {
    /// The Secrets of the programs' own namespace that it needs, each use once.
    #[must_use]
    pub fn needed_secrets(&self) -> Vec<NeededSecret> {
        let mut needed = self.secrets_of_read();
        needed.extend(self.secrets_of_correct());
        needed.extend(self.hints.iter().filter_map(|hint| match hint {
            HintSource::Listen(listen) => Some(database(CREDENTIAL_POLLER, &listen.connection.secret)),
            HintSource::Webhook(webhook) => {
                Some(secret_of(CREDENTIAL_POLLER, &webhook.secret.name, &[&webhook.secret.key]))
            }
            HintSource::Watch => None,
        }));
        needed.sort();
        needed.dedup();
        needed
    }

    fn secrets_of_read(&self) -> Vec<NeededSecret> {
        match &self.read.source {
            Source::Http(read) => {
                let requests = read.steps().map(|step| &step.request);
                of_http(CREDENTIAL_POLLER, read.auth.as_ref(), read.tls.as_ref(), requests)
            }
            Source::Postgres(read) => vec![database(CREDENTIAL_POLLER, &read.connection.secret)],
            Source::Kubernetes(_) => Vec::new(),
        }
    }

    fn secrets_of_correct(&self) -> Vec<NeededSecret> {
        let mut needed = match &self.correct.destination {
            Some(Destination::Http(http)) => {
                let requests = http.steps().map(|step| &step.request);
                of_http(CREDENTIAL_CONTROLLER, http.auth.as_ref(), http.tls.as_ref(), requests)
            }
            Some(Destination::Postgres(postgres)) => vec![database(CREDENTIAL_CONTROLLER, &postgres.connection.secret)],
            Some(Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_)) | None => Vec::new(),
        };
        needed.extend(self.secrets.iter().filter_map(|secret| match &secret.source {
            SecretSource::Own(own) => Some(secret_of(CREDENTIAL_CONTROLLER, &own.name, &[&own.key])),
            SecretSource::OfObject(_) => None,
        }));
        needed
    }
}

fn secret_of(user: &'static str, name: &str, keys: &[&str]) -> NeededSecret {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    NeededSecret { user, name: name.to_owned(), keys, host: None }
}

/// A database's Secret says by which of two sets of keys it speaks.
fn database(user: &'static str, name: &str) -> NeededSecret {
    secret_of(user, name, &[])
}

fn of_http<'r>(
    user: &'static str,
    auth: Option<&Auth>,
    tls: Option<&Tls>,
    requests: impl Iterator<Item = &'r RequestTemplate>,
) -> Vec<NeededSecret> {
    let mut needed = Vec::new();
    if let Some(tls) = tls {
        needed.extend(tls.ca.iter().map(|ca| secret_of(user, &ca.name, &[&ca.key])));
        needed.extend(tls.certificate.iter().map(|name| secret_of(user, name, &["tls.crt", "tls.key"])));
    }
    let Some(auth) = auth else { return needed };
    let (secret, goes_to_host) = match auth {
        Auth::Bearer(key) | Auth::Header { value: key, .. } => (secret_of(user, &key.name, &[&key.key]), true),
        Auth::Basic { secret } => (secret_of(user, secret, &["username", "password"]), true),
        Auth::OAuth2(oauth2) => match oauth2.grant {
            Grant::ClientCredentials => (secret_of(user, &oauth2.secret, &["clientId", "clientSecret"]), false),
            Grant::Password => (secret_of(user, &oauth2.secret, &["username", "password"]), false),
        },
        Auth::Challenge(challenge) => match &challenge.secret {
            Some(secret) => (secret_of(user, secret, &["username", "password"]), false),
            None => return needed,
        },
    };
    if !goes_to_host {
        needed.push(secret);
        return needed;
    }
    let host = |request: &RequestTemplate| match &request.socket {
        Some(socket) => Some(format!("unix:{socket}")),
        None => request.url.literal_base().map(|_| request.url.host().to_owned()),
    };
    needed.extend(requests.map(|request| NeededSecret { host: host(request), ..secret.clone() }));
    needed
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::*;

    fn needed(read: &str, more: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {read}\n  compare: {{desired: {{a: 1}}}}\n{more}"
        );
        let target = crate::fixtures::target(&text);
        let shown = |secret: NeededSecret| {
            format!("{} {} [{}] {}", secret.user, secret.name, secret.keys.join(" "), secret.host.unwrap_or_default())
        };
        target.needed_secrets().into_iter().map(shown).collect()
    }

    #[test]
    fn every_secret_of_a_target_is_named() {
        let read = "{http: {url: 'https://h.example/x', auth: {bearer: {secretRef: {name: r, key: token}}}, tls: {caSecretRef: {name: ca, key: ca.crt}}}}";
        let correct = "  secrets: {p: {secretRef: {name: s, key: k}}}\n  correct: {mode: Correct, http: {auth: {basic: {secretRef: {name: w}}}, create: [{method: POST, url: 'https://h.example:8443/x', body: {p: '${secrets.p}'}}], update: [{method: PUT, url: 'https://h.example/x', body: {}}]}}\n";
        assert_eq!(
            needed(read, correct),
            [
                "controller s [k] ",
                "controller w [username password] h.example:443",
                "controller w [username password] h.example:8443",
                "poller ca [ca.crt] ",
                "poller r [token] h.example:443",
            ]
        );
        assert_eq!(
            needed("{postgres: {connection: {secretRef: {name: db}}, query: 'SELECT 1 AS a'}}", ""),
            ["poller db [] "]
        );
        assert!(needed("{http: {url: 'http://h.example/x'}}", "").is_empty());
    }
}
