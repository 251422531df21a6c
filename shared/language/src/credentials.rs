//! The Secrets in the programs' namespace that a target needs: their users, keys, and destination hosts.
//!
//! It contains names of Secrets, not their values.

use crate::hints::HintSource;
use crate::secrets::SecretSource;
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::section::CorrectSection;
use crate::target::Target;
use drift_api::names::{CREDENTIAL_CONTROLLER, CREDENTIAL_POLLER};

impl Target {
    /// The credentials of its reads and hints.
    #[must_use]
    pub fn credentials_of_read(&self) -> Vec<Credential> {
        let mut found = self.read.source.section().credentials();
        found.extend(self.hints.iter().filter_map(|hint| match hint {
            HintSource::Listen(listen) => {
                Some(Credential::of_database(listen.connection.dialect, &listen.connection.secret))
            }
            HintSource::Webhook(webhook) => Some(Credential::Key(webhook.secret.clone())),
            HintSource::Watch => None,
        }));
        found
    }

    /// The credentials of its corrections, without the secrets that it declares.
    #[must_use]
    pub fn credentials_of_correct(&self) -> Vec<Credential> {
        self.correct.section().map(CorrectSection::credentials).unwrap_or_default()
    }

    /// The Secrets in the programs' own namespace that it needs, one entry for each use.
    #[must_use]
    pub fn needed_secrets(&self) -> Vec<NeededSecret> {
        let mut needed = self.read.source.section().needed_secrets();
        needed.extend(self.correct.section().into_iter().flat_map(CorrectSection::needed_secrets));
        needed.extend(self.secrets.iter().filter_map(|secret| match &secret.source {
            SecretSource::Own(own) => Some(NeededSecret::with_keys(CREDENTIAL_CONTROLLER, &own.name, &[&own.key])),
            SecretSource::OfObject(_) => None,
        }));
        needed.extend(self.hints.iter().filter_map(|hint| match hint {
            HintSource::Listen(listen) => Some(NeededSecret::of_database(CREDENTIAL_POLLER, &listen.connection.secret)),
            HintSource::Webhook(webhook) => {
                Some(NeededSecret::with_keys(CREDENTIAL_POLLER, &webhook.secret.name, &[&webhook.secret.key]))
            }
            HintSource::Watch => None,
        }));
        needed.sort();
        needed.dedup();
        needed
    }
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
        let by = |auth: &str| needed(&format!("{{http: {{url: 'https://h.example/x', auth: {auth}}}}}"), "");
        let request = "{url: 'https://i.example', headers: {x-a: '${secret.b}'}, body: {c: ['${secret.a}', d]}}";
        let login = format!("{{login: {{request: {request}, token: {{pointer: /t}}, secretRef: {{name: r}}}}}}");
        let exchange = "tokenUrl: 'https://i.example', grant: tokenExchange, serviceAccountToken: {name: t}";
        let signed = "tokenUrl: 'https://i.example', grant: jwtBearer, issuer: i, secretRef: {name: r}";
        assert_eq!(by(&login), ["poller r [a b] "]);
        assert_eq!(by(&format!("{{oauth2: {{{exchange}, secretRef: {{name: r}}}}}}")), ["poller r [clientId] "]);
        assert_eq!(by(&format!("{{oauth2: {{{signed}}}}}")), ["poller r [privateKey] "]);
        assert!(by(&format!("{{oauth2: {{{exchange}}}}}")).is_empty());
        assert!(by("{serviceAccountToken: {name: t}}").is_empty());
    }
}
