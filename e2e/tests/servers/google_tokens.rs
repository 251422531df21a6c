//! A token server that takes assertions as Google's does, and service accounts with their keys.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use drift_e2e::process::Launch;
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::world::World;
use jiff::Timestamp;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::installed;

/// Longest life of an assertion in seconds, as Google documents it.
const LONGEST: i64 = 3600;

/// A service account with a key, and the token that it gets.
#[derive(Clone)]
pub(crate) struct Account {
    email: String,
    scope: String,
    pem: String,
    public: Vec<u8>,
    pub(crate) token: String,
}

impl Account {
    /// Creates an account of the page with a new RSA key.
    pub(crate) async fn new(world: &World, name: &str, scope: &str) -> Result<Self> {
        let file = world.folder().join(format!("{name}.pem"));
        let openssl = Launch::new(format!("openssl-{name}"), installed::program("openssl", "openssl")?);
        let openssl = openssl.arguments(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out"]);
        installed::run(openssl.argument(&file), world.folder()).await?;
        let pem = fs::read_to_string(file)?;
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).context("no PKCS#8")?;
        let key = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).ok().context("no RSA key")?;
        Ok(Self {
            email: format!("{name}@my-project.iam.gserviceaccount.com"),
            scope: scope.to_owned(),
            public: key.public_key().as_ref().to_vec(),
            token: format!("canary-a7c3-{name}-token"),
            pem,
        })
    }

    /// Returns the data of the page's Secret.
    pub(crate) fn secret(&self) -> Value {
        json!({"privateKey": self.pem, "keyId": format!("key of {}", self.email)})
    }

    /// Returns a line of the key.
    pub(crate) fn canary(&self) -> String {
        self.pem.lines().nth(3).unwrap_or_default().to_owned()
    }

    /// Fails unless the assertion is the account's.
    fn verify(&self, assertion: &str, audience: &str) -> Result<()> {
        let (signed, signature) = assertion.rsplit_once('.').context("no signature")?;
        let (header, claims) = signed.split_once('.').context("no claims")?;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public);
        key.verify(signed.as_bytes(), &BASE64_URL_SAFE_NO_PAD.decode(signature)?).ok().context("another key")?;
        let part = |text: &str| -> Result<Value> { Ok(serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text)?)?) };
        let (header, claims) = (part(header)?, part(claims)?);
        let expected = json!({"alg": "RS256", "typ": "JWT", "kid": format!("key of {}", self.email)});
        ensure!(header == expected, "{header}");
        let time = |claim: &str| claims[claim].as_i64().with_context(|| format!("no {claim}"));
        let (begins, ends, now) = (time("iat")?, time("exp")?, Timestamp::now().as_second());
        ensure!(begins <= now && now < ends && ends - begins <= LONGEST, "{claims} at {now}");
        let expected = json!({"iss": self.email, "aud": audience, "scope": self.scope, "iat": begins, "exp": ends});
        ensure!(claims == expected, "{claims}");
        Ok(())
    }
}

/// Gives each account its token for a valid assertion. Refuses everything else like Google.
pub(crate) fn give(server: &Outside, accounts: &[Account]) {
    let (accounts, audience) = (accounts.to_vec(), format!("{}/token", server.url()));
    server.choose(move |request: &Request| {
        let form: BTreeMap<_, _> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let is_assertion = request.method == "POST"
            && request.path == "/token"
            && form.get("grant_type").is_some_and(|grant| grant == "urn:ietf:params:oauth:grant-type:jwt-bearer");
        let assertion = form.get("assertion").filter(|_| is_assertion);
        let of = |account: &&Account| assertion.is_some_and(|assertion| account.verify(assertion, &audience).is_ok());
        Some(match accounts.iter().find(of) {
            Some(Account { token, .. }) => {
                let given = json!({"access_token": token, "expires_in": 3599, "token_type": "Bearer"});
                Answer::json(200, &given)
            }
            None => {
                let why = json!({"error": "invalid_grant", "error_description": "Invalid JWT Signature."});
                Answer::json(400, &why)
            }
        })
    });
}
