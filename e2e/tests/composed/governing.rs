//! The states of the targets by their ConfigMaps, as each program knows them.

use std::collections::BTreeMap;

use drift_kube::{Configuration, NotedSelections};
use drift_language::TargetState;

use crate::targets::{Documents, NAMES, target};
use crate::world::Who;

/// The states other than live, by target.
pub(crate) type States = BTreeMap<&'static str, TargetState>;

/// The targets as one program publishes them to its parts.
#[derive(Default)]
pub(crate) struct Published {
    pub(crate) configuration: Configuration,
    pub(crate) notes: NotedSelections,
    /// The text of a noted target is lost, so that its objects may name any resource.
    pub(crate) has_missing: bool,
}

/// The ConfigMaps as one program has seen them.
#[derive(Default)]
struct Known {
    states: States,
    /// The texts that the program uses.
    used: Documents,
    /// The last text of each target that was not removed.
    noted: Documents,
    /// The notes on the Lease.
    notes: NotedSelections,
}

/// The ConfigMaps as both programs have seen them.
pub(crate) struct Governing {
    poller: Known,
    controller: Known,
}

impl Default for Governing {
    fn default() -> Self {
        let poller = Known { notes: NotedSelections::with_reports(), ..Known::default() };
        Self { poller, controller: Known::default() }
    }
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

    /// Returns the configuration of the program, and its notes on the Lease. Each target has a ConfigMap of its own. The
    /// one of a removed target is there, and lacks it.
    pub(crate) fn published(&self, who: Who) -> Published {
        let Known { states, used, noted, notes } = self.known(who);
        let targets = used.iter().map(|(name, text)| ((*name).to_owned(), target(name, *text))).collect();
        let used_states = states.iter().filter(|(name, _)| used.contains_key(*name));
        let is_there = |name: &&str| matches!(states.get(name), None | Some(TargetState::Live | TargetState::Taken));
        let configuration = Configuration {
            targets,
            states: used_states.map(|(name, state)| ((*name).to_owned(), *state)).collect(),
            whole: NAMES.into_iter().filter(is_there).map(str::to_owned).collect(),
            loaded: true,
            ..Configuration::default()
        };
        notes.arrange(&configuration);
        let notes = notes.clone();
        let has_missing = noted.keys().any(|name| !used.contains_key(name));
        Published { configuration, notes, has_missing }
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
