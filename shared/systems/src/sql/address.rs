//! The addresses of a database server that may be dialled.

use std::net::SocketAddr;

use crate::guard::dialling::DialRules;
use crate::sql::{ConnectionParameters, SqlFailure};

/// Resolves the server's name, and returns the allowed addresses.
///
/// # Errors
/// Fails if there is no address, or none of them is allowed.
pub(crate) async fn resolve(
    parameters: &ConnectionParameters,
    rules: &DialRules,
) -> Result<Vec<SocketAddr>, SqlFailure> {
    let host = parameters.host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((host, parameters.port)).await;
    let found = found.map_err(|_| SqlFailure::Unreachable("the name cannot be resolved"))?;
    let allowed: Vec<_> = found.filter(|address| rules.allow(address.ip())).collect();
    if allowed.is_empty() {
        return Err(SqlFailure::AddressRefused { host: parameters.host_and_port() });
    }
    Ok(allowed)
}
