//! The states of the targets by their ConfigMaps, as each program knows them.

use std::collections::BTreeMap;

use drift_language::TargetState;

use crate::targets::{Documents, NAMES};
use crate::world::Who;

/// The states other than live, by target.
pub(crate) type States = BTreeMap<&'static str, TargetState>;

/// The ConfigMaps as one program has seen them.
#[derive(Default)]
struct Known {
    states: States,
    /// The texts that the program uses.
    used: Documents,
    /// The last text of each target, as the notes on the Lease keep its selection.
    noted: Documents,
}

/// The ConfigMaps as both programs have seen them.
#[derive(Default)]
pub(crate) struct Governing {
    poller: Known,
    controller: Known,
}

impl Governing {
    const fn known(&self, who: Who) -> &Known {
        match who {
            Who::Poller => &self.poller,
            Who::Controller => &self.controller,
        }
    }

    const fn known_mut(&mut self, who: Who) -> &mut Known {
        match who {
            Who::Poller => &mut self.poller,
            Who::Controller => &mut self.controller,
        }
    }

    /// Records the state of a target as the program knows it.
    pub(crate) fn note(&mut self, who: Who, name: &'static str, state: TargetState) {
        let states = &mut self.known_mut(who).states;
        match state {
            TargetState::Live => drop(states.remove(name)),
            state => drop(states.insert(name, state)),
        }
    }

    /// Returns the states that the program knows.
    pub(crate) const fn states(&self, who: Who) -> &States {
        &self.known(who).states
    }

    /// Returns the texts that the program uses from now on. A target that is not live keeps the text that the program
    /// has. After a restart a taken target has its older text again, and a former one has none.
    pub(crate) fn configure(&mut self, who: Who, documents: &Documents) -> Documents {
        let known = self.known_mut(who);
        let text = |name: &'static str| match known.states.get(name) {
            None | Some(TargetState::Live) => documents.get(name),
            Some(TargetState::Taken) => known.used.get(name).or_else(|| documents.get(name)),
            Some(_) => known.used.get(name),
        };
        let used: Documents = NAMES.into_iter().filter_map(|name| Some((name, *text(name)?))).collect();
        known.noted.retain(|name, _| known.states.contains_key(name));
        known.noted.extend(used.clone());
        known.used.clone_from(&used);
        used
    }

    /// Returns true if the text of a noted target is lost, so that its objects may name any resource.
    pub(crate) fn has_missing(&self, who: Who) -> bool {
        let known = self.known(who);
        known.noted.keys().any(|name| !known.used.contains_key(name))
    }

    /// Returns the texts whose objects are not cleaned up: those in use, and those of missing targets.
    pub(crate) const fn noted(&self, who: Who) -> &Documents {
        &self.known(who).noted
    }

    /// Records the end of the program's process. It loses the texts of former targets.
    pub(crate) fn crash(&mut self, who: Who) {
        self.known_mut(who).used.clear();
    }
}
