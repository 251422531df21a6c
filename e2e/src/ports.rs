//! Free loopback ports for processes that cannot choose one themselves.
//!
//! etcd, kube-apiserver and toxiproxy want their port on the command line. Ports are taken from below Linux's
//! ephemeral range, so that no outgoing connection can take one between the probe and the process's own bind.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};

/// Below 32768, where Linux's default `ip_local_port_range` begins, and above what services usually use.
const PORTS: Range<u16> = 20_000..32_000;

/// A port on 127.0.0.1 that nothing listens on now and that this process has not given out before.
///
/// # Errors
/// When every port of the range is taken.
pub fn free_port() -> Result<u16> {
    static NEXT: OnceLock<AtomicU32> = OnceLock::new();
    let next = NEXT.get_or_init(|| AtomicU32::new(seed()));
    let width = u32::from(PORTS.end - PORTS.start);
    for _ in 0..width {
        let offset = next.fetch_add(1, Ordering::Relaxed) % width;
        let port = PORTS.start + u16::try_from(offset)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port on 127.0.0.1 in {PORTS:?}")
}

/// Where a process starts in the range: different for processes that run side by side.
fn seed() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    now.wrapping_add(std::process::id().wrapping_mul(7919)) % 1_000_000
}
