//! Looks up the addresses of a host, and gives those that may be dialled.
//!
//! The client dials what it is given here and nothing else, and asks anew for each connection. A host that is an address
//! is never looked up: whoever sends a request judges that. It must not know why an address is refused.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

use crate::guard::dialling::{AddressRefused, DialRules};

/// Why a connection cannot be opened, whatever finds it out.
pub(in crate::http) type BoxError = Box<dyn Error + Send + Sync>;

/// Looks up names.
pub(in crate::http) trait Resolve: Send + Sync {
    /// The addresses of a name; their ports mean nothing.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// By the system's resolver.
#[derive(Debug)]
pub(in crate::http) struct SystemResolver;

/// Leaves out what may not be dialled.
#[derive(Clone)]
pub(in crate::http) struct GuardedResolver {
    pub(in crate::http) names: Arc<dyn Resolve>,
    pub(in crate::http) rules: DialRules,
}

/// No address is known for the name. Does not hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name cannot be resolved")]
pub(in crate::http) struct NotResolved;

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let name = name.to_owned();
        // The port is the URL's.
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    }
}

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, rules) = (self.names.resolve(name.as_str()), self.rules.clone());
        Box::pin(async move {
            let mut addresses = found.await.map_err(|_| NotResolved)?;
            if addresses.is_empty() {
                return Err(NotResolved.into());
            }
            addresses.retain(|address| rules.allow(address.ip()));
            if addresses.is_empty() {
                return Err(AddressRefused.into());
            }
            Ok(addresses.into_iter())
        })
    }
}
