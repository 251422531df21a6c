//! Signatures by AWS Signature Version 4. Each send has its own, because a signature is valid for some minutes only.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode,
    sign,
};
use aws_sigv4::sign::v4::SigningParams;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{AwsKeys, AwsSigV4, HttpRequest};

const ACCESS_KEY_ID: &str = "accessKeyId";
const SECRET_ACCESS_KEY: &str = "secretAccessKey";
const SESSION_TOKEN: &str = "sessionToken";

/// S3 encodes a path once and takes it as it is. All other services encode it twice.
const S3: &str = "s3";

/// A checksum of the body. S3 refuses some writes without one.
const S3_CHECKSUM: &str = "x-amz-checksum-sha256";

/// The keys that sign. `Debug` of the credentials hides them.
pub(in crate::http) struct Keys(Credentials);

impl Keys {
    /// Reads the keys of the Secret.
    pub(in crate::http) fn read(
        secret: &str,
        secrets: &LabelledSecrets,
        text: impl Fn(&str) -> Result<SecretString, CredentialError>,
    ) -> Result<Self, CredentialError> {
        let (id, key) = (text(ACCESS_KEY_ID)?, text(SECRET_ACCESS_KEY)?);
        let has_session = secrets.value(secret, SESSION_TOKEN)?.is_some();
        let session = has_session.then(|| text(SESSION_TOKEN)).transpose()?;
        let session = session.map(|token| token.expose_secret().to_owned());
        Ok(Self(Credentials::new(id.expose_secret(), key.expose_secret(), session, None, "a Secret")))
    }

    /// Takes the keys of a role, as its token source keeps them.
    pub(in crate::http) fn of_role(session: &HeaderValue) -> Option<Self> {
        let mut parts = session.to_str().ok()?.split(' ').map(str::to_owned);
        Some(Self(Credentials::new(parts.next()?, parts.next()?, parts.next(), None, "a role")))
    }

    /// Returns the headers that sign this request at this time.
    pub(in crate::http) fn sign(
        self,
        signed: &AwsSigV4,
        request: &HttpRequest,
        now: SystemTime,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        let name = match &signed.keys {
            AwsKeys::Secret(secret) => secret,
            AwsKeys::Role(role) => &role.arn,
        };
        let unusable = || CredentialError::unusable(name, SECRET_ACCESS_KEY, "not able to sign the request");
        let mut settings = SigningSettings::default();
        if signed.service == S3 {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        let identity = self.0.into();
        let parameters = SigningParams::builder()
            .identity(&identity)
            .region(&signed.region)
            .name(&signed.service)
            .time(now)
            .settings(settings)
            .build()
            .map_err(|_| unusable())?
            .into();
        let headers = request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let body = request.body.as_deref().filter(|_| signed.service == S3);
        let checksum = body.map(|body| BASE64_STANDARD.encode(Sha256::digest(body)));
        let headers = headers.chain(checksum.as_deref().map(|checksum| (S3_CHECKSUM, checksum)));
        let body = SignableBody::Bytes(request.body.as_deref().unwrap_or_default());
        let signable = SignableRequest::new(request.method.as_str(), request.url.as_str(), headers, body);
        let signature = sign(signable.map_err(|_| unusable())?, &parameters).map_err(|_| unusable())?;
        let header = |(name, value): (&str, &str)| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name).ok()?, value))
        };
        let checksum = checksum.as_deref().map(|checksum| (S3_CHECKSUM, checksum));
        signature.output().headers().chain(checksum).map(|pair| header(pair).ok_or_else(unusable)).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// Of the public test vectors of the signature.
    const AT: Duration = Duration::from_secs(1_440_938_160);

    fn signed(service: &str, session: Option<&str>, url: &str) -> Vec<(String, String)> {
        let key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let keys = Keys(Credentials::new("AKIDEXAMPLE", key, session.map(str::to_owned), None, "test"));
        let by = AwsSigV4 {
            region: "us-east-1".to_owned(),
            service: service.to_owned(),
            keys: AwsKeys::Secret("aws".to_owned()),
        };
        let request = HttpRequest {
            method: http::Method::GET,
            url: url.parse().unwrap(),
            headers: std::sync::Arc::default(),
            body: None,
            has_chosen_host: false,
            socket: None,
            auth: None,
        };
        let headers = keys.sign(&by, &request, UNIX_EPOCH + AT).unwrap();
        assert!(headers.iter().all(|(_, value)| value.is_sensitive()));
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    #[test]
    fn a_request_has_the_signature_of_the_test_vector() {
        let headers = signed("service", None, "https://example.amazonaws.com/");
        let expected = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                        SignedHeaders=host;x-amz-date, \
                        Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert!(headers.contains(&("authorization".to_owned(), expected.to_owned())), "{headers:?}");
        assert!(headers.contains(&("x-amz-date".to_owned(), "20150830T123600Z".to_owned())));
    }

    #[test]
    fn temporary_keys_and_s3_add_their_headers() {
        let headers = signed("s3", Some("session"), "https://s3.amazonaws.com/bucket/a%20b");
        let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"x-amz-security-token") && names.contains(&"x-amz-content-sha256"), "{names:?}");
        let authorization = headers.iter().find(|(name, _)| name == "authorization").unwrap();
        assert!(authorization.1.contains("host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
    }
}
