//! What a create does that is sent again because nobody knows if the first one took effect.

use std::time::Duration;

use crate::systems::step_timeout::STEP_TIMEOUT;
use crate::target::Target;

/// Effect of a repeated create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedCreate {
    /// It makes no second resource, because it names the resource: every write is a request to an address, an entry of
    /// a directory, a statement that defines by name, or a manifest.
    #[default]
    Harmless,
    /// It makes no second resource, because the system recognizes its Idempotency-Key.
    Keyed,
    /// It may make a second resource.
    Duplicates,
}

/// Minimum time for which absence must be found before it counts after a create in doubt. Gateways and replicas of
/// common systems show a new resource within seconds, and a request whose connection broke ends within that time.
const CREATE_SHOWS_WITHIN: Duration = Duration::from_secs(30);

impl Target {
    /// The effect of its create if that is sent again.
    #[must_use]
    pub fn repeated_create(&self) -> RepeatedCreate {
        self.correct.section().map(|section| section.repeated_create()).unwrap_or_default()
    }

    /// Returns true if the read finds a resource whose creating response was lost: no field that selects the read is
    /// stored or published by the target itself, or a look-up of `create` stores them all before its first write.
    #[must_use]
    pub fn read_finds_created(&self) -> bool {
        let read = self.read.source.section();
        let mut selecting = read.address_fields();
        selecting.extend(&read.presence_fields());
        let looked_up = self.correct.section().map(|section| section.stored_by_look_up()).unwrap_or_default();
        let own = |name: &&str| !looked_up.contains(name);
        let stored: Vec<&str> = self.correct.stored().filter(own).chain(self.publish.names()).collect();
        let is_own = |path: &[String]| {
            path.first().is_some_and(|first| first == "status")
                && path.get(1).is_none_or(|field| stored.contains(&field.as_str()))
        };
        stored.is_empty() || !selecting.iter().any(is_own)
    }

    /// Time for which absence must last before it counts after a create that no poll has found.
    #[must_use]
    pub fn create_shows_within(&self) -> Duration {
        if self.repeated_create() != RepeatedCreate::Duplicates {
            return Duration::ZERO;
        }
        let timeout = self.correct.section().and_then(|section| section.longest_create_step());
        self.correct.settle.max(timeout.unwrap_or(STEP_TIMEOUT)).max(CREATE_SHOWS_WITHIN)
    }
}
