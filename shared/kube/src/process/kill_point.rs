//! Points between reads and writes at which a test can kill the program.
//!
//! A crash at an exact place cannot be triggered from outside, because it is a matter of microseconds. So the programs
//! name these places, and a build with debug assertions, as in tests, exits at the one that [`VARIABLE`] names. In a
//! release build [`reach`] does nothing and reads nothing.

/// The environment variable with the kill point: `controller-after-claim#2` is the second time that it is reached. An
/// unknown name, such as `nowhere`, kills nothing. While it is set, every reached point is logged.
pub const VARIABLE: &str = "DRIFT_KILL_AT";

/// Prefix of the log line at a kill point.
pub const REACHED: &str = "kill point reached: ";

/// Defines the kill points of the programs in one list, in the order of each program's work: each point with its name
/// in [`VARIABLE`] and the log.
macro_rules! kill_points {
    ($($(#[$about:meta])* $program:ident: $($point:ident = $name:literal),+;)+) => {
        /// A place between a read and a write.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum KillPoint {
            $($($point,)+)+
        }

        impl KillPoint {
            $($(#[$about])* pub const $program: &[Self] = &[$(Self::$point),+];)+

            /// Returns its name in [`VARIABLE`] and the log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$point => $name,)+)+
                }
            }
        }
    };
}

kill_points! {
    /// The poller's points, in the order of its work.
    POLLER:
        PollerAfterLease = "poller-after-lease",
        PollerBeforeRead = "poller-before-read",
        PollerAfterRead = "poller-after-read",
        PollerBeforeCondition = "poller-before-condition",
        PollerAfterCondition = "poller-after-condition",
        PollerBeforeActive = "poller-before-active",
        PollerAfterActive = "poller-after-active";
    /// The controller's points, in the order of its work.
    CONTROLLER:
        ControllerAfterLease = "controller-after-lease",
        ControllerAfterLiveRead = "controller-after-live-read",
        ControllerBeforeFinalizer = "controller-before-finalizer",
        ControllerAfterFinalizer = "controller-after-finalizer",
        ControllerBeforeClaim = "controller-before-claim",
        ControllerAfterClaim = "controller-after-claim",
        ControllerBeforeStep = "controller-before-step",
        ControllerAfterStep = "controller-after-step",
        ControllerBeforeNote = "controller-before-note",
        ControllerAfterNote = "controller-after-note",
        ControllerBeforeRelease = "controller-before-release",
        ControllerAfterRelease = "controller-after-release";
}

/// Marks that the work reached this point. The process exits here if requested.
#[cfg(debug_assertions)]
pub fn reach(point: KillPoint) {
    armed::reach(point);
}

/// Marks that the work reached this point. Does nothing in a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub const fn reach(_point: KillPoint) {}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::{KillPoint, REACHED, VARIABLE};

    /// The kill point, and the number of passes before it kills.
    struct Death {
        at: String,
        passes: AtomicU32,
    }

    static DEATH: OnceLock<Option<Death>> = OnceLock::new();

    pub(super) fn reach(point: KillPoint) {
        let Some(death) = DEATH.get_or_init(sentence) else { return };
        tracing::info!("{REACHED}{}", point.as_str());
        if death.at == point.as_str() && death.passes.fetch_sub(1, Ordering::Relaxed) == 1 {
            die();
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a crash is to skip everything that an orderly end does")]
    fn die() {
        std::process::abort();
    }

    #[allow(clippy::disallowed_methods, reason = "no flag: it is for tests alone, and no release build has it")]
    fn sentence() -> Option<Death> {
        let text = std::env::var(VARIABLE).ok()?;
        let (at, count) = parse(&text);
        Some(Death { at: at.to_owned(), passes: AtomicU32::new(count) })
    }

    /// Parses the point and the number of times it must be reached. The default is the first.
    fn parse(text: &str) -> (&str, u32) {
        let (at, count) = text.split_once('#').unwrap_or((text, "1"));
        (at, count.parse().unwrap_or(1))
    }

    #[cfg(test)]
    mod tests {
        use super::parse;

        #[test]
        fn a_point_without_a_number_is_the_first() {
            assert_eq!(parse("controller-after-claim"), ("controller-after-claim", 1));
            assert_eq!(parse("controller-after-claim#2"), ("controller-after-claim", 2));
            assert_eq!(parse("nowhere"), ("nowhere", 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::KillPoint;

    #[test]
    fn every_point_has_a_name_of_its_own() {
        let points = [("poller-", KillPoint::POLLER), ("controller-", KillPoint::CONTROLLER)];
        let mut names = HashSet::new();
        for (program, points) in points {
            for point in points {
                assert!(point.as_str().starts_with(program), "{point:?}");
                assert!(names.insert(point.as_str()), "{point:?} is listed twice");
            }
        }
    }
}
