//! The address of the sample resource.

use drift_api::secrets::secret_names::looks_secret;
use serde_json::Value;
use url::Url;

/// The parts of an address that may be values of a resource.
pub(super) fn values_in(url: &Url) -> Vec<String> {
    let path = url.path_segments().into_iter().flatten().filter(|part| !part.is_empty()).map(str::to_owned);
    path.chain(url.query_pairs().map(|(_, value)| value.into_owned())).collect()
}

/// Returns true if a part of an address is this value, encoded or not. DNS names may end with a dot.
pub(super) fn is_value(value: &Value, part: &str, url: &Url) -> bool {
    let text = match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return false,
    };
    let encoded = || {
        let mut encoded = url.clone();
        encoded.path_segments_mut().ok()?.clear().push(&text);
        encoded.path_segments()?.next().map(str::to_owned)
    };
    text == part
        || text.strip_suffix('.').is_some_and(|name| name == part)
        || encoded().is_some_and(|encoded| encoded == part)
}

/// The end of the hosts of AWS.
pub(super) const AWS_HOST: &str = ".amazonaws.com";

/// Returns true if the path of an address says nothing, because a header of the request names the operation.
pub(super) fn is_of_operations(url: &Url) -> bool {
    url.path() == "/" && url.host_str().is_some_and(|host| host.ends_with(AWS_HOST))
}

/// Reads the address of a resource.
///
/// # Errors
/// A sentence, if it is none or contains a credential.
pub(super) fn parse_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("--url is no URL: {error}; write https://HOST/PATH"))?;
    let has_secret = !url.username().is_empty() || url.password().is_some();
    if has_secret || url.query_pairs().any(|(name, _)| looks_secret(&name)) {
        return Err("--url contains a credential: leave it out, and write `auth` into the target".to_owned());
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err("--url is no address over HTTP: write https://HOST/PATH".to_owned());
    }
    if url.fragment().is_some() || text.contains(['{', '}']) {
        return Err("--url has a fragment or braces: write the address of one resource, as it was requested".to_owned());
    }
    Ok(url)
}
