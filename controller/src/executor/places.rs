//! The places that an execution holds: at the hosts, among the calls to the API server, within its target's limits, and among those that
//! name one resource.
//!
//! This file must not know what is done there.

use drift_kube::identities::HeldClaim;
use drift_kube::object_writer::CallSlot;

use super::{Executor, Run};
use crate::core::execution::Execution;
use crate::core::held::Held;
use crate::core::limits::Taken;
use crate::core::outcome::Sighting;
use crate::requests::held_hosts::{HeldHosts, HostPlace};

/// What an execution holds that others wait for.
#[derive(Default)]
pub(super) struct Places {
    pub(super) hosts: HeldHosts,
    pub(super) call: Option<CallSlot>,
    pub(super) taken: Option<Taken>,
    pub(super) holding: Option<HeldClaim>,
}

impl Executor {
    /// A place at the host of the correction's first request, if it has one, and a call. Neither is held while the other
    /// may take long.
    pub(super) async fn enter(&self, execution: &Execution) -> Option<(Option<HostPlace>, CallSlot)> {
        let slots = &self.writer.slots;
        let correction = execution.correction();
        let host = correction.and_then(|correction| self.render(execution.object(), correction)?.ok()?.first_host());
        let concurrent = self.target.correct.limits.concurrent;
        let Some(host) = host else { return Some((None, slots.enter().await)) };
        loop {
            let place = self.requests.enter_first(host.clone(), concurrent).await?;
            if let Some(call) = slots.try_enter() {
                return Some((Some(place), call));
            }
            drop(place);
            let call = slots.enter().await;
            if let Some(place) = self.requests.try_enter(&host) {
                return Some((Some(place), call));
            }
        }
    }
}

impl Run<'_> {
    /// The Job needs no place any more. The word to the actor also wakes the next in line.
    pub(super) fn job_goes_on(&mut self, sighting: Option<&Sighting>) {
        let gives_place_back = self.places.taken.as_mut().is_some_and(Taken::begin_job);
        if gives_place_back || sighting.is_some() {
            let held = sighting.and_then(|sighting| Held::of_job(sighting.stage));
            // Nobody shows it where the target's actor has ended.
            _ = self.supervision.stalls.send((self.execution.object().id.uid.clone(), held));
        }
    }
}
