//! Memory limits for response bodies being read and for kept responses, with a share for each host.
//!
//! A slow host occupies the memory of its responses while they are read. So each host has a limited share, and a few
//! slow hosts leave memory for the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum memory of all bodies: a quarter of a program's limit in the manifests.
pub(in crate::http) const MAX_BYTES_UNDER_WAY: usize = 32 * 1024 * 1024;

/// Maximum memory of one host's bodies: one of the largest that a target can request, and a quarter of the total.
pub(in crate::http) const MAX_BYTES_OF_A_HOST: usize = 8 * 1024 * 1024;

/// Maximum memory of the responses to earlier requests of one read or one correction: the share of a host.
pub const MAX_BYTES_KEPT: usize = MAX_BYTES_OF_A_HOST;

/// Maximum memory of all kept responses, in addition to the bodies: two hosts with the maximum of one.
const MAX_BYTES_KEPT_BY_ALL: usize = 2 * MAX_BYTES_KEPT;

/// Bodies up to this size need no memory permit. The limits of concurrent polls bound them.
pub(in crate::http) const UNASKED_BYTES: usize = 64 * 1024;

/// Memory of all bodies, and memory of all kept responses.
#[derive(Debug)]
pub(in crate::http) struct BodyMemory {
    bodies: Pool,
    /// A separate pool: a request that keeps responses waits for the next body, which must not wait for kept responses.
    kept: Pool,
}

/// Memory of one kind, with a share for each host (`host:port`).
#[derive(Debug)]
struct Pool {
    all: Arc<Semaphore>,
    /// The hosts that use or wait for memory.
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Memory for a body or for kept responses, released on drop.
#[derive(Debug)]
pub struct Room {
    _of_host: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self { bodies: Pool::of(MAX_BYTES_UNDER_WAY), kept: Pool::of(MAX_BYTES_KEPT_BY_ALL) }
    }
}

impl BodyMemory {
    /// Takes memory for a body of this size, if available now.
    pub(in crate::http) fn try_take(&self, host: &str, bytes: usize) -> Option<Room> {
        self.bodies.try_take(host, bytes)
    }

    /// Takes memory for responses that are kept during other requests. The inner `None` means that none is needed.
    pub(in crate::http) fn try_keep(&self, host: &str, bytes: usize) -> Option<Option<Room>> {
        if bytes <= UNASKED_BYTES {
            return Some(None);
        }
        self.kept.try_take(host, bytes).map(Some)
    }

    /// Waits for memory for a body, first come, first served.
    pub(in crate::http) async fn take(&self, host: &str, bytes: usize) -> Option<Room> {
        self.bodies.take(host, bytes).await
    }
}

impl Pool {
    fn of(bytes: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(bytes)), hosts: Mutex::default() }
    }

    fn try_take(&self, host: &str, bytes: usize) -> Option<Room> {
        let bytes = permits(bytes);
        let of_host = self.share(host).try_acquire_many_owned(bytes).ok()?;
        let of_all = self.all.clone().try_acquire_many_owned(bytes).ok()?;
        Some(Room { _of_host: of_host, _of_all: of_all })
    }

    /// Waits for memory. The host's own share comes first, so that a waiting host does not block others.
    async fn take(&self, host: &str, bytes: usize) -> Option<Room> {
        let bytes = permits(bytes);
        // Only a closed semaphore gives an error, and these are never closed.
        let of_host = self.share(host).acquire_many_owned(bytes).await.ok()?;
        let of_all = self.all.clone().acquire_many_owned(bytes).await.ok()?;
        Some(Room { _of_host: of_host, _of_all: of_all })
    }

    fn share(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = hosts.get(host).and_then(Weak::upgrade) {
            return share;
        }
        hosts.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(MAX_BYTES_OF_A_HOST));
        hosts.insert(host.to_owned(), Arc::downgrade(&share));
        share
    }
}

/// Caps the size, so that no body waits for more than exists.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes.min(MAX_BYTES_OF_A_HOST)).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn a_host_gives_its_share_back() {
        let memory = BodyMemory::default();
        let room = memory.try_take("a:1", MAX_BYTES_OF_A_HOST).unwrap();
        assert!(memory.try_take("a:1", 1).is_none() && memory.take("a:1", 1).now_or_never().is_none());
        assert!(memory.try_take("b:1", MAX_BYTES_OF_A_HOST).is_some());
        drop(room);
        assert!(memory.try_take("a:1", usize::MAX).is_some(), "as much as a host may have");
        assert!(memory.try_take("c:1", 1).is_some());
        assert_eq!(memory.bodies.hosts.lock().unwrap().len(), 1, "hosts that hold nothing are forgotten");
    }

    #[test]
    fn bodies_find_room_beside_all_that_is_kept() {
        let memory = BodyMemory::default();
        let keep = |host| memory.try_keep(host, MAX_BYTES_KEPT);
        let kept = [keep("a:1").unwrap(), keep("b:1").unwrap()];
        assert!(keep("a:1").is_none() && keep("c:1").is_none(), "a host has a share of it, and there is no more");
        let bodies = ["a:1", "b:1", "c:1", "d:1"].map(|host| memory.try_take(host, MAX_BYTES_OF_A_HOST));
        assert!(bodies.iter().all(Option::is_some), "bodies do not wait for what is kept");
        assert!(memory.try_keep("c:1", UNASKED_BYTES).is_some_and(|room| room.is_none()), "little needs no room");
        drop(kept);
        assert!(keep("c:1").is_some());
    }

    #[test]
    fn all_hosts_together_have_no_more_than_there_is() {
        let memory = BodyMemory::default();
        let hosts: Vec<String> = (0..4).map(|number| format!("h{number}:1")).collect();
        let rooms: Vec<_> = hosts.iter().map(|host| memory.try_take(host, MAX_BYTES_OF_A_HOST).unwrap()).collect();
        assert!(memory.try_take("z:1", 1).is_none());
        drop(rooms);
        assert!(memory.try_take("z:1", 1).is_some());
    }
}
