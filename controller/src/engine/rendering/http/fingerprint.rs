//! The fingerprint of the parts of a request that may change between tries, for its idempotency key.

use drift_language::HttpRequest;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Hashes the content of a request that may change between tries, and its item. Requests with different content are not
/// the same request.
pub(super) fn fingerprint(request: Option<&HttpRequest>, item: Option<&Value>) -> u64 {
    let mut digest = Sha256::new();
    let mut take = |part: &[u8]| {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    };
    if let Some(item) = item {
        take(item.to_string().as_bytes());
    }
    if let Some(request) = request {
        take(request.method.as_str().as_bytes());
        take(request.url.as_str().as_bytes());
        for (name, value) in &*request.headers {
            take(name.as_str().as_bytes());
            take(value.as_bytes());
        }
        take(request.body.as_deref().unwrap_or_default());
    }
    digest.finalize().iter().take(size_of::<u64>()).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}
