//! Free loopback ports for processes that cannot choose one themselves.
//!
//! etcd, kube-apiserver and toxiproxy need their port on the command line. Ports come from below the kernel's ephemeral
//! range, so that no outgoing connection takes one before the process binds it. Each process reserves whole blocks,
//! because a port may be assigned long before a server listens on it.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

/// Port range below 32768, where Linux's default `ip_local_port_range` begins, and above the usual ports of services.
const PORTS: Range<u16> = 20_000..32_000;

/// Port range for a machine whose ephemeral range overlaps the first.
const LOWER_PORTS: Range<u16> = 10_000..15_000;

/// Number of ports in a block. A whole run needs some hundred ports.
const BLOCK: u16 = 250;

/// The unassigned ports of one block. A listener on its first port marks the block as taken.
struct Block {
    _taken: TcpListener,
    left: Range<u16>,
}

impl Block {
    /// Takes a block that no other process has. Each process begins its search elsewhere.
    fn take() -> Result<Self> {
        let ports = usable(first_ephemeral());
        let count = (ports.end - ports.start) / BLOCK;
        let first = seed() % count;
        let mut starts = (0..count).map(|number| ports.start + (first + number) % count * BLOCK);
        let block = starts.find_map(|start| {
            let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, start)).ok()?;
            Some(Self { _taken: taken, left: start + 1..start + BLOCK })
        });
        block.with_context(|| format!("no free block of ports on 127.0.0.1 in {ports:?}"))
    }
}

/// Returns a port on 127.0.0.1 without a listener, which this function has not returned before in any process.
///
/// # Errors
/// Every block of the range is taken.
pub fn free_port() -> Result<u16> {
    static BLOCKS: Mutex<Vec<Block>> = Mutex::new(Vec::new());
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = blocks.last_mut().map(|block| &mut block.left);
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        if let Some(port) = left.and_then(|left| left.find(is_free)) {
            return Ok(port);
        }
        blocks.push(Block::take()?);
    }
}

/// Returns the port range below the ephemeral ports, which begin at `ephemeral`.
fn usable(ephemeral: Option<u16>) -> Range<u16> {
    match ephemeral {
        Some(first) if (LOWER_PORTS.end..PORTS.end).contains(&first) => LOWER_PORTS,
        _ => PORTS,
    }
}

/// Returns the start of the kernel's range for outgoing connections, or `None` if it is unknown.
fn first_ephemeral() -> Option<u16> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    range.split_whitespace().next()?.parse().ok()
}

/// Returns a position in the range that differs between parallel processes.
fn seed() -> u16 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let mixed = (now / 1000).wrapping_add(std::process::id().wrapping_mul(7919));
    u16::try_from(mixed % u32::from(u16::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_lie_below_those_of_outgoing_connections() {
        for (ephemeral, expected) in [
            (None, PORTS),
            (Some(32_768), PORTS),
            (Some(16_000), LOWER_PORTS),
            (Some(15_000), LOWER_PORTS),
            (Some(1_024), PORTS),
        ] {
            assert_eq!(usable(ephemeral), expected, "{ephemeral:?}");
        }
    }

    #[test]
    fn two_blocks_share_no_port() -> Result<()> {
        let (one, other) = (Block::take()?, Block::take()?);
        assert!(
            one.left.end <= other.left.start || other.left.end <= one.left.start,
            "{:?} {:?}",
            one.left,
            other.left
        );
        let mut given = (0..usize::from(BLOCK) + 50).map(|_| free_port()).collect::<Result<Vec<_>>>()?;
        given.sort_unstable();
        assert!(given.windows(2).all(|pair| pair[0] < pair[1]), "{given:?}");
        Ok(())
    }
}
