//! Networks: sets of addresses with a common beginning, written as CIDR (`10.0.0.0/8`).
//!
//! It must not know which of them are allowed.

pub(crate) mod host_patterns;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses whose first bits are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    first: IpAddr,
    prefix: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// No address, or no number of bits.
    #[error("no network; write an address and its number of bits, for example 10.0.0.0/8 or fd00::/8")]
    Form,
    /// Bits are set behind the prefix: a typing error in one of the two.
    #[error("the address has bits behind the prefix; the network is {0}")]
    NotFirst(Network),
}

impl Network {
    /// Of IPv4 addresses that agree with `first` in `prefix` bits.
    #[must_use]
    pub const fn v4(first: [u8; 4], prefix: u8) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::new(first[0], first[1], first[2], first[3])), prefix }
    }

    /// Of IPv6 addresses that agree with `first` in `prefix` bits.
    #[must_use]
    pub const fn v6(first: [u16; 8], prefix: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = first;
        Self { first: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), prefix }
    }

    /// Whether the address is in it. IPv4 and IPv6 are different, also where one writes the other.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first_of(address) == Some(self.first)
    }

    /// The first address of the network of this size that holds `address`; `None` for one of the other kind.
    fn first_of(&self, address: IpAddr) -> Option<IpAddr> {
        match (self.first, address) {
            (IpAddr::V4(_), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                Some(Ipv4Addr::from_bits(address.to_bits() & mask).into())
            }
            (IpAddr::V6(_), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                Some(Ipv6Addr::from_bits(address.to_bits() & mask).into())
            }
            _ => None,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// `10.0.0.0/8`; an address alone is a network of one.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Form)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => {
                prefix.parse().ok().filter(|prefix| *prefix <= bits).ok_or(NetworkError::Form)?
            }
            Some(_) => return Err(NetworkError::Form),
        };
        let network = Self { first: address, prefix };
        match network.first_of(address) {
            Some(first) if first != address => Err(NetworkError::NotFirst(Self { first, prefix })),
            _ => Ok(network),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.first, self.prefix)
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
