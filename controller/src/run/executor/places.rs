//! The places that a correction needs to begin: one at the host of its first request, and a call slot for
//! the API server.

use drift_kube::object_writer::CallSlot;

use super::Run;
use crate::run::requests::held_hosts::HostPlace;

impl Run<'_> {
    /// Acquires a place at the host of the correction's first request, if there is one, and a call slot. Neither is
    /// held during a long wait for the other.
    pub(super) async fn enter(&self) -> Option<(Option<HostPlace>, CallSlot)> {
        let executor = self.executor;
        let slots = &executor.writer.slots;
        let host = self.requests.as_ref().and_then(|requests| requests.system.hosts().into_iter().next());
        let concurrent = executor.target.correct.limits.concurrent;
        let Some(host) = host else { return Some((None, slots.enter().await)) };
        loop {
            let place = executor.requests.enter_first(host.clone(), concurrent).await?;
            if let Some(call) = slots.try_enter() {
                return Some((Some(place), call));
            }
            drop(place);
            let call = slots.enter().await;
            if let Some(place) = executor.requests.try_enter(&host) {
                return Some((Some(place), call));
            }
        }
    }
}
