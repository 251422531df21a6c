//! Each program dies at every point between a read and a write, in every action, and the next one finishes the work.
//!
//! Each action first runs undisturbed. This gives the reached points and their counts, the writes, and the final state.
//! Then it runs once for each point, with a death there and a successor. The feature `long` plays all points. Without
//! it, one for each program and action is played.

mod actions;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::Exit;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::outside::Request;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use drift_kube::process::kill_point::KillPoint;

use actions::{Action, Bed, End};

/// SIGABRT, which ends an aborting process.
const ABORTED: Exit = Exit::Signal(6);

/// Maximum repetitions of one point within one action. A third death starts nothing that a second did not.
const MOST_TIMES: usize = 3;

/// A second without a write ends an action: the longest pause before a prompt or confirming poll.
const QUIET: Duration = Duration::from_secs(1);

/// A death: its point, and the number of passes through it.
type Death = (KillPoint, usize);

/// The record of a played action.
struct Played {
    end: End,
    /// Requests that change the external system.
    external: Vec<Request>,
    /// All requests, reads among them.
    requests: Vec<Request>,
    status_writes: u64,
    /// The reached points with their counts, in the undisturbed run.
    reached: Vec<(KillPoint, usize)>,
}

/// A program that dies repeatedly, with the other one beside it.
struct Play<'a> {
    bed: Bed<'a>,
    victim: Which,
    action: Action,
    /// Number of actions so far, which makes their names unique.
    number: usize,
}

impl<'a> Play<'a> {
    async fn begin(world: &'a World, victim: Which, action: Action) -> Result<Self> {
        let bed = Bed::lay(world).await?;
        match victim {
            Which::Poller => world.start_controller().await?,
            Which::Controller => world.start_poller().await?,
        };
        Ok(Self { bed, victim, action, number: 0 })
    }

    /// Plays the action once. A victim that dies gets a successor that lives.
    async fn play(&mut self, death: Option<Death>) -> Result<Played> {
        self.number += 1;
        let (world, action) = (self.bed.world, self.action);
        let name = if action.needs_both_before() {
            let helper = world.start(self.victim, self.named(Options::default(), "helper")).await?;
            let name = self.bed.prepare(action, self.number).await?;
            helper.stop().await?;
            name
        } else {
            self.bed.prepare(action, self.number).await?
        };
        let (writes, requests) = (world.writes().await?, self.bed.outside.requests().len());
        self.bed.set_off(action, &name, self.number).await?;
        if let Some(death) = death {
            self.die(death, &name).await?;
        }
        let survivor = world.start(self.victim, self.named(Options::logging_kill_points(), "survivor")).await?;
        self.bed.wait_for_rest(action, &name).await?;
        self.wait_for_quiet().await?;
        let end = self.bed.wait_for_rest(action, &name).await?;
        if death.is_none() {
            self.wait_until_all_is_reached(&survivor).await?;
        }
        let requests = self.bed.outside.requests().split_off(requests);
        let external = requests.iter().filter(|request| request.method != "GET").cloned().collect();
        let status_writes = (world.writes().await? - writes).status;
        let reached = reached(&survivor, self.victim)?;
        survivor.stop().await?;
        Ok(Played { end, external, requests, status_writes, reached })
    }

    /// Starts a victim that dies. A repeated point may be reached once less.
    async fn die(&self, (point, time): Death, name: &str) -> Result<()> {
        let options = Options::dying_at(point, u32::try_from(time)?);
        let victim = self.bed.world.start(self.victim, self.named(options, "victim")).await?;
        let finished = async {
            self.bed.wait_for_rest(self.action, name).await?;
            self.wait_for_quiet().await
        };
        let exit = tokio::select! {
            exit = victim.wait_until_ended() => exit?,
            finished = finished, if time > 1 => {
                finished?;
                victim.stop().await?;
                return Ok(());
            }
        };
        ensure!(exit == ABORTED, "it was to abort, and ended with {exit}");
        let reached = victim.times_reached(point)?;
        ensure!(reached == time, "{} was reached {reached} times before the death at {time}", point.as_str());
        self.bed.world.clear_lease(self.victim.name()).await
    }

