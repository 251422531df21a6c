//! Requests that a target's polls send to each host. Hints and corrections are not counted.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_language::Target;

/// Requests of one poll to one system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Host and port, or the placeholder for them.
    pub(crate) host: String,
    /// The number of requests of a poll; a collection needs more for further pages.
    pub(crate) count: u32,
    /// True if they answer for all objects of the target.
    pub(crate) is_shared: bool,
}

/// Requests of all objects of a target to one system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Host and port, or the placeholder for them.
    pub(crate) host: String,
    /// Objects that are polled.
    pub(crate) objects: u64,
    /// The interval of polls.
    pub(crate) interval: Duration,
    /// Requests in each interval.
    pub(crate) requests: u64,
}

impl Rate {
    /// Requests in a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for people, and far from 2^52")]
    pub(crate) fn per_second(&self) -> f64 {
        self.requests as f64 / self.interval.as_secs_f64()
    }

    /// Of `objects` objects of a target.
    #[must_use]
    pub(crate) fn of(target: &Target, objects: u64) -> Vec<Self> {
        let rate = |requests: Requests| {
            let polls = if requests.is_shared { objects.min(1) } else { objects };
            let all = polls * u64::from(requests.count);
            Self { host: requests.host, objects, interval: target.interval, requests: all }
        };
        requests_of(target).into_iter().map(rate).collect()
    }
}

/// The requests of one poll of a target, by system.
#[must_use]
pub(crate) fn requests_of(target: &Target) -> Vec<Requests> {
    let is_shared = target.read.keys().is_some();
    let mut counts = BTreeMap::<String, u32>::new();
    target.read.hosts().into_iter().for_each(|host| *counts.entry(host).or_default() += 1);
    counts.into_iter().map(|(host, count)| Requests { host, count, is_shared }).collect()
}

/// Requests per second to each host, of all targets together.
#[must_use]
pub(crate) fn total_rates<'r>(rates: impl IntoIterator<Item = &'r Rate>) -> BTreeMap<String, f64> {
    let mut hosts = BTreeMap::<String, f64>::new();
    rates.into_iter().for_each(|rate| *hosts.entry(rate.host.clone()).or_default() += rate.per_second());
    hosts
}
