//! IP addresses and networks in expressions: `cidr(self.spec.network).masked()`.
//!
//! The functions accept and refuse what the ones of Kubernetes do. An address or a network is a text in canonical form,
//! and not a type of its own, so that it can be compared, sent and used as identity.

use std::net::IpAddr;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelInt, CelString};
use cel::common::value::CowVal;
use ipnet::IpNet;

use crate::cel::evaluation::cost::split;
use crate::cel::functions::texts::{Evaluated, charge_texts, text};
use crate::values::addresses::{parse_kubernetes_cidr, parse_kubernetes_ip};

/// The error for a text that is no network.
const NO_NETWORK: &str = "needs a network, such as 10.0.0.0/8 or 2001:db8::/48";
/// The error for a text that is no address.
const NO_ADDRESS: &str = "needs an IP address, such as 192.0.2.1 or 2001:db8::1";

/// Returns the text at a position, after charging for it.
fn written<'a>(function: &str, arguments: &'a [CowVal<'_, '_>], position: usize) -> Result<&'a str, ExecutionError> {
    let (cost, arguments) = split(arguments)?;
    let text = text(function, arguments, position)?;
    charge_texts(cost, &[text]).map(|()| text)
}

fn network(function: &str, arguments: &[CowVal<'_, '_>], position: usize) -> Result<IpNet, ExecutionError> {
    let network = parse_kubernetes_cidr(written(function, arguments, position)?);
    network.ok_or_else(|| ExecutionError::function_error(function, NO_NETWORK))
}

fn address(function: &str, arguments: &[CowVal<'_, '_>], position: usize) -> Result<IpAddr, ExecutionError> {
    let address = parse_kubernetes_ip(written(function, arguments, position)?);
    address.ok_or_else(|| ExecutionError::function_error(function, NO_ADDRESS))
}

/// `ip(text)`: the address in canonical form.
pub(in crate::cel) fn ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let address = address("ip", &arguments, 0)?;
    Ok(CowVal::owned(CelString::from(address.to_string())))
}

/// `isIP(text)`: true if `ip` accepts it.
pub(in crate::cel) fn is_ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let address = parse_kubernetes_ip(written("isIP", &arguments, 0)?);
    Ok(CowVal::owned(CelBool::from(address.is_some())))
}

/// `cidr(text)`: the network in canonical form, with the bits behind the prefix.
pub(in crate::cel) fn cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network("cidr", &arguments, 0)?;
    Ok(CowVal::owned(CelString::from(network.to_string())))
}

/// `isCIDR(text)`: true if `cidr` accepts it.
pub(in crate::cel) fn is_cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = parse_kubernetes_cidr(written("isCIDR", &arguments, 0)?);
    Ok(CowVal::owned(CelBool::from(network.is_some())))
}

/// `network.masked()`: the network without the bits behind the prefix.
pub(in crate::cel) fn masked<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network("masked", &arguments, 0)?;
    Ok(CowVal::owned(CelString::from(network.trunc().to_string())))
}

/// `network.prefixLength()`: the number of bits of the prefix.
pub(in crate::cel) fn prefix_length<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let network = network("prefixLength", &arguments, 0)?;
    Ok(CowVal::owned(CelInt::from(i64::from(network.prefix_len()))))
}

/// `network.containsIP(address)`.
pub(in crate::cel) fn contains_ip<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let (network, address) = (network("containsIP", &arguments, 0)?, address("containsIP", &arguments, 1)?);
    Ok(CowVal::owned(CelBool::from(network.contains(&address))))
}

/// `network.containsCIDR(network)`.
pub(in crate::cel) fn contains_cidr<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Evaluated<'b, 'v> {
    let [outer, inner] = [0, 1].map(|position| network("containsCIDR", &arguments, position));
    Ok(CowVal::owned(CelBool::from(outer?.contains(&inner?))))
}
