//! Resolves the addresses of a host, and returns the allowed ones.
//!
//! The client only dials these addresses, and resolves anew for each connection. A literal address is never resolved:
//! the sender of a request checks it.

use std::io;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::dialling::{AddressRefused, DialRules};

/// The system's resolver.
#[derive(Debug)]
pub(in crate::http) struct SystemResolver;

/// Filters out addresses that must not be dialled.
pub(in crate::http) struct GuardedResolver {
    pub(in crate::http) names: Arc<dyn Resolve>,
    pub(in crate::http) rules: DialRules,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port comes from the URL.
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
