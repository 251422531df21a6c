//! Looks up the addresses of a host, and gives those that may be dialled.
//!
//! The client dials what it is given here and nothing else, and asks anew for each connection. A host that is an address
//! is never looked up: whoever sends a request judges that.

use std::io;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::dialling::{AddressRefused, DialRules};

/// By the system's resolver.
#[derive(Debug)]
pub(in crate::http) struct SystemResolver;

/// Leaves out what may not be dialled.
pub(in crate::http) struct GuardedResolver {
    pub(in crate::http) names: Arc<dyn Resolve>,
    pub(in crate::http) rules: DialRules,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port is the URL's.
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, rules) = (self.names.resolve(name), self.rules.clone());
        Box::pin(async move {
            let mut addresses: Vec<_> = found.await?.collect();
            if addresses.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            addresses.retain(|address| rules.allow(address.ip()));
            if addresses.is_empty() {
                return Err(AddressRefused.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
