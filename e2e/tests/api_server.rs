//! A struggling API server: no correction follows an old spec, changes in the meantime are reported and corrected once,
//! and everything is in order within 30 s of the fault's end.

mod bed;
mod behind;
mod kinds_anew;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::cluster::api_gate::{Asked, Fault};
use drift_e2e::world::World;

use bed::Bed;

/// Longer than the 8 s after which a leader gives up its Lease, plus the start of a new term. Short enough for every
/// run.
const A_WHILE: Duration = Duration::from_secs(25);

/// The `Retry-After` of a busy API server in these tests, in seconds.
const RETRY_AFTER: u64 = 3;

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn too_many_requests_delay_and_lose_nothing() -> Result<()> {
    World::run("api 429", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed.go_through(A_WHILE, |bed| bed.gate.on(|_| true, Fault::TooMany(RETRY_AFTER))).await?;
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn writes_refused_with_429_come_when_asked() -> Result<()> {
    /// Spread of concurrent writes of several objects. Each is sent before the first rejection is read, which may take
    /// long on a busy machine. The next write of the same object needs no such bound, because it follows its own
    /// rejection.
    const AT_ONCE: Duration = Duration::from_secs(2);
    World::run("api 429 writes", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed
            .go_through(A_WHILE, |bed| {
                let objects = bed.objects();
                let writes = move |asked: &Asked| !asked.is_read() && asked.uri.starts_with(&objects);
                bed.gate.on(writes, Fault::TooMany(RETRY_AFTER));
            })
            .await?;
        let writes = recovery.besides_leases().filter(|asked| asked.uri.contains("fieldManager=drift-poller"));
        let writes: Vec<(Instant, &str)> = writes.map(|asked| (asked.at, asked.uri.as_str())).collect();
        let (mut first, mut round) = (None, BTreeSet::new());
        for (time, object) in &writes {
            let since = first.map_or(Duration::from_secs(RETRY_AFTER), |first| *time - first);
            if since >= Duration::from_secs(RETRY_AFTER) {
                (first, round) = (Some(*time), BTreeSet::new());
            }
            ensure!(
                round.insert(object) && (round.len() == 1 || since <= AT_ONCE),
                "asked for {RETRY_AFTER} s, it wrote {object} after {since:?}: {writes:?}"
            );
        }
        ensure!(writes.len() >= 6, "hardly anything was tried: {writes:?}");
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[tokio::test]
async fn errors_for_everything_leave_no_trace() -> Result<()> {
    fails_for(A_WHILE).await
}

#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
#[tokio::test]
async fn ten_minutes_of_errors_leave_no_trace() -> Result<()> {
    fails_for(Duration::from_secs(600)).await
}

async fn fails_for(span: Duration) -> Result<()> {
    World::run("api 503", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed
            .go_through(span, |bed| {
                bed.gate.on(Asked::is_list, Fault::Refuse(500));
                bed.gate.on(|_| true, Fault::Refuse(503));
            })
            .await?;
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn forgotten_versions_end_no_poll() -> Result<()> {
    World::run("api 410", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed
            .go_through(A_WHILE, |bed| {
                bed.gate.on(Asked::is_watch, Fault::ExpireAfter(Duration::from_secs(5)));
                bed.gate.on(Asked::is_further_page, Fault::Refuse(410));
                bed.gate.on(Asked::is_list, Fault::PagesOf(5));
            })
            .await?;
        let polls = bed.outside.count("GET");
        ensure!(polls >= 12 * 4, "only {polls} polls in {:?}", recovery.lasted);
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn answers_cut_off_or_garbled_are_asked_again() -> Result<()> {
    World::run("api garbled", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed
            .go_through(A_WHILE, |bed| {
                bed.gate.on(Asked::is_watch, Fault::Garble);
                bed.gate.on(Asked::is_list, Fault::CutAfter(2000));
                let objects = bed.objects();
                // The write takes effect, but its response is lost.
                bed.gate.on(move |asked| asked.uri.starts_with(&objects), Fault::CutAfter(300));
            })
            .await?;
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn slow_answers_change_nothing() -> Result<()> {
    World::run("api slow", async |world| {
        let mut bed = Bed::start(world).await?;
        // Below the 8 s after which a leader gives up its Lease.
        let recovery =
            bed.go_through(A_WHILE, |bed| bed.gate.on(|_| true, Fault::Late(Duration::from_secs(3)))).await?;
        bed.ensure_recovered(&recovery).await
    })
    .await
}
