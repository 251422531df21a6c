//! What all targets together may do to one host: so many requests at once, and none while it asked for a pause.
//!
//! Targets have limits of their own, but ten targets on one API are still one burden for it. A host is told by
//! `host:port` ([`super::host_and_port`]). This file sends nothing and reads no clock: whoever asks says what time it
//! is. A pause holds nobody up here; it is told, so that the caller can come back then instead of queueing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use drift_model::moment::Moment;

/// Requests under way to one host at once, over all targets: twice the default of one target (8), so that two
/// targets on one host do not slow each other, and still no load that a small service could not bear.
pub const HOST_CONCURRENCY: usize = 16;

/// Hosts remembered before those that say nothing are forgotten. Hosts are few, since targets name them; this bounds
/// what a long life with many edits can gather.
const REMEMBERED_HOSTS: usize = 1024;

/// The gates of all hosts. Shared by every target of a program.
#[derive(Debug, Default)]
pub struct HostGate {
    hosts: Mutex<HashMap<String, Host>>,
}

#[derive(Debug)]
struct Host {
    slots: Arc<Semaphore>,
    paused_until: Option<Moment>,
}

/// A request may be under way while this lives.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct Permit {
    _slot: Option<OwnedSemaphorePermit>,
}

impl HostGate {
    /// Waits for a place among the requests to this host; first come, first served.
    pub async fn enter(&self, host: &str) -> Permit {
        let slots = self.with_host(host, |host| host.slots.clone());
        // Only a closed semaphore gives an error, and nobody closes this one.
        Permit { _slot: slots.acquire_owned().await.ok() }
    }

    /// The host asked to be left alone until then. A shorter wish does not shorten a longer one.
    pub fn pause(&self, host: &str, until: Moment) {
        self.with_host(host, |host| host.paused_until = host.paused_until.max(Some(until)));
    }

    /// Until when the host is to be left alone; `None` where it may be asked now.
    #[must_use]
    pub fn paused(&self, host: &str, now: Moment) -> Option<Moment> {
        let mut hosts = self.lock();
        let host = hosts.get_mut(host)?;
        host.paused_until = host.paused_until.filter(|until| *until > now);
        host.paused_until
    }

    fn with_host<T>(&self, name: &str, act: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.lock();
        if hosts.len() >= REMEMBERED_HOSTS && !hosts.contains_key(name) {
            hosts.retain(|_, host| host.paused_until.is_some() || Arc::strong_count(&host.slots) > 1);
        }
        act(hosts.entry(name.to_owned()).or_insert_with(Host::new))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    fn new() -> Self {
        Self { slots: Arc::new(Semaphore::new(HOST_CONCURRENCY)), paused_until: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::time::Duration;

    const HOST: &str = "api.example:443";

    fn at(seconds: u64) -> Moment {
        Moment::START + Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn one_host_is_capped_and_another_is_not() {
        let gate = HostGate::default();
        let mut permits = Vec::new();
        for _ in 0..HOST_CONCURRENCY {
            permits.push(gate.enter(HOST).await);
        }
        assert!(gate.enter(HOST).now_or_never().is_none(), "one more came in");
        assert!(gate.enter("other:443").now_or_never().is_some(), "another host was held up");
        permits.pop();
        assert!(gate.enter(HOST).now_or_never().is_some(), "a place that was given back was not given out");
    }

    #[test]
    fn a_pause_holds_until_its_end_and_is_never_shortened() {
        let gate = HostGate::default();
        assert_eq!(gate.paused(HOST, at(0)), None);
        gate.pause(HOST, at(10));
        gate.pause(HOST, at(5));
        assert_eq!(gate.paused(HOST, at(0)), Some(at(10)));
        assert_eq!(gate.paused("other:443", at(0)), None);
        assert_eq!(gate.paused(HOST, at(10)), None);
    }

    #[tokio::test]
    async fn hosts_that_say_nothing_are_forgotten_and_others_are_not() {
        let gate = HostGate::default();
        let _held = gate.enter("held:1").await;
        gate.pause("paused:1", at(10));
        for number in 0..2 * REMEMBERED_HOSTS {
            drop(gate.enter(&format!("host-{number}:1")).await);
        }
        assert!(gate.lock().len() <= REMEMBERED_HOSTS);
        assert!(gate.lock().contains_key("held:1"));
        assert_eq!(gate.paused("paused:1", at(0)), Some(at(10)));
    }
}
