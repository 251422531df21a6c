//! Limits of one host over all targets: concurrent requests, and pauses.
//!
//! Targets have their own limits, but ten targets of one API put their combined load on it. Hosts are keyed by
//! `host:port` or `unix:/path` ([`HttpRequest::host`](drift_language::HttpRequest::host)). This file
//! sends nothing and reads no clock: the caller passes the time. A pause is returned instead of waited for, so that the
//! caller can reschedule instead of queueing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use crate::guard::host_health::{Epoch, HostHealth, HostReply, Pause};

/// Maximum concurrent requests to one host over all targets, unless a target asks for more. Twice the default of one
/// target (8), so that two targets on one host do not slow each other down, and still a small load for a small service.
pub const HOST_CONCURRENCY: usize = 16;

/// Remembered hosts before some are forgotten: first those without relevant state, and if there are as many silent
/// ones, half of all, in the order in which their pauses end. Targets name few hosts. This bounds growth over many
/// edits, and by objects that choose hosts.
const REMEMBERED_HOSTS: usize = 1024;

/// The gates of all hosts, shared by all targets of a program.
#[derive(Debug, Default)]
pub struct HostGate {
    hosts: Mutex<HashMap<Arc<str>, Host>>,
}

#[derive(Debug)]
struct Host {
    name: Arc<str>,
    slots: Arc<Semaphore>,
    capacity: usize,
    /// One request at a time probes a silent host.
    probe: Arc<Semaphore>,
    health: HostHealth,
}

/// A slot for one request, held while it is in flight.
#[derive(Debug)]
#[must_use = "the slot is given back when this is dropped"]
pub struct Permit {
    host: Arc<str>,
    epoch: Epoch,
    _slot: Option<OwnedSemaphorePermit>,
    probe: Option<Probe>,
}

/// Permission to probe a silent host. There is one at a time.
#[derive(Debug)]
#[must_use = "another request may take it once this is dropped"]
pub struct Probe {
    _only: OwnedSemaphorePermit,
}

impl Permit {
    /// `host:port` or `unix:/path`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Attaches a probe that was taken before.
    pub fn take_over(&mut self, probe: Option<Probe>) {
        self.probe = probe.or(self.probe.take());
    }
}

impl HostGate {
    /// Waits for a slot of this host, first come, first served. A target that needs more than [`HOST_CONCURRENCY`]
    /// raises the host's limit accordingly.
    pub async fn enter(&self, host: &str, concurrent: u32) -> Permit {
        let (host, slots, epoch) = self.with_host(host, |host| {
            host.raise(concurrent as usize);
            (host.name.clone(), host.slots.clone(), host.health.epoch())
        });
        // Only a closed semaphore gives an error, and this one is never closed.
        let slot = slots.acquire_owned().await.ok();
        Permit { host, epoch, _slot: slot, probe: None }
    }

    /// Takes a slot, if one is free and no request waits for it.
    #[must_use]
    pub fn try_enter(&self, host: &str) -> Option<Permit> {
        let (host, slots, epoch) =
            self.with_host(host, |host| (host.name.clone(), host.slots.clone(), host.health.epoch()));
        let slot = slots.try_acquire_owned().ok()?;
        Some(Permit { host, epoch, _slot: Some(slot), probe: None })
    }

    /// Returns the pause of the host, or `None` if requests are allowed now.
    #[must_use]
    pub fn paused(&self, host: &str, now: Moment) -> Option<Pause> {
        let hosts = self.lock();
        let host = hosts.get(host)?;
        let is_probed = host.health.is_silent() && host.probe.available_permits() == 0;
        host.health.paused(now).or_else(|| is_probed.then(|| host.health.while_probed(now)))
    }

    /// Takes a probe for a caller with more work before the request. `None` if the host is not silent, so that no
    /// probe is needed.
    ///
    /// # Errors
    /// Returns the pause of the host.
    pub fn take_probe(&self, host: &str, now: Moment) -> Result<Option<Probe>, Pause> {
        let hosts = self.lock();
        let Some(host) = hosts.get(host) else { return Ok(None) };
        host.health.paused(now).map_or_else(|| host.take_probe(now), Err)
    }

