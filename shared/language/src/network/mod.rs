//! Networks in CIDR notation (`10.0.0.0/8`).

pub(crate) mod host_patterns;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::values::addresses::parse_network;

/// A set of addresses with a common prefix. No bit is set after the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpNet);

/// Reasons why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not an address, or not a valid number of bits.
    #[error("no network; write an address and its number of bits, for example 10.0.0.0/8 or fd00::/8")]
    Form,
    /// Bits are set after the prefix, which is probably a typing error.
    #[error("the address has bits behind the prefix; the network is {0}")]
    NotFirst(Network),
}

impl Network {
    /// Creates a network of IPv4 addresses that share `prefix` bits with `first`.
    #[must_use]
    pub const fn v4(first: [u8; 4], prefix: u8) -> Self {
        let [a, b, c, d] = first;
        Self(IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)))
    }

    /// Creates a network of IPv6 addresses that share `prefix` bits with `first`.
    #[must_use]
    pub const fn v6(first: [u16; 8], prefix: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = first;
        Self(IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)))
    }

    /// Returns true if the network contains the address. IPv4 and IPv6 are distinct, also for mapped addresses.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Parses `10.0.0.0/8`. A single address is a network of one.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let network = parse_network(text).ok_or(NetworkError::Form)?;
        match network.trunc() {
            first if first == network => Ok(Self(network)),
            first => Err(NetworkError::NotFirst(Self(first))),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_begins_as_it_does() {
        let table = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3/32", "10.1.2.4", false),
            ("172.16.0.0/12", "172.31.255.255", true),
            ("172.16.0.0/12", "172.32.0.0", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
            ("::/0", "::1", true),
            ("::/0", "1.2.3.4", false),
            ("::1", "::1", true),
        ];
        for (network, address, held) in table {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), held, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "10.0.0/8", "::/129", "a/8", "10.0.0.0/8/8"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::Form), "{text}");
        }
        let error = "10.0.0.1/8".parse::<Network>().unwrap_err();
        assert_eq!(error.to_string(), "the address has bits behind the prefix; the network is 10.0.0.0/8");
    }
}