    /// Waits until the log reports every point of the action. The last one follows the visible result.
    async fn wait_until_all_is_reached(&self, survivor: &Program) -> Result<()> {
        wait::until("every point of the action to be reached", wait::DEADLINE, async || {
            let reached = reached(survivor, self.victim)?;
            let mut points = points_of(self.victim, self.action).into_iter();
            let missing = points.find(|point| reached.iter().all(|(found, _)| found != point));
            Ok(missing.map_or(Seen::Met(()), |point| Seen::Instead(format!("not {}", point.as_str()))))
        })
        .await
    }

    fn named(&self, options: Options, part: &str) -> Options {
        options.named(format!("{}-{}-{part}", self.victim.name(), self.number))
    }

    async fn wait_for_quiet(&self) -> Result<()> {
        let world = self.bed.world;
        wait::until("a second without a write", wait::DEADLINE, async || {
            let before = (world.writes().await?, self.bed.outside.requests().len());
            tokio::time::sleep(QUIET).await;
            let after = (world.writes().await?, self.bed.outside.requests().len());
            Ok(if before == after { Seen::Met(()) } else { Seen::Instead(format!("{before:?}, then {after:?}")) })
        })
        .await
    }
}

fn reached(program: &Program, which: Which) -> Result<Vec<(KillPoint, usize)>> {
    let mut reached = Vec::new();
    for point in which.kill_points() {
        let times = program.times_reached(*point)?;
        if times > 0 {
            reached.push((*point, times));
        }
    }
    Ok(reached)
}

/// Checks the end, and the number of writes beyond those of the undisturbed run.
fn compare(undisturbed: &Played, disturbed: &Played) -> Result<()> {
    ensure!(disturbed.end == undisturbed.end, "it ended as {:?} instead of {:?}", disturbed.end, undisturbed.end);
    let external = disturbed.external.len().saturating_sub(undisturbed.external.len());
    ensure!(external <= 1, "{external} further writes outside: {:#?}", disturbed.external);
    ensure_no_blind_repetition(&disturbed.requests)?;
    let status = disturbed.status_writes.saturating_sub(undisturbed.status_writes);
    ensure!(status <= MOST_STATUS_WRITES, "{status} further status writes");
    Ok(())
}

/// Additional status writes that a death may cause: the note of an interrupted correction, the verdict of the next poll,
/// and the record before a repeated create.
const MOST_STATUS_WRITES: u64 = 3;

/// Checks that a repeated write has the same idempotency key or follows a read.
fn ensure_no_blind_repetition(requests: &[Request]) -> Result<()> {
    let key = |request: &Request| request.header("idempotency-key").map(str::to_owned);
    for (index, request) in requests.iter().enumerate().filter(|(_, request)| request.method != "GET") {
        ensure!(key(request).is_some(), "no idempotency key: {request:?}");
        let same = |other: &Request| {
            (&other.method, &other.path, &other.body) == (&request.method, &request.path, &request.body)
        };
        let before = requests.get(..index).unwrap_or_default();
        let Some(first) = before.iter().rposition(same) else { continue };
        let looked = before.iter().skip(first).any(|between| between.method == "GET");
        ensure!(looked || before.get(first).and_then(key) == key(request), "sent again blindly: {request:?}");
    }
    Ok(())
}

/// Returns the deaths to play: all points of the undisturbed run, or one representative.
fn deaths(undisturbed: &Played, representative: KillPoint) -> Vec<Death> {
    if !cfg!(feature = "long") {
        return vec![(representative, 1)];
    }
    let times =
        |(point, times): &(KillPoint, usize)| (1..=(*times).min(MOST_TIMES)).map(|time| (*point, time)).collect();
    undisturbed.reached.iter().flat_map(|reached| -> Vec<Death> { times(reached) }).collect()
}

