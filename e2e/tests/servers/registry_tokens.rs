//! The registry of docs/cookbook/registry.md with tokens from a token server.

use std::fs;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::world::World;
use jiff::Timestamp;
use rcgen::{CertificateParams, KeyPair, SigningKey as _};
use serde_json::{Value, json};

use crate::page;
use crate::registry::{Registry, WRITTEN};

/// The encoded credential `reader:change-me`.
const CREDENTIAL: &str = "Basic cmVhZGVyOmNoYW5nZS1tZQ==";

/// Lifetime of a token in seconds. The registry accepts it for a minute longer.
const LIFE: i64 = 5;

/// Signs tokens that a registry accepts.
struct Signer {
    key: KeyPair,
    certificate: rcgen::Certificate,
}

impl Signer {
    fn new() -> Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["tokens".to_owned()])?.self_signed(&key)?;
        Ok(Self { key, certificate })
    }

    /// Returns a JSON Web Token for actions on `team/app`.
    fn token(&self, actions: &[&str], life: i64) -> Result<String> {
        let chain = [BASE64_STANDARD.encode(self.certificate.der())];
        let now = Timestamp::now().as_second();
        let header = json!({"typ": "JWT", "alg": "ES256", "x5c": chain});
        let access = json!([{"type": "repository", "name": "team/app", "actions": actions}]);
        let claims = json!({"iss": "e2e", "sub": "reader", "aud": "registry", "iat": now, "nbf": now - 60,
            "exp": now + life, "jti": "1", "access": access});
        let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(fixed(&self.key.sign(signed.as_bytes())?)?);
        Ok(format!("{signed}.{signature}"))
    }
}

/// Both numbers of an ECDSA signature in DER, as 32 bytes each.
fn fixed(der: &[u8]) -> Result<Vec<u8>> {
    let mut rest = der.get(2..).context("no sequence")?;
    let mut numbers = Vec::with_capacity(64);
    for _ in 0..2 {
        let length = usize::from(*rest.get(1).context("no length")?);
        let digits = rest.get(2..2 + length).context("no number")?;
        rest = rest.get(2 + length..).unwrap_or_default();
        let start = digits.iter().position(|digit| *digit != 0).unwrap_or(length);
        let digits = digits.get(start..).unwrap_or_default();
        numbers.resize(numbers.len() + 32_usize.saturating_sub(digits.len()), 0);
        numbers.extend(digits);
    }
    Ok(numbers)
}

/// Issues a token for any requested scope to clients with the credential.
fn give_tokens(server: &Outside, signer: Signer) {
    server.choose(move |request: &Request| {
        let fits = request.path == "/token?service=registry&scope=repository%3Ateam%2Fapp%3Apull";
        if !fits || request.header("authorization") != Some(CREDENTIAL) {
            return Some(Answer::status(400));
        }
        let token = signer.token(&["pull"], LIFE).unwrap_or_default();
        Some(Answer::json(200, &json!({"token": token, "expires_in": LIFE})))
    });
}

#[tokio::test]
async fn a_registry_that_wants_tokens_is_read_with_them() -> Result<()> {
    World::run("registry-tokens", async |world| {
        let (identity, signer) = (world.start_outside().await?, Signer::new()?);
        let roots = world.folder().join("tokens.pem");
        fs::write(&roots, signer.certificate.pem())?;
        let realm = format!("{}/token", identity.url());
        let auth = json!({"token": {"realm": realm, "service": "registry", "issuer": "e2e", "rootcertbundle": roots}});
        let all = signer.token(&["pull", "push"], 3600)?;
        let server = Registry::with_tokens(world, (auth, all)).await?;
        give_tokens(&identity, signer);

        let wanted = server.push("1.0", "approved").await?;
        let credential = json!({"username": "reader", "password": "change-me"});
        world.apply_credential("registry-read", "poller", credential).await?;
        let token_host = identity.url().trim_start_matches("http://");
        let rule = "          validWhen: ";
        let with_auth = format!(
            "          auth: {{challenge: {{secretRef: {{name: registry-read}}, tokenHosts: ['{token_host}']}}}}\n{rule}"
        );
        // The page's CRD and ClusterRoles are cluster-wide, and another test follows the page at the same time.
        let replaced = [
            ("registry.images.svc:5000", server.address.as_str()),
            (WRITTEN, &wanted),
            (rule, &with_auth),
            ("images.example", "private-images.example"),
            ("-imagetags}", "-private-imagetags}"),
        ];
        let subject = page::follow(world, "registry.md", &replaced).await?;
        subject.wait_for_verdict("True/NotCreated").await?;
        server.push("stable", "approved").await?;
        subject.wait_for_verdict("False/InSync").await?;
        let before = identity.requests().len();
        // Many lifetimes of a token.
        world.nothing_is_written_for(std::time::Duration::from_secs(20)).await?;
        let asked = identity.requests().len() - before;
        ensure!((2..=8).contains(&asked), "{asked} tokens in 20 s");
        server.push("stable", "of somebody else").await?;
        subject.wait_for_verdict("True/FieldsDiffer").await.map(drop)
    })
    .await
}
