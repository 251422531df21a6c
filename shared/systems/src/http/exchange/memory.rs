//! Memory for the bodies of answers that are being read, other for answers that are kept, and each host's share of either.
//!
//! Whoever answers slowly holds what its answers may become for as long as they are waited for. So no host has more than a share: a
//! few that do so leave room for the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory that bodies may take together: a quarter of what a program may use in the manifests.
pub(in crate::http) const MAX_BYTES_UNDER_WAY: usize = 32 * 1024 * 1024;

/// Memory that the bodies of one host may take together: one of the largest that a target may ask for, and a quarter of
/// all.
pub(in crate::http) const MAX_BYTES_OF_A_HOST: usize = 8 * 1024 * 1024;

/// Memory that the answers to the earlier requests of one read or one correction may take: what a host may have.
pub const MAX_BYTES_KEPT: usize = MAX_BYTES_OF_A_HOST;

/// Memory that all answers that are kept may take together, beside the bodies: two hosts with all that one may keep.
const MAX_BYTES_KEPT_BY_ALL: usize = 2 * MAX_BYTES_KEPT;

/// Of these no host is asked for memory. The limits of polls under way bound them.
pub(in crate::http) const UNASKED_BYTES: usize = 64 * 1024;

/// The memory of all bodies, and that of all answers that are kept.
#[derive(Debug)]
pub(in crate::http) struct BodyMemory {
    bodies: Pool,
    /// Of its own: whoever keeps answers waits for the next body, which must not wait for what is kept.
    kept: Pool,
}

/// Memory of one sort, and each host's share of it. A host is told by `host:port`.
#[derive(Debug)]
struct Pool {
    all: Arc<Semaphore>,
    /// Those that have or wait for any.
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Room for a body or for answers that are kept, given back when this is dropped.
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
    /// Room for a body of so many bytes, if there is any now.
    pub(in crate::http) fn try_take(&self, host: &str, bytes: usize) -> Option<Room> {
        self.bodies.try_take(host, bytes)
    }

    /// Room for answers that are kept while others are waited for; `None` in it where they need none.
    pub(in crate::http) fn try_keep(&self, host: &str, bytes: usize) -> Option<Option<Room>> {
        if bytes <= UNASKED_BYTES {
            return Some(None);
        }
        self.kept.try_take(host, bytes).map(Some)
    }

    /// Waits for room for a body; first come, first served.
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

    /// Waits for room. A host waits for its own share first, so that it stands in nobody's way.
    async fn take(&self, host: &str, bytes: usize) -> Option<Room> {
        let bytes = permits(bytes);
        // Only a closed semaphore gives an error, and nobody closes these.
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

/// No body waits for more than there will ever be.
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
