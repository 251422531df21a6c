//! Waits for a condition with a deadline. On timeout the error shows the last state.
//!
//! No function here sleeps for a guessed time: a probe is repeated until its condition holds.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Default deadline: far above the time on an idle machine, because many tests share two cores.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Interval between probes: short against every interval under test, long enough to cost little.
pub const ASK_EVERY: Duration = Duration::from_millis(50);

/// Result of a probe.
#[derive(Debug)]
pub enum Seen<T> {
    /// The condition holds, with its result.
    Met(T),
    /// The condition does not hold yet. The text describes the current state for the error message.
    Instead(String),
    /// The condition can never hold, with the reason. Further waiting would only hide it.
    Hopeless(String),
}

/// Repeats `probe` until its condition holds. Fails after `deadline` with the last state.
///
/// # Errors
/// The deadline has passed, or the condition can never hold. An error of the probe itself counts as a state, because an
/// API server that restarts refuses connections for a while.
pub async fn until<T>(
    what: impl AsRef<str>,
    deadline: Duration,
    mut probe: impl AsyncFnMut() -> Result<Seen<T>>,
) -> Result<T> {
    let began = Instant::now();
    let mut seen = String::from("nothing: the first look did not return");
    loop {
        let left = deadline.saturating_sub(began.elapsed());
        match tokio::time::timeout(left.max(ASK_EVERY), probe()).await {
            Ok(Ok(Seen::Met(value))) => return Ok(value),
            Ok(Ok(Seen::Instead(instead))) => seen = instead,
            Ok(Ok(Seen::Hopeless(reason))) => {
                bail!("in vain waited for: {}\n{reason}", what.as_ref())
            }
            Ok(Err(error)) => seen = format!("an error: {error:#}"),
            Err(_) => seen = format!("{seen}\n(and the last look hung until the deadline)"),
        }
        if began.elapsed() >= deadline {
            bail!("waited {} s for: {}\nseen instead: {seen}", deadline.as_secs(), what.as_ref());
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}

/// Repeats `probe` during all of `span` and fails as soon as its condition does not hold. Used to show that something
/// does *not* happen.
///
/// Choose `span` as a multiple of the interval after which the forbidden event would happen. The error shows the state.
pub async fn throughout(
    what: impl AsRef<str>,
    span: Duration,
    mut probe: impl AsyncFnMut() -> Result<Seen<()>>,
) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < span {
        if let Seen::Instead(seen) | Seen::Hopeless(seen) = probe().await? {
            let after = began.elapsed().as_millis();
            bail!("for {} s this should hold: {}\nafter {after} ms it was: {seen}", span.as_secs(), what.as_ref());
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    Ok(())
}
