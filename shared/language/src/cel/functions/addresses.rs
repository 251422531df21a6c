//! IP addresses and networks in expressions: `cidr(self.spec.network).masked()`.
//!
//! The functions accept and refuse what the ones of Kubernetes do. An address or a network is a text in canonical form,
//! and not a type of its own, so that it can be compared, sent and used as identity.

use std::net::IpAddr;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelString};
use cel::common::value::CowVal;
use ipnet::IpNet;

use crate::cel::functions::arguments::{Arguments, Evaluated};
use crate::values::addresses::{parse_kubernetes_cidr, parse_kubernetes_ip};

/// The error for a text that is no network.
const NO_NETWORK: &str = "needs a network, such as 10.0.0.0/8 or 2001:db8::/48";
/// The error for a text that is no address.
const NO_ADDRESS: &str = "needs an IP address, such as 192.0.2.1 or 2001:db8::1";

/// Returns the text at a position, after charging for it.
fn written<'a>(call: &Arguments<'a, '_, '_>, position: usize) -> Result<&'a str, ExecutionError> {
    let text = call.text(position)?;
    call.charge(&[text]).map(|()| text)
}

fn network(call: &Arguments<'_, '_, '_>, position: usize) -> Result<IpNet, ExecutionError> {
    parse_kubernetes_cidr(written(call, position)?).ok_or_else(|| call.failed(NO_NETWORK))
}

fn address(call: &Arguments<'_, '_, '_>, position: usize) -> Result<IpAddr, ExecutionError> {
    parse_kubernetes_ip(written(call, position)?).ok_or_else(|| call.failed(NO_ADDRESS))
}

/// `ip(text)`: the address in canonical form.
pub(in crate::cel) fn ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let address = address(&Arguments::of("ip", &arguments)?, 0)?;
    Ok(CowVal::owned(CelString::from(address.to_string())))
}

/// `isIP(text)`: true if `ip` accepts it.
pub(in crate::cel) fn is_ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let address = parse_kubernetes_ip(written(&Arguments::of("isIP", &arguments)?, 0)?);
    Ok(CowVal::owned(CelBool::from(address.is_some())))
}

/// `cidr(text)`: the network in canonical form, with the bits behind the prefix.
pub(in crate::cel) fn cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network(&Arguments::of("cidr", &arguments)?, 0)?;
    Ok(CowVal::owned(CelString::from(network.to_string())))
}

/// `isCIDR(text)`: true if `cidr` accepts it.
pub(in crate::cel) fn is_cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = parse_kubernetes_cidr(written(&Arguments::of("isCIDR", &arguments)?, 0)?);
    Ok(CowVal::owned(CelBool::from(network.is_some())))
}

/// `network.masked()`: the network without the bits behind the prefix.
pub(in crate::cel) fn masked<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network(&Arguments::of("masked", &arguments)?, 0)?;
    Ok(CowVal::owned(CelString::from(network.trunc().to_string())))
}

/// `network.prefixLength()`: the number of bits of the prefix.
pub(in crate::cel) fn prefix_length<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network(&Arguments::of("prefixLength", &arguments)?, 0)?;
    Ok(CowVal::owned(CelInt::from(i64::from(network.prefix_len()))))
}

/// `network.containsIP(address)`.
pub(in crate::cel) fn contains_ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("containsIP", &arguments)?;
    let (network, address) = (network(&call, 0)?, address(&call, 1)?);
    Ok(CowVal::owned(CelBool::from(network.contains(&address))))
}

/// `network.containsCIDR(network)`.
pub(in crate::cel) fn contains_cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let call = Arguments::of("containsCIDR", &arguments)?;
    let [outer, inner] = [0, 1].map(|position| network(&call, position));
    Ok(CowVal::owned(CelBool::from(outer?.contains(&inner?))))
}
