//! The health of one host, from the results of earlier requests.
//!
//! If a single object is throttled or gets no response, the cause may be the object: a slow URL, or too many requests.
//! Three different objects are evidence about the host. Otherwise every editor of one object could silence a host for
//! all targets. Pure: the time comes in as a value.

use std::collections::VecDeque;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;

/// Different objects with the same result before it is attributed to the host.
pub const SPEAK_FOR_HOST: usize = 3;

/// Throttled objects count together within this time. A host that limits its callers rejects all of them for seconds.
pub const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// Maximum pause that a host can request, equal to the retry interval after a missing right. A broken header must not
/// silence it for longer.
pub const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(300);

/// Retry interval of requests while another one probes the host: short compared with the pauses of a silent host, and
/// long compared with the cost of preparing requests for thousands of objects.
pub const PROBE_PATIENCE: Duration = Duration::from_secs(2);

/// The reply of a host to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostReply {
    /// A response, whatever its content.
    Answer,
    /// A response that asks for a pause of this length.
    AskedToWait(Duration),
    /// No response in time.
    TimedOut,
    /// No connection, or one that broke before a response.
    Unreachable,
}

impl HostReply {
    /// The pause that the response asks for.
    #[must_use]
    pub const fn asked_pause(self) -> Option<Duration> {
        match self {
            Self::AskedToWait(pause) => Some(pause),
            Self::Answer | Self::TimedOut | Self::Unreachable => None,
        }
    }
}

/// The reason of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// The host asked for it.
    AskedToWait,
    /// The host does not respond in time.
    TimedOut,
    /// The host cannot be reached.
    Unreachable,
}

/// The pause of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The earliest time of the next request.
    pub until: Moment,
    /// The reason of the pause.
    pub cause: PauseCause,
}

/// Identifies the pauses at the time of a request. Against a pause that began later, its reply only counts if it
/// is a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(u32);

/// The state of one host.
#[derive(Debug)]
pub struct HostHealth {
    /// Different throttled objects, the latest last.
    told: VecDeque<(Uid, Moment)>,
    asked_until: Option<Moment>,
    /// Different objects in a row without a response.
    unanswered: Vec<Uid>,
    silence: Backoff,
    silence_cause: PauseCause,
}

impl Default for HostHealth {
    fn default() -> Self {
        Self {
            told: VecDeque::new(),
            asked_until: None,
            unanswered: Vec::new(),
            silence: Backoff::new(Series::HOST_SILENT),
            silence_cause: PauseCause::TimedOut,
        }
    }
}

impl HostHealth {
    /// Records the reply to the object's request, which was sent in `epoch`.
    pub fn note(&mut self, object: &Uid, heard: HostReply, epoch: Epoch, now: Moment) {
        match heard {
            HostReply::Answer => self.note_answer(),
            HostReply::AskedToWait(pause) => {
                self.note_answer();
                self.note_told(object, pause, now);
            }
            HostReply::TimedOut => self.note_silence(object, PauseCause::TimedOut, epoch, now),
            HostReply::Unreachable => self.note_silence(object, PauseCause::Unreachable, epoch, now),
        }
    }

    /// Returns the current pause, if any.
    #[must_use]
    pub fn paused(&self, now: Moment) -> Option<Pause> {
        let asked = self.asked_until.map(|until| Pause { until, cause: PauseCause::AskedToWait });
        let silent = self.is_silent().then(|| Pause { until: self.silence.ready_at(), cause: self.silence_cause });
        asked.into_iter().chain(silent).filter(|pause| pause.until > now).max_by_key(|pause| pause.until)
    }

