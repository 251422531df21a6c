//! Looks up the addresses of a host, and gives those that may be dialled.
//!
//! The client dials what it is given here and nothing else, and asks anew for each connection. A host that is an address
//! is never looked up: whoever sends a request judges that. It must not know why an address is refused.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::dialling::{AddressRefused, DialRules};

/// By the system's resolver.
#[derive(Debug)]
pub(super) struct SystemResolver;

/// Leaves out what may not be dialled.
pub(super) struct GuardedResolver {
    pub(super) names: Arc<dyn Resolve>,
    pub(super) rules: DialRules,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is the URL's.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(found.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, rules) = (self.names.resolve(name), self.rules.clone());
        Box::pin(async move {
            let found: Vec<SocketAddr> = found.await?.collect();
            let allowed: Vec<_> = found.iter().copied().filter(|address| rules.allow(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(AddressRefused.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