/// Plays an action with every death of one program.
async fn play_all(victim: Which, action: Action, representative: KillPoint) -> Result<()> {
    let label = format!("{} dies in {}", victim.name(), action.as_str());
    World::run(&label, async |world| {
        let mut play = Play::begin(world, victim, action).await?;
        let undisturbed = play.play(None).await.context("undisturbed")?;
        let expected: BTreeSet<&str> = points_of(victim, action).iter().map(|point| point.as_str()).collect();
        let reached: BTreeSet<&str> = undisturbed.reached.iter().map(|(point, _)| point.as_str()).collect();
        ensure!(reached == expected, "the points of this action are {expected:?}, and it came by {reached:?}");
        for (point, time) in deaths(&undisturbed, representative) {
            let place = format!("killed at {}#{time}", point.as_str());
            let disturbed = play.play(Some((point, time))).await.with_context(|| place.clone())?;
            compare(&undisturbed, &disturbed).context(place)?;
        }
        Ok(())
    })
    .await
}

/// Returns the points of an action. A test at the end checks that all actions together cover every point.
fn points_of(victim: Which, action: Action) -> Vec<KillPoint> {
    use KillPoint as At;
    let poller = [At::PollerAfterLease, At::PollerBeforeActive, At::PollerAfterActive];
    let polls = [At::PollerBeforeRead, At::PollerAfterRead, At::PollerBeforeCondition, At::PollerAfterCondition];
    let controller = [At::ControllerAfterLease, At::ControllerAfterLiveRead];
    let finalizer = [At::ControllerBeforeFinalizer, At::ControllerAfterFinalizer];
    let claim = [At::ControllerBeforeClaim, At::ControllerAfterClaim];
    let steps = [At::ControllerBeforeStep, At::ControllerAfterStep];
    let note = [At::ControllerBeforeNote, At::ControllerAfterNote];
    let release = [At::ControllerBeforeRelease, At::ControllerAfterRelease];
    match (victim, action) {
        (Which::Poller, Action::Delete | Action::Release | Action::LetGo) => poller.to_vec(),
        (Which::Poller, _) => [&poller[..], &polls].concat(),
        (Which::Controller, Action::Create | Action::Adopt) => {
            [&controller[..], &finalizer, &claim, &steps, &note].concat()
        }
        (Which::Controller, Action::Update) => [&controller[..], &steps, &note].concat(),
        (Which::Controller, Action::Delete) => [&controller[..], &steps, &release].concat(),
        (Which::Controller, Action::Release | Action::LetGo) => [&controller[..], &release].concat(),
    }
}

#[test]
fn every_kill_point_is_reached_by_some_action() {
    use Action::{Adopt, Create, Delete, LetGo, Release, Update};
    for which in [Which::Poller, Which::Controller] {
        let reached = [Create, Update, Delete, Adopt, Release, LetGo].map(|action| points_of(which, action)).concat();
        for point in which.kill_points() {
            assert!(reached.contains(point), "no action comes by {}", point.as_str());
        }
    }
}

#[tokio::test]
async fn a_controller_that_dies_creating_is_succeeded() -> Result<()> {
    play_all(Which::Controller, Action::Create, KillPoint::ControllerAfterStep).await
}

#[tokio::test]
async fn a_controller_that_dies_updating_is_succeeded() -> Result<()> {
    play_all(Which::Controller, Action::Update, KillPoint::ControllerAfterStep).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_controller_that_dies_deleting_is_succeeded() -> Result<()> {
    play_all(Which::Controller, Action::Delete, KillPoint::ControllerAfterStep).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_controller_that_dies_adopting_is_succeeded() -> Result<()> {
    play_all(Which::Controller, Action::Adopt, KillPoint::ControllerAfterClaim).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_controller_that_dies_releasing_is_succeeded() -> Result<()> {
    play_all(Which::Controller, Action::Release, KillPoint::ControllerBeforeRelease).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_poller_dies_during_a_creation() -> Result<()> {
    play_all(Which::Poller, Action::Create, KillPoint::PollerAfterCondition).await
}

#[tokio::test]
async fn a_poller_dies_during_an_update() -> Result<()> {
    play_all(Which::Poller, Action::Update, KillPoint::PollerBeforeCondition).await
}
