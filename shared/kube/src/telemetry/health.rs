//! The state behind `/readyz` and `/livez`: readiness of each part, and heartbeats of the main loops.
//!
//! Each part of a program updates its own line. The board has its own lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// The shared board of all parts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Health {
    board: Arc<Mutex<HealthBoard>>,
}

#[derive(Debug, Default)]
struct HealthBoard {
    next: u64,
    parts: BTreeMap<(String, u64), Option<String>>,
    remarks: BTreeMap<(String, u64), String>,
    heartbeats: BTreeMap<(String, u64), Pulse>,
}

#[derive(Debug)]
struct Pulse {
    last: Moment,
    limit: Duration,
}

/// One part's line on the board. Dropping it removes the line.
#[derive(Debug)]
pub struct HealthPart {
    health: Health,
    key: (String, u64),
}

/// A line about a problem that does not make the program unready. Dropping it removes the line.
#[derive(Debug)]
pub struct Remark {
    health: Health,
    key: (String, u64),
}

/// The heartbeat of one main loop. Dropping it removes the check.
#[derive(Debug)]
pub struct Heartbeat {
    health: Health,
    key: (String, u64),
}

/// One line of `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartState {
    /// The name of the part.
    pub name: String,
    /// The reason why it is not ready, as a sentence; `None` if it is ready.
    pub trouble: Option<String>,
}

/// A main loop that exceeds its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The name of the loop.
    pub name: String,
    /// The time since its last heartbeat.
    pub silent_for: Duration,
    /// The longest time between two heartbeats.
    pub limit: Duration,
}

impl Health {
    /// Adds a part that is not ready until it reports so.
    #[must_use]
    pub fn part(&self, name: impl Into<String>) -> HealthPart {
        let mut board = self.board();
        let key = (name.into(), board.fresh());
        board.parts.insert(key.clone(), Some("starting".to_owned()));
        drop(board);
        HealthPart { health: self.clone(), key }
    }

    /// Adds a line about a problem that does not make the program unready.
    #[must_use]
    pub fn remark(&self, about: impl Into<String>, sentence: impl Into<String>) -> Remark {
        let mut board = self.board();
        let key = (about.into(), board.fresh());
        board.remarks.insert(key.clone(), sentence.into());
        drop(board);
        Remark { health: self.clone(), key }
    }

    /// Adds a main loop with at least one heartbeat every `limit`.
    #[must_use]
    pub fn heartbeat(&self, name: impl Into<String>, limit: Duration, now: Moment) -> Heartbeat {
        let mut board = self.board();
        let key = (name.into(), board.fresh());
        board.heartbeats.insert(key.clone(), Pulse { last: now, limit });
        drop(board);
        Heartbeat { health: self.clone(), key }
    }

    /// Returns all parts by name.
    #[must_use]
    pub fn parts(&self) -> Vec<PartState> {
        let line = |(key, trouble): (&(String, u64), &Option<String>)| PartState {
            name: key.0.clone(),
            trouble: trouble.clone(),
        };
        self.board().parts.iter().map(line).collect()
    }

    /// Returns all remarks by subject.
    #[must_use]
    pub fn remarks(&self) -> Vec<PartState> {
        let line = |((name, _), sentence): (&(String, u64), &String)| PartState {
            name: name.clone(),
            trouble: Some(sentence.clone()),
        };
        self.board().remarks.iter().map(line).collect()
    }

    /// Returns true if every part is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.board().parts.values().all(Option::is_none)
    }

    /// Returns the main loops that exceed their limit.
    #[must_use]
    pub fn stalled(&self, now: Moment) -> Vec<Stalled> {
        let board = self.board();
        let late = board.heartbeats.iter().filter(|(_, pulse)| now - pulse.last > pulse.limit);
        late.map(|(key, pulse)| Stalled { name: key.0.clone(), silent_for: now - pulse.last, limit: pulse.limit })
            .collect()
    }

    /// Locks the board. A panic elsewhere leaves no partial change, because every change is one insertion.
    fn board(&self) -> MutexGuard<'_, HealthBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HealthBoard {
    const fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl HealthPart {
    /// Marks the part as ready.
    pub fn ready(&self) {
        self.set(None);
    }

    /// Marks the part as not ready. `sentence` says why and what to do.
    pub fn not_ready(&self, sentence: impl Into<String>) {
        self.set(Some(sentence.into()));
    }

    /// Adds a line about a problem of this part that does not make it unready.
    #[must_use]
    pub fn remark(&self, about: impl Into<String>, sentence: impl Into<String>) -> Remark {
        self.health.remark(about, sentence)
    }

    fn set(&self, trouble: Option<String>) {
        self.health.board().parts.insert(self.key.clone(), trouble);
    }
}

impl Drop for HealthPart {
    fn drop(&mut self) {
        self.health.board().parts.remove(&self.key);
    }
}

impl Drop for Remark {
    fn drop(&mut self) {
        self.health.board().remarks.remove(&self.key);
    }
}

impl Heartbeat {
    /// Records a heartbeat.
    pub fn tick(&self, now: Moment) {
        if let Some(pulse) = self.health.board().heartbeats.get_mut(&self.key) {
            pulse.last = now;
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.health.board().heartbeats.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_ready_when_every_part_is() {
        let health = Health::default();
        assert!(health.is_ready());
        let (lease, watch) = (health.part("lease"), health.part("watch"));
        assert!(!health.is_ready());
        lease.ready();
        watch.not_ready("may not list proxies");
        let trouble = Some("may not list proxies".to_owned());
        assert_eq!(health.parts()[1], PartState { name: "watch".to_owned(), trouble });
        drop(watch);
        assert!(health.is_ready());
    }

    #[test]
    fn two_parts_of_one_name_do_not_hide_each_other() {
        let health = Health::default();
        let (bad, good) = (health.part("watch"), health.part("watch"));
        bad.not_ready("no");
        good.ready();
        assert!(!health.is_ready());
        drop(good);
        assert!(!health.is_ready());
    }

    #[test]
    fn a_remark_is_shown_and_makes_nothing_unready() {
        let health = Health::default();
        let remark = health.remark("target proxies", "its kind is unknown");
        let trouble = Some("its kind is unknown".to_owned());
        assert_eq!(health.remarks(), [PartState { name: "target proxies".to_owned(), trouble }]);
        assert!(health.is_ready() && health.parts().is_empty());
        drop(remark);
        assert!(health.remarks().is_empty());
    }

    #[test]
    fn a_loop_beyond_its_limit_is_stalled() {
        let health = Health::default();
        let second = Duration::from_secs(1);
        let heartbeat = health.heartbeat("schedule", 10 * second, Moment::START);
        let late = Moment::START + 11 * second;
        assert_eq!(health.stalled(Moment::START + 10 * second), []);
        let stalled = Stalled { name: "schedule".to_owned(), silent_for: 11 * second, limit: 10 * second };
        assert_eq!(health.stalled(late), [stalled]);
        heartbeat.tick(late);
        assert_eq!(health.stalled(late), []);
        drop(heartbeat);
        assert_eq!(health.stalled(late + 100 * second), []);
    }
}
