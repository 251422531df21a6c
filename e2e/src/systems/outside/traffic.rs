//! Counts the requests of each method in progress, and their maximum.
//!
//! A request is in progress from its read until its response is written, even if the client no longer waits. This is
//! the load from the external system's view.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The load by method.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    loads: Mutex<HashMap<String, Load>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Load {
    now: usize,
    most: usize,
}

/// A request in progress, for the lifetime of this value.
#[derive(Debug)]
pub(super) struct UnderWay<'a> {
    traffic: &'a Traffic,
    method: String,
}

impl Traffic {
    pub(super) fn begin(&self, method: &str) -> UnderWay<'_> {
        let mut loads = self.lock();
        let load = loads.entry(method.to_owned()).or_default();
        load.now += 1;
        load.most = load.most.max(load.now);
        UnderWay { traffic: self, method: method.to_owned() }
    }

    pub(super) fn most(&self, method: &str) -> usize {
        self.lock().get(method).map_or(0, |load| load.most)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Load>> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(load) = self.traffic.lock().get_mut(&self.method) {
            load.now -= 1;
        }
    }
}
