//! IP addresses and networks in their notations.

use std::net::IpAddr;

use ipnet::IpNet;

/// Parses `192.0.2.1` or `2001:db8::/48`. A single address has all of its bits as prefix, and bits behind the prefix
/// are kept. The library's parser is not used, because it accepts leading zeros, which some systems read as octal.
pub(crate) fn parse_network(text: &str) -> Option<IpNet> {
    let Some((address, prefix)) = text.split_once('/') else { return text.parse::<IpAddr>().ok().map(IpNet::from) };
    let is_number = prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
    let length = is_number.then(|| prefix.parse().ok())??;
    IpNet::new(address.parse().ok()?, length).ok()
}

/// Parses an address as Kubernetes does in CEL: no prefix length, no zone, no IPv4-mapped IPv6 address.
pub(crate) fn parse_kubernetes_ip(text: &str) -> Option<IpAddr> {
    text.parse().ok().filter(|address| !is_mapped(*address))
}

/// Parses a network as Kubernetes does in CEL: with a prefix length, no zone, no IPv4-mapped IPv6 address. Bits behind
/// the prefix are kept.
pub(crate) fn parse_kubernetes_cidr(text: &str) -> Option<IpNet> {
    parse_network(text).filter(|network| text.contains('/') && !is_mapped(network.addr()))
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_and_its_bits() {
        let table = [
            ("10.0.0.1", Some("10.0.0.1/32")),
            ("10.0.0.1/8", Some("10.0.0.1/8")),
            ("0.0.0.0/0", Some("0.0.0.0/0")),
            ("2001:0db8:0074:0000:0000:0000:0000:0000/48", Some("2001:db8:74::/48")),
            ("2001:DB8::A", Some("2001:db8::a/128")),
            ("::ffff:10.0.0.1", Some("::ffff:10.0.0.1/128")),
            ("", None),
            ("10.0.0.01", None),
            ("10.0.0.0/08", None),
            ("10.0.0.0/+8", None),
            ("10.0.0.0/", None),
            ("10.0.0.0/33", None),
            ("10.0.0.0/8/8", None),
            ("10.0.0/8", None),
            ("10.0.0.0/255.0.0.0", None),
            ("fe80::1%eth0", None),
            (" 10.0.0.1", None),
            ("::/129", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_network(text).map(|network| network.to_string()).as_deref(), expected, "{text}");
        }
    }
}
