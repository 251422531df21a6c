//! Waiting for a condition with a deadline, and saying what was seen instead when it does not come.
//!
//! Nothing here sleeps in the hope that a time is long enough: a probe is asked again until it is content.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long most things may take: far above what they need on an idle machine, since many tests share two cores.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// How often a probe is asked: short against every interval under test, long enough to cost little.
pub const ASK_EVERY: Duration = Duration::from_millis(50);

/// What a probe found.
#[derive(Debug)]
pub enum Seen<T> {
    /// The condition holds; this is what made it hold.
    Met(T),
    /// It does not hold yet; this is what is there instead, for the error message.
    Instead(String),
    /// It never will, and why: waiting on would only hide the reason.
    Hopeless(String),
}

/// Asks `probe` until it is content, and fails after `deadline` with what it saw last.
///
/// # Errors
/// When the deadline passes. An error of the probe itself counts as something seen: an API server that is just
/// being restarted refuses connections for a while.
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

/// Asks `probe` for all of `span` and fails as soon as it is not content: for what must *not* happen.
///
/// Choose `span` as a multiple of the interval after which the forbidden thing would happen.
///
/// # Errors
/// When the condition stops holding, with what was seen.
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
