//! The counts of an open breaker, as the Lease and the sentences for people name them.

use std::fmt;

use crate::facts;

/// A share that disables the breaker.
const NEVER: usize = 100;

/// The counts of an open breaker. They do not shrink while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BreakerCounts {
    /// Objects that drifted.
    pub drifted: usize,
    /// Objects with a verdict.
    pub judged: usize,
    /// `maxDriftedPercent` at which it opened.
    pub limit: u8,
}

impl BreakerCounts {
    /// Returns the smallest `maxDriftedPercent` that closes the breaker: more than what drifted, and more than the limit
    /// at which it opened. 100 always does.
    #[must_use]
    pub fn closing_limit(self) -> u8 {
        let share = self.drifted.saturating_mul(100) / self.judged.max(1);
        let closing = share.max(self.limit.into()).saturating_add(1).min(NEVER);
        u8::try_from(closing).unwrap_or(u8::MAX)
    }

    /// The commands and edits that let corrections pass, in a sentence without a full stop.
    #[must_use]
    pub fn remedy(self) -> String {
        format!(
            "look at the target and the external system first; then `kubectl drift retry KIND/NAME` corrects one object, and \
             `correct.limits.maxDriftedPercent` of {} or more corrects all; no other edit closes the breaker; it closes by itself \
             once fewer than half of the objects that waited still drift",
            self.closing_limit()
        )
    }

    /// Parses the counts.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (counts, limit) = text.split_once(' ')?;
        let (drifted, judged) = counts.split_once('/')?;
        let limit = facts::number(limit.strip_suffix('%')?)?;
        Some(Self { drifted: facts::number(drifted)?, judged: facts::number(judged)?, limit })
    }
}

impl fmt::Display for BreakerCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{} {}%", self.drifted, self.judged, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_limit_is_past_what_drifted() {
        for (drifted, judged, limit, closing) in [
            (10, 40, 20, 26),
            (15, 29, 20, 52),
            (10, 50, 20, 21),
            (10, 200, 20, 21),
            (40, 40, 20, 100),
            (99, 100, 99, 100),
            (10, 0, 5, 100),
        ] {
            let counts = BreakerCounts { drifted, judged, limit };
            assert_eq!(counts.closing_limit(), closing, "{counts}");
            assert!(
                counts.remedy().contains(&format!("maxDriftedPercent` of {closing} or more")),
                "{}",
                counts.remedy()
            );
        }
    }
}