    /// Marks the request as sent.
    ///
    /// # Errors
    /// Returns the pause of the host. Other requests may have caused it while this one waited for its slot.
    pub fn begin(&self, permit: &mut Permit, now: Moment) -> Result<(), Pause> {
        self.forget_quiet_hosts(now);
        let name = permit.host.clone();
        self.with_host(&name, |host| {
            if let Some(pause) = host.health.paused(now) {
                return Err(pause);
            }
            permit.epoch = host.health.epoch();
            if permit.probe.is_none() {
                permit.probe = host.take_probe(now)?;
            }
            Ok(())
        })
    }

    /// Records the reply to the object's request.
    pub fn note(&self, permit: &Permit, object: &Uid, heard: HostReply, now: Moment) {
        self.with_host(&permit.host, |host| host.health.note(object, heard, permit.epoch, now));
    }

    fn with_host<T>(&self, name: &str, act: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.lock();
        if let Some(host) = hosts.get_mut(name) {
            return act(host);
        }
        let name: Arc<str> = name.into();
        act(hosts.entry(name.clone()).or_insert_with(|| Host::new(name)))
    }

    fn forget_quiet_hosts(&self, now: Moment) {
        let mut hosts = self.lock();
        if hosts.len() <= REMEMBERED_HOSTS {
            return;
        }
        hosts.retain(|_, host| host.says_something(now));
        let Some(more) = hosts.len().checked_sub(REMEMBERED_HOSTS / 2).filter(|_| hosts.len() > REMEMBERED_HOSTS)
        else {
            return;
        };
        let idle = hosts.iter().filter(|(_, host)| !host.is_asked());
        let mut idle: Vec<_> =
            idle.map(|(name, host)| (host.health.paused(now).map(|pause| pause.until), name.clone())).collect();
        idle.sort_unstable();
        idle.iter().take(more).for_each(|(_, name)| drop(hosts.remove(name)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            slots: Arc::new(Semaphore::new(HOST_CONCURRENCY)),
            capacity: HOST_CONCURRENCY,
            probe: Arc::new(Semaphore::new(1)),
            health: HostHealth::default(),
        }
    }

    fn take_probe(&self, now: Moment) -> Result<Option<Probe>, Pause> {
        if !self.health.is_silent() {
            return Ok(None);
        }
        let only = self.probe.clone().try_acquire_owned();
        only.map(|only| Some(Probe { _only: only })).map_err(|_| self.health.while_probed(now))
    }

    fn raise(&mut self, concurrent: usize) {
        if let Some(more) = concurrent.checked_sub(self.capacity) {
            self.slots.add_permits(more);
            self.capacity = concurrent;
        }
    }

    fn says_something(&self, now: Moment) -> bool {
        self.health.paused(now).is_some() || self.health.is_silent() || self.is_asked()
    }

    /// Returns true if a request is in flight or waits for its slot.
    fn is_asked(&self) -> bool {
        Arc::strong_count(&self.slots) > 1
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::time::Duration;

    const HOST: &str = "api.example:443";
    /// Default concurrency of a target.
    const DEFAULT: u32 = 8;

    fn at(seconds: u64) -> Moment {
        Moment::START + Duration::from_secs(seconds)
    }

    /// Sends a request for the object and records its reply.
    async fn ask(gate: &HostGate, object: &str, heard: HostReply, now: Moment) {
        let mut permit = gate.enter(HOST, DEFAULT).await;
        assert_eq!(gate.begin(&mut permit, now), Ok(()));
        gate.note(&permit, &object.into(), heard, now);
    }

    #[tokio::test]
    async fn one_host_is_capped_and_another_is_not() {
        let gate = HostGate::default();
        let mut permits = Vec::new();
        for _ in 0..HOST_CONCURRENCY {
            permits.push(gate.enter(HOST, DEFAULT).await);
        }
        assert!(gate.enter(HOST, DEFAULT).now_or_never().is_none(), "one more came in");
        assert!(gate.enter("other:443", DEFAULT).now_or_never().is_some(), "another host was held up");
        permits.pop();
        assert!(gate.enter(HOST, DEFAULT).now_or_never().is_some(), "a slot that was given back was not given out");
    }

    #[tokio::test]
    async fn the_largest_limit_is_the_cap_of_the_host() {
        let gate = HostGate::default();
        let mut permits = Vec::new();
        for concurrent in [DEFAULT, 20, 18] {
            permits.push(gate.enter(HOST, concurrent).await);
        }
        for _ in permits.len()..20 {
            permits.extend(gate.enter(HOST, DEFAULT).now_or_never());
        }
        assert_eq!(permits.len(), 20);
        assert!(gate.enter(HOST, 20).now_or_never().is_none(), "one more came in");
    }

    #[tokio::test]
    async fn one_probe_at_a_time_asks_a_silent_host() {
        let gate = HostGate::default();
        for object in ["a", "b", "c"] {
            ask(&gate, object, HostReply::TimedOut, at(0)).await;
        }
        let pause = gate.paused(HOST, at(0)).map(|pause| pause.until);
        assert_eq!(pause, Some(at(1)));
        let (mut first, mut second) = (gate.enter(HOST, DEFAULT).await, gate.enter(HOST, DEFAULT).await);
        assert!(gate.begin(&mut first, at(0)).is_err(), "it was asked during its pause");
        assert_eq!(gate.paused(HOST, at(1)), None);
        assert_eq!(gate.begin(&mut first, at(1)), Ok(()));
        assert!(gate.begin(&mut second, at(1)).is_err(), "a second probe");
        assert!(gate.paused(HOST, at(1)).is_some(), "others would come in vain");
        drop(first);
        assert_eq!(gate.begin(&mut second, at(1)), Ok(()), "a probe that was dropped is replaced");
        gate.note(&second, &"a".into(), HostReply::Answer, at(1));
        drop(second);
        assert_eq!(gate.paused(HOST, at(1)), None);
    }

    #[tokio::test]
    async fn a_probe_that_was_taken_ahead_keeps_others_away() {
        let gate = HostGate::default();
        assert!(gate.take_probe(HOST, at(0)).unwrap().is_none(), "nothing is known of it");
        for object in ["a", "b", "c"] {
            ask(&gate, object, HostReply::TimedOut, at(0)).await;
        }
        assert!(gate.take_probe(HOST, at(0)).is_err(), "during its pause");
        let probe = gate.take_probe(HOST, at(1)).unwrap();
        assert!(probe.is_some() && gate.take_probe(HOST, at(1)).is_err() && gate.paused(HOST, at(1)).is_some());
        let (mut first, mut second) = (gate.enter(HOST, DEFAULT).await, gate.enter(HOST, DEFAULT).await);
        assert!(gate.begin(&mut second, at(1)).is_err());
        first.take_over(probe);
        assert_eq!(gate.begin(&mut first, at(1)), Ok(()));
        drop(first);
        assert_eq!(gate.begin(&mut second, at(1)), Ok(()), "given back");
    }

    #[tokio::test]
    async fn hosts_that_say_nothing_are_forgotten_and_others_are_not() {
        let gate = HostGate::default();
        let _held = gate.enter("held:1", DEFAULT).await;
        for object in ["a", "b", "c"] {
            ask(&gate, object, HostReply::AskedToWait(Duration::from_secs(10)), at(0)).await;
        }
        for number in 0..2 * REMEMBERED_HOSTS {
            let mut permit = gate.enter(&format!("host-{number}:1"), DEFAULT).await;
            assert_eq!(gate.begin(&mut permit, at(0)), Ok(()));
        }
        assert!(gate.lock().len() <= REMEMBERED_HOSTS + 1);
        assert!(gate.lock().contains_key("held:1"));
        assert_eq!(gate.paused(HOST, at(0)).map(|pause| pause.until), Some(at(10)));
    }

    #[tokio::test]
    async fn silent_hosts_do_not_gather() {
        let gate = HostGate::default();
        let _held = gate.enter("held:1", DEFAULT).await;
        for number in 0..2 * REMEMBERED_HOSTS {
            let now = at(number as u64 / 1_000);
            let mut permit = gate.enter(&format!("host-{number}:1"), DEFAULT).await;
            assert_eq!(gate.begin(&mut permit, now), Ok(()));
            ["a", "b", "c"].into_iter().for_each(|object| gate.note(&permit, &object.into(), HostReply::TimedOut, now));
        }
        assert!(gate.lock().len() <= REMEMBERED_HOSTS + 1);
        assert!(gate.lock().contains_key("held:1"));
        let last = format!("host-{}:1", 2 * REMEMBERED_HOSTS - 1);
        assert!(gate.paused(&last, at(2)).is_some(), "the latest are kept");
    }
}
