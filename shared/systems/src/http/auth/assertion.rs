//! Assertions of RFC 7523: JSON web tokens that the key of a Secret signs with RS256 or ES256.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets, without_line_end};
use drift_language::{HttpRequest, JwtClaims};

/// The key of the Secret.
const PRIVATE_KEY: &str = "privateKey";

/// Seconds for which an assertion is valid. Servers permit 3 minutes to an hour, and ours is used at once.
const LIFE: i64 = 120;

/// Seconds by which `iat` lies in the past. Servers refuse one in the future, and clocks differ by seconds.
const LEEWAY: i64 = 60;

/// An assertion that is signed anew for each token request.
pub(in crate::http) struct Assertion {
    /// The Secret's name, for errors.
    pub(in crate::http) secret: String,
    pub(in crate::http) private_key: SecretString,
    pub(in crate::http) key_id: Option<String>,
    /// All claims but the times.
    pub(in crate::http) claims: Map<String, Value>,
}

/// A private key with its algorithm.
enum Key {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl Assertion {
    /// Reads the key of a Secret that may be used for the request. Its URL is the default audience.
    pub(in crate::http) fn read(
        claims: &JwtClaims,
        secret: &str,
        secrets: &LabelledSecrets,
        request: &HttpRequest,
    ) -> Result<Self, CredentialError> {
        let host = request.host();
        let key = |key: &str| secrets.credential(secret, key, &host).map(|value| without_line_end(value).to_owned());
        let key_id = match key("keyId") {
            Err(CredentialError::NoKey { .. }) => None,
            other => Some(other?),
        };
        let audience = claims.audience.as_deref().unwrap_or(request.url.as_str());
        let named =
            [("iss", Some(claims.issuer.as_str())), ("aud", Some(audience)), ("sub", claims.subject.as_deref())];
        let claims = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect();
        Ok(Self { secret: secret.to_owned(), private_key: SecretString::from(key(PRIVATE_KEY)?), key_id, claims })
    }

    /// Returns the assertion, signed at this time.
    pub(in crate::http) fn sign(&self, now: Timestamp) -> Result<SecretString, CredentialError> {
        let unusable = |problem| CredentialError::unusable(&self.secret, PRIVATE_KEY, problem);
        let random = SystemRandom::new();
        let key = Key::read(self.private_key.expose_secret(), &random)
            .ok_or_else(|| unusable("not a PEM private key for RS256 or ES256 (PKCS#8, or PKCS#1 for RSA)"))?;
        let mut header = json!({"alg": key.algorithm(), "typ": "JWT"});
        if let Some(id) = &self.key_id {
            header["kid"] = Value::from(id.as_str());
        }
        let mut claims = self.claims.clone();
        claims.insert("iat".to_owned(), (now.as_second() - LEEWAY).into());
        claims.insert("exp".to_owned(), (now.as_second() + LIFE).into());
        let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&Value::Object(claims)));
        let signature = key.sign(signed.as_bytes(), &random).ok_or_else(|| unusable("not able to sign"))?;
        Ok(SecretString::from(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))))
    }
}

impl Key {
    fn read(pem: &str, random: &SystemRandom) -> Option<Self> {
        match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).ok().map(Self::Rsa),
            PrivateKeyDer::Pkcs8(der) => {
                let der = der.secret_pkcs8_der();
                let ecdsa = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, random).ok();
                RsaKeyPair::from_pkcs8(der).ok().map(Self::Rsa).or_else(|| ecdsa().map(Self::Ecdsa))
            }
            _ => None,
        }
    }

    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ecdsa(_) => "ES256",
        }
    }

    fn sign(&self, message: &[u8], random: &SystemRandom) -> Option<Vec<u8>> {
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).ok()?;
                Some(signature)
            }
            Self::Ecdsa(key) => key.sign(random, message).ok().map(|signature| signature.as_ref().to_vec()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
    };

    /// Made for this test by `openssl genpkey -algorithm RSA`.
    const RSA: &str = include_str!("assertion/rsa.pem");

    fn assertion(pem: &str, key_id: Option<&str>) -> Assertion {
        let Value::Object(claims) = json!({"iss": "poller", "aud": "https://id.example"}) else { unreachable!() };
        let key_id = key_id.map(str::to_owned);
        Assertion { secret: "signer".to_owned(), private_key: SecretString::from(pem), key_id, claims }
    }

    /// Checks the signature, and returns the header and the claims.
    fn verified(jwt: &str, algorithm: &'static dyn VerificationAlgorithm, public: &[u8]) -> [Value; 2] {
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
        UnparsedPublicKey::new(algorithm, public).verify(signed.as_bytes(), &decoded(signature)).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        [header, claims].map(|part| serde_json::from_slice(&decoded(part)).unwrap())
    }

    #[test]
    fn an_assertion_is_signed_by_its_kind_of_key() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let claims = json!({"iss": "poller", "aud": "https://id.example", "iat": 999_940, "exp": 1_000_120});
        let jwt = assertion(RSA, Some("k1")).sign(now).unwrap();
        let Some(Key::Rsa(key)) = Key::read(RSA, &SystemRandom::new()) else { unreachable!() };
        let public = key.public_key().as_ref().to_vec();
        let got = verified(jwt.expose_secret(), &RSA_PKCS1_2048_8192_SHA256, &public);
        assert_eq!(got, [json!({"alg": "RS256", "typ": "JWT", "kid": "k1"}), claims.clone()]);

        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let jwt = assertion(&key.serialize_pem(), None).sign(now).unwrap();
        let got = verified(jwt.expose_secret(), &ECDSA_P256_SHA256_FIXED, key.public_key_raw());
        assert_eq!(got, [json!({"alg": "ES256", "typ": "JWT"}), claims]);
    }

    #[test]
    fn an_unusable_key_is_told_and_not_shown() {
        let other = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap().serialize_pem();
        for pem in ["canary", "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n", &other] {
            let error = assertion(pem, None).sign(Timestamp::UNIX_EPOCH).unwrap_err().to_string();
            let expected = "Secret signer key privateKey is not a PEM private key for RS256 or ES256";
            assert!(error.starts_with(expected) && !error.contains("canary"), "{error}");
        }
    }
}
