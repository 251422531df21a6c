//! The state of a target: who governs its objects, and what the programs do meanwhile.
//!
//! This table is the only place that says it. The page `docs/reference/target/README.md` repeats it, and a test compares
//! the two.

/// The state of a target by its ConfigMaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetState {
    /// A labelled ConfigMap has its valid text, or had it before an invalid edit of that document.
    #[default]
    Live,
    /// Its ConfigMap was deleted or lost its label, or its key went without proof of removal. This process still has
    /// its last text.
    Former,
    /// Two ConfigMaps have different valid texts of it, or a text about the same objects.
    Taken,
    /// The Lease notes it, and this process never had a text of it.
    Missing,
    /// It was removed on purpose: a ConfigMap of valid documents lacks it, or a person forgot it.
    Forgotten,
}

/// The polls and verdicts of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polls {
    /// They go on.
    GoOn,
    /// They go on for `--clean-up-after` of the poller. Then each object gets one last verdict, `TargetMissing`.
    End,
    /// There are none.
    Stopped,
}

/// What the programs do for a target in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRules {
    /// True if objects that live get creates, updates, replacements, nudges and finalizers.
    pub corrects: bool,
    /// True if deletions go on, by the text that is there. A done deletion removes its finalizer.
    pub deletes: bool,
    /// The polls and verdicts.
    pub polls: Polls,
    /// True if objects that live lose finalizers and conditions.
    pub releases: bool,
    /// True if the poller may attest the target.
    pub attests: bool,
    /// True if its notes leave the Lease once nothing is left on the objects.
    pub strikes_notes: bool,
}

impl TargetState {
    /// Every state, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Live, Self::Former, Self::Taken, Self::Missing, Self::Forgotten];

    /// Returns the row of this state.
    #[must_use]
    pub const fn rules(self) -> StateRules {
        const STOPPED: StateRules = StateRules {
            corrects: false,
            deletes: false,
            polls: Polls::Stopped,
            releases: false,
            attests: false,
            strikes_notes: false,
        };
        match self {
            Self::Live => StateRules { corrects: true, deletes: true, polls: Polls::GoOn, attests: true, ..STOPPED },
            Self::Former => StateRules { deletes: true, polls: Polls::End, ..STOPPED },
            Self::Taken => StateRules { polls: Polls::GoOn, ..STOPPED },
            Self::Missing => STOPPED,
            Self::Forgotten => StateRules { releases: true, strikes_notes: true, ..STOPPED },
        }
    }

    /// Returns the word for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Former => "former",
            Self::Taken => "taken",
            Self::Missing => "missing",
            Self::Forgotten => "forgotten",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The page that repeats the table.
    const PAGE: &str = include_str!("../../../docs/reference/target/README.md");

    /// The cells of a row on the page after the name of the state.
    fn cells(state: TargetState) -> [&'static str; 6] {
        let StateRules { corrects, deletes, polls, releases, attests, strikes_notes } = state.rules();
        [
            if corrects { "go on" } else { "stopped" },
            match (deletes, state) {
                (true, TargetState::Former) => "go on, by the last text",
                (true, _) => "go on",
                (false, _) if releases => "release the object",
                (false, _) => "wait",
            },
            match (polls, state) {
                (Polls::GoOn, TargetState::Taken) => "go on, by the older text",
                (Polls::GoOn, _) => "go on",
                (Polls::End, _) => "ten minutes, then `TargetMissing`",
                (Polls::Stopped, _) => "stopped",
            },
            match (corrects, releases) {
                (true, _) => "as the text says",
                (false, true) => "released",
                (false, false) => "kept",
            },
            if attests { "yes" } else { "no" },
            if strikes_notes { "go" } else { "stay" },
        ]
    }

    #[test]
    fn the_page_repeats_the_table() {
        let rows = TargetState::ALL.map(|state| format!("| {} | {} |", state.as_str(), cells(state).join(" | ")));
        let page: Vec<&str> = PAGE.lines().collect();
        let at = page.iter().position(|line| *line == rows[0]).unwrap_or_else(|| unreachable!("{}", rows.join("\n")));
        assert_eq!(page[at..at + rows.len()], rows);
    }

    #[test]
    fn only_a_live_target_writes_outside_for_living_objects() {
        for state in TargetState::ALL {
            let rules = state.rules();
            assert_eq!((rules.corrects, rules.attests), (state == TargetState::Live, state == TargetState::Live));
            assert!(!(rules.releases && rules.deletes), "what is released is not deleted: {state:?}");
        }
    }
}