    /// Returns true if the host has not responded since it was considered silent. One request at a time may probe it.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.silence.failures() > 0
    }

    /// Returns the pause of requests to a host that is being probed.
    #[must_use]
    pub fn while_probed(&self, now: Moment) -> Pause {
        Pause { until: now + PROBE_PATIENCE, cause: self.silence_cause }
    }

    /// Returns the current epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        Epoch(self.silence.failures())
    }

    fn note_answer(&mut self) {
        self.unanswered.clear();
        self.silence.reset();
    }

    fn note_told(&mut self, object: &Uid, pause: Duration, now: Moment) {
        self.told.retain(|(told, at)| told != object && !now.is_past(*at, TOLD_WITHIN));
        self.told.push_back((object.clone(), now));
        if self.told.len() >= SPEAK_FOR_HOST {
            self.asked_until = self.asked_until.max(Some(now + pause.min(LONGEST_ASKED_PAUSE)));
            self.told.pop_front();
        }
    }

    fn note_silence(&mut self, object: &Uid, cause: PauseCause, epoch: Epoch, now: Moment) {
        if epoch != self.epoch() {
            return;
        }
        if !self.is_silent() {
            if !self.unanswered.contains(object) {
                self.unanswered.push(object.clone());
            }
            if self.unanswered.len() < SPEAK_FOR_HOST {
                return;
            }
        }
        self.silence_cause = cause;
        self.silence.fail(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::START + Duration::from_secs(seconds)
    }

    fn uid(number: u64) -> Uid {
        format!("u{number}").as_str().into()
    }

    /// Seconds of the current pause.
    fn pause(health: &HostHealth, now: Moment) -> Option<u64> {
        health.paused(now).map(|pause| (pause.until - now).as_secs())
    }

    fn silent() -> HostHealth {
        let mut health = HostHealth::default();
        (0..3).for_each(|object| health.note(&uid(object), HostReply::TimedOut, health.epoch(), at(0)));
        health
    }

    #[test]
    fn three_objects_told_within_ten_seconds_pause_the_host() {
        let told = HostReply::AskedToWait(Duration::from_secs(7));
        for (objects, seconds, expected) in [
            ([1, 1, 1], [0, 1, 2], None),
            ([1, 2, 1], [0, 1, 2], None),
            ([1, 2, 3], [0, 1, 2], Some(7)),
            ([1, 2, 3], [0, 5, 10], None),
            ([1, 2, 3], [1, 5, 10], Some(7)),
        ] {
            let mut health = HostHealth::default();
            for (object, second) in objects.into_iter().zip(seconds) {
                health.note(&uid(object), told, health.epoch(), at(second));
            }
            assert_eq!(pause(&health, at(seconds[2])), expected, "{objects:?} at {seconds:?}");
        }
    }

    #[test]
    fn no_asked_pause_exceeds_five_minutes_or_shortens_another() {
        let mut health = HostHealth::default();
        for (object, hours) in [(1, 1), (2, 1), (3, 1), (4, 0)] {
            health.note(&uid(object), HostReply::AskedToWait(Duration::from_secs(3600 * hours)), health.epoch(), at(0));
        }
        assert_eq!(pause(&health, at(0)), Some(300));
        assert_eq!(pause(&health, at(300)), None);
    }

    #[test]
    fn three_unanswered_objects_in_a_row_pause_the_host() {
        use HostReply::{Answer, TimedOut, Unreachable};
        for (heard, expected) in [
            (vec![(1, TimedOut), (1, TimedOut), (1, TimedOut)], None),
            (vec![(1, TimedOut), (2, Unreachable)], None),
            (vec![(1, TimedOut), (2, TimedOut), (3, Answer), (4, TimedOut)], None),
            (vec![(1, TimedOut), (2, TimedOut), (3, Unreachable)], Some(PauseCause::Unreachable)),
        ] {
            let mut health = HostHealth::default();
            for (object, heard) in &heard {
                health.note(&uid(*object), *heard, health.epoch(), at(0));
            }
            assert_eq!(health.paused(at(0)).map(|pause| pause.cause), expected, "{heard:?}");
        }
    }

    #[test]
    fn each_silent_probe_doubles_the_pause_to_thirty_seconds() {
        let mut health = silent();
        let mut now = at(0);
        let mut pauses = Vec::new();
        while let Some(paused) = health.paused(now).filter(|_| pauses.len() < 7) {
            pauses.push((paused.until - now).as_secs());
            now = paused.until;
            health.note(&uid(9), HostReply::TimedOut, health.epoch(), now);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        health.note(&uid(9), HostReply::Answer, health.epoch(), now);
        assert_eq!(health.paused(now), None);
    }

    #[test]
    fn requests_from_before_a_pause_do_not_lengthen_it() {
        let mut health = HostHealth::default();
        let epoch = health.epoch();
        (0..16).for_each(|object| health.note(&uid(object), HostReply::TimedOut, epoch, at(0)));
        assert_eq!(pause(&health, at(0)), Some(1));
        health.note(&uid(17), HostReply::Answer, epoch, at(0));
        assert_eq!(pause(&health, at(0)), None, "an answer is an answer");
    }
}
