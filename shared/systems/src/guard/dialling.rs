//! The addresses that a request may connect to, whatever its host name resolves to.
//!
//! The owner of a name can point it into our own network, now or between two polls, and a field of an object can
//! contain any name. So each address is checked when a connection is opened. A reused connection was checked when
//! it was opened.

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

use drift_language::{HttpRequest, Network};

/// Metadata services: link-local addresses, and others that clouds use.
const OF_MACHINES: &[Network] = &[
    Network::v4([169, 254, 0, 0], 16),
    Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    // The metadata services over IPv6 of AWS, Google Cloud, Oracle Cloud and Scaleway, that of Alibaba Cloud, and the
    // host of an Azure machine.
    Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128),
    Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
    Network::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
    Network::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
    Network::v4([100, 100, 100, 200], 32),
    Network::v4([168, 63, 129, 16], 32),
];

/// Names of metadata services. A proxy on a machine of a cloud resolves them.
const NAMES_OF_MACHINES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "localhost",
];

/// Addresses that are not public, according to the registries of special-purpose addresses (RFC 6890).
const NOT_PUBLIC: &[Network] = &[
    Network::v4([0, 0, 0, 0], 8),
    Network::v4([10, 0, 0, 0], 8),
    Network::v4([100, 64, 0, 0], 10),
    Network::v4([127, 0, 0, 0], 8),
    Network::v4([172, 16, 0, 0], 12),
    Network::v4([192, 0, 0, 0], 24),
    Network::v4([192, 0, 2, 0], 24),
    Network::v4([192, 168, 0, 0], 16),
    Network::v4([198, 18, 0, 0], 15),
    Network::v4([198, 51, 100, 0], 24),
    Network::v4([203, 0, 113, 0], 24),
    // Multicast, reserved and broadcast addresses.
    Network::v4([224, 0, 0, 0], 3),
    Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 127),
    Network::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    Network::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    Network::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
    Network::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    Network::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    Network::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

/// IPv6 addresses that contain an IPv4 address in their last 32 bits: compatible, and translated (RFC 6052, and RFC
/// 7915 under its older name SIIT).
const CARRY_V4_LAST: &[Network] = &[
    Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 96),
    Network::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
    Network::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),
];

/// 6to4: an IPv4 address after the first 16 bits.
const SIX_TO_FOUR: Network = Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);

/// The rules for addresses. Requests with different rules share no connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DialRules {
    /// True if the host contains a field of the object. Then it must resolve to a public address.
    pub(crate) has_chosen_host: bool,
    /// Networks that the target allows although they would be rejected.
    pub(crate) allowed: Vec<Network>,
}

/// No address of a host is allowed. Contains neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its address is in a network that the target does not allow")]
pub(crate) struct AddressRefused;

impl DialRules {
    /// Returns true if a literal address as host is allowed. The addresses of a name are checked when they are dialled,
    /// and a unix socket has none.
    pub(crate) fn allow_literal(&self, request: &HttpRequest) -> bool {
        request.socket.is_some() || self.allow_host(&request.url)
    }

    /// Returns true if the host of a URL is a name, or an address that may be dialled.
    pub(crate) fn allow_host(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.allow(address.into()),
            Some(Host::Ipv6(address)) => self.allow(address.into()),
            Some(Host::Domain(_)) | None => true,
        }
    }

    /// Returns true if a proxy may connect to the host. The proxy resolves names, so an address must be in a network
    /// that the target allows, and names of the proxy's own machine and of metadata services are refused.
    pub(crate) fn allow_by_proxy(&self, host: &Host<&str>) -> bool {
        let holds = |address: IpAddr| {
            let address = address.to_canonical();
            self.allowed.iter().any(|network| network.contains(address))
        };
        match host {
            Host::Ipv4(address) => holds((*address).into()),
            Host::Ipv6(address) => holds((*address).into()),
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                !NAMES_OF_MACHINES.contains(&name) && !name.ends_with(".localhost")
            }
        }
    }

    /// Returns true if a connection to this address may be opened.
    pub(crate) fn allow(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let holds = |networks: &[Network], address| networks.iter().any(|network| network.contains(address));
        let is_refused = |address| holds(OF_MACHINES, address) || self.has_chosen_host && holds(NOT_PUBLIC, address);
        holds(&self.allowed, address) || !(is_refused(address) || carried_v4(address).is_some_and(is_refused))
    }
}

/// Returns the IPv4 address that an IPv6 address reaches through a gateway.
fn carried_v4(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(whole) = address else { return None };
    let [_, first, second, _, _, _, sixth, seventh] = whole.segments();
    let (high, low) = match () {
        () if CARRY_V4_LAST.iter().any(|network| network.contains(address)) => (sixth, seventh),
        () if SIX_TO_FOUR.contains(address) => (first, second),
        () => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn allows(has_chosen_host: bool, allowed: &[&str], address: &str) -> bool {
        let allowed = allowed.iter().map(|network| network.parse().unwrap()).collect();
        DialRules { has_chosen_host, allowed }.allow(address.parse().unwrap())
    }

    #[test]
    fn a_chosen_host_leads_to_public_addresses_only() {
        let public = [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "2606:4700::1",
            "64:ff9b::101:101",
            "::ffff:0:1.1.1.1",
        ];
        for address in public {
            assert!(allows(true, &[], address), "{address}");
        }
        let refused = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "::ffff:0:10.0.0.1",
            "::ffff:0:7f00:1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
        ];
        for address in refused {
            assert!(!allows(true, &[], address), "{address}");
        }
    }

    #[test]
    fn a_literal_host_leads_to_no_metadata_server() {
        for address in ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd00::1", "100.64.0.1", "1.1.1.1"] {
            assert!(allows(false, &[], address), "{address}");
        }
        let refused = [
            "169.254.0.1",
            "169.254.169.254",
            "fe80::1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "::ffff:0:a9fe:a9fe",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
        ];
        for address in refused {
            assert!(!allows(false, &[], address), "{address}");
        }
    }

    #[test]
    fn a_proxy_leads_to_no_metadata_server() {
        let rules = DialRules { has_chosen_host: false, allowed: vec!["10.1.0.0/16".parse().unwrap()] };
        let table = [
            ("https://api.example/", true),
            ("https://10.1.2.3/", true),
            ("https://[::ffff:10.1.2.3]/", true),
            ("https://10.2.0.1/", false),
            ("https://1.1.1.1/", false),
            ("https://169.254.169.254/", false),
            ("https://2852039166/", false),
            ("https://[fd00:ec2::254]/", false),
            ("https://metadata.google.internal/", false),
            ("https://Metadata.Google.Internal./", false),
            ("https://metadata/", false),
            ("https://localhost/", false),
            ("https://a.localhost/", false),
        ];
        for (url, allowed) in table {
            let url: Url = url.parse().unwrap();
            assert_eq!(rules.allow_by_proxy(&url.host().unwrap()), allowed, "{url}");
        }
    }

    #[test]
    fn the_target_may_allow_a_network() {
        for (networks, address, allowed) in [
            (&["10.1.0.0/16"][..], "10.1.2.3", true),
            (&["10.1.0.0/16"], "10.2.0.1", false),
            (&["10.1.0.0/16"], "::ffff:10.1.2.3", true),
            (&["10.1.0.0/16", "fd00::/8"], "fd12::1", true),
            (&["169.254.0.0/16"], "169.254.169.254", true),
            (&["fe80::/10"], "fe80::1", true),
            (&["0.0.0.0/0"], "::1", false),
        ] {
            assert_eq!(allows(true, networks, address), allowed, "{networks:?} {address}");
        }
    }
}
