//! The orphan collector, which removes our marks from objects that no target selects any more.
//!
//! Watches report such objects within their reach. For a removed target, the kind is listed. Each object is read live
//! and judged again right before the write, and only after every target of its kind has read its list. The schedule
//! decides when to look, and each program what to remove ([`Cleaner`]). Urgent work never waits for more than a page of
//! a list or one turn of looks.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};

use crate::cleanup::cleaner::{Cleaner, Stage, SweepSettings};
use crate::cleanup::context::CollectorContext;
use crate::cleanup::known::Judgement;
use crate::cleanup::schedule::{Duty, LookEnd, Schedule};
use crate::cleanup::selections::Selection;
use crate::cleanup::unused_notes::UnusedNotes;
use crate::client::KindName;
use crate::client::ResolvedKind;
use crate::client::{ObjectClient, ObjectPages, WriteError};
use crate::config::Configuration;
use crate::kinds::KindError;
use crate::process::clock;
use crate::subscriptions::Orphan;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, ObjectId};

/// Maximum attempts if the object changes concurrently.
const TRIES: usize = 3;

type Published = watch::Receiver<Arc<Configuration>>;

/// Removes a program's marks from objects, for one term of leadership.
pub struct Collector<C> {
    context: CollectorContext,
    objects: ObjectClient,
    cleaner: C,
    settings: SweepSettings,
    schedule: Schedule,
    /// The list of each stage that was begun. It stays due until it ends.
    listings: BTreeMap<Stage, Listing>,
    orphans: mpsc::UnboundedReceiver<Orphan>,
    ticks: BTreeMap<Stage, Mutex<Interval>>,
}

/// A list of one kind, read page by page.
struct Listing {
    name: KindName,
    pages: ObjectPages,
    unused: UnusedNotes,
}

/// Due looks at objects of one kind.
struct Looks {
    name: KindName,
    stage: Stage,
    ids: Vec<ObjectId>,
}

impl<C: Cleaner> Collector<C> {
    /// Creates a collector that receives orphans from now on.
    pub fn new(context: &CollectorContext, cleaner: C, settings: SweepSettings) -> Self {
        let ticks = |stage: Stage| {
            let mut ticks = tokio::time::interval(settings.pace(stage).spacing);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (stage, Mutex::new(ticks))
        };
        Self {
            // Only for reads. The cleaner does the writes.
            objects: ObjectClient::new(context.client.clone(), ""),
            orphans: context.watches.hear_of_orphans(),
            context: context.clone(),
            cleaner,
            settings,
            schedule: Schedule::new(settings),
            listings: BTreeMap::new(),
            ticks: settings.stages().map(ticks).collect(),
        }
    }

    /// Collects until the future is dropped.
    pub async fn run(mut self) {
        let mut configuration = self.context.configuration.clone();
        self.arrange(&configuration.borrow_and_update().clone());
        loop {
            let looks = tokio::select! {
                biased;
                changed = configuration.changed() => match changed {
                    Ok(()) => None,
                    Err(_) => return,
                },
                // An interrupted list stays due.
                looks = self.next_looks() => Some(looks),
            };
            match looks {
                Some(looks) => self.look(looks, &configuration).await,
                None => self.arrange(&configuration.borrow_and_update().clone()),
            }
        }
    }

    /// Lists due kinds until there are objects to look at.
    async fn next_looks(&mut self) -> Looks {
        loop {
            self.hear();
            let now = clock::now();
            let is_begun = |stage: &Stage| self.listings.contains_key(stage);
            let schedule = &mut self.schedule;
            let next = self.settings.stages().find_map(|stage| match is_begun(&stage) {
                true => Some((stage, None)),
                false => schedule.due(stage, now).map(|duty| (stage, Some(duty))),
            });
            match next {
                Some((stage, None)) => self.read_page(stage).await,
                Some((stage, Some(Duty::List(name, namespaces)))) => self.begin_list(name, stage, &namespaces).await,
                Some((stage, Some(Duty::Look(name, ids)))) => return Looks { name, stage, ids },
                None => self.rest().await,
            }
        }
    }

    fn arrange(&mut self, configuration: &Configuration) {
        self.listings.clear();
        if configuration.loaded {
            let noted = &self.context.noted;
            noted.arrange(configuration);
            noted.know(configuration, |known| self.schedule.arrange(known, clock::now()));
        }
    }

    /// Waits until something is due or an orphan is reported.
    async fn rest(&mut self) {
        let due = self.schedule.next_due();
        let wake = async {
            match due {
                Some(due) => tokio::time::sleep_until(clock::instant_of(due)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(orphan) = self.orphans.recv() => self.hear_of(&orphan),
            () = wake => {}
        }
    }

    fn hear(&mut self) {
        while let Ok(orphan) = self.orphans.try_recv() {
            self.hear_of(&orphan);
        }
    }

    /// Schedules an object without a target. One that left a selection is always scheduled, because a write may still
    /// be in flight.
    fn hear_of(&mut self, Orphan { kind, object, has_left }: &Orphan) {
        let from = self.settings.stages().find(|stage| *has_left || self.cleaner.is_marked(object, *stage));
        if let Some(from) = from {
            self.schedule.hear_of(kind, &object.id, from, *has_left, clock::now());
        }
    }

    async fn begin_list(&mut self, name: KindName, stage: Stage, namespaces: &[String]) {
        match self.locate(&name).await {
            Ok(kind) => {
                let pages = ObjectPages::new(&self.context.client, &kind, namespaces, labels());
                let unused = UnusedNotes::new(self.schedule.unproved(&name));
                self.listings.insert(stage, Listing { name, pages, unused });
            }
            // Its objects are gone with it, including all marks.
            Err(KindError::Missing { .. }) => self.end_list(&name, stage, "the kind is gone"),
            Err(error) => self.fail(&name, stage, "kind", &error),
        }
    }

    async fn read_page(&mut self, stage: Stage) {
        let Some(mut listing) = self.listings.remove(&stage) else { return };
        match listing.pages.next().await {
            Ok(Some(page)) => {
                page.iter().for_each(|object| self.take_listed(&mut listing, stage, object));
                self.listings.insert(stage, listing);
            }
            Ok(None) => {
                self.forget_unused(&listing.name, &listing.unused.end());
                self.end_list(&listing.name, stage, "listed where targets had objects");
            }
            Err(error) => self.fail(&listing.name, stage, "list", &error),
        }
    }

    fn take_listed(&mut self, Listing { name, unused, .. }: &mut Listing, stage: Stage, object: &LeanObject) {
        let judgement = self.context.know(|known| {
            unused.see(known, name, object, self.cleaner.needs_note(object));
            known.judge(name, object)
        });
        if self.cleaner.is_marked(object, stage) && matches!(judgement, Judgement::Left | Judgement::Undecided) {
            self.schedule.find(name, &object.id, stage, clock::now());
        }
    }

    /// Removes notes that a complete list proved unused. One that is held is in use.
    fn forget_unused(&mut self, name: &KindName, unused: &[Selection]) {
        if !unused.is_empty() {
            let targets: Vec<_> = unused.iter().map(|note| note.target.as_str()).collect();
            tracing::info!(kind = name.kind, ?targets, "former names or scopes of targets protect no object any more");
            self.context.noted.forget(unused);
            self.schedule.forget(name, unused);
        }
    }

    fn end_list(&mut self, name: &KindName, stage: Stage, how: &str) {
        tracing::info!(kind = name.kind, thing = stage.as_label(), how, "looked for what targets have left");
        self.schedule.end_list(name, stage);
        self.strike_out(name);
    }

    fn fail(&mut self, name: &KindName, stage: Stage, cause: &'static str, error: &dyn std::fmt::Display) {
        if self.schedule.fail(name, stage, cause, clock::now()) {
            tracing::warn!(kind = name.kind, cause = %error, "not cleaned up");
        }
    }

    fn strike_out(&mut self, name: &KindName) {
        let finished = self.schedule.finished(name);
        if !finished.is_empty() {
            let is_held = !self.context.noted.forget(&finished);
            self.schedule.strike_out(name, is_held, clock::now());
        }
    }

    async fn look(&mut self, Looks { name, stage, ids }: Looks, configuration: &Published) {
        let mut certain = Vec::new();
        for id in ids {
            match self.doubt(&name, &id) {
                Some(end) => _ = self.schedule.end_look(&name, &id.uid, end, clock::now()),
                None => certain.push(id),
            }
        }
        // A watch that lost sight of an object has reported it before.
        self.hear();
        certain.retain(|id| self.schedule.is_due(&name, &id.uid, clock::now()));
        if !certain.is_empty() {
            match self.locate(&name).await {
                Ok(kind) => self.clean_all(&name, stage, &kind, certain, configuration).await,
                Err(KindError::Missing { .. }) => {
                    for id in certain {
                        self.schedule.end_look(&name, &id.uid, LookEnd::Settled, clock::now());
                    }
                }
                Err(error) => self.fail(&name, stage, "kind", &error),
            }
        }
        self.strike_out(&name);
    }

    /// Returns the result of a look that needs no request. `None` if certainly no target selects the object.
    fn doubt(&self, name: &KindName, id: &ObjectId) -> Option<LookEnd> {
        let context = &self.context;
        let judgement = context.watches.step(|dispatch| {
            let told: Vec<Arc<str>> = dispatch.told(&id.uid).cloned().collect();
            context.know(|known| known.judge_by_watches(name, id, &told, |target| dispatch.is_listed(target)))
        });
        match judgement {
            Judgement::Selected => Some(LookEnd::Settled),
            Judgement::Undecided => Some(LookEnd::Undecided),
            Judgement::Unlisted => Some(LookEnd::Unripe),
            Judgement::Left | Judgement::Foreign => None,
        }
    }

    /// Cleans objects. Starts no further object after a change of the configuration or a failure of the kind.
    async fn clean_all(
        &mut self,
        name: &KindName,
        stage: Stage,
        kind: &ResolvedKind,
        ids: Vec<ObjectId>,
        configuration: &Published,
    ) {
        let Self { context, objects, cleaner, settings, schedule, ticks, .. } = self;
        let Some(ticks) = ticks.get(&stage) else { return };
        let look = &KindSweep { context, objects, cleaner, ticks, name, kind, stage };
        let ids: Vec<_> = ids.into_iter().map(|id| (schedule.is_first_look(name, &id.uid), id)).collect();
        let has_failed = &Cell::new(false);
        let may_go_on = || !has_failed.get() && configuration.has_changed().is_ok_and(|has_changed| !has_changed);
        let begun = ids.iter().take_while(|_| may_go_on());
        let looks = begun.map(|(is_first, id)| async move { (id, look.clean(id, *is_first).await) });
        let mut ends = futures::stream::iter(looks).buffer_unordered(settings.pace(stage).at_once);
        while let Some((id, end)) = ends.next().await {
            let told = end.as_ref().map_or_else(|error| LookEnd::Failed(error.as_label()), |end| *end);
            let is_news = schedule.end_look(name, &id.uid, told, clock::now());
            if let Err(error) = end
                && is_news
            {
                let (kind, namespace, object) = (&name.kind, id.namespace.as_deref(), &*id.name);
                tracing::warn!(kind, namespace, name = object, uid = &*id.uid, cause = %error, "not cleaned up");
            }
            has_failed.set(!schedule.is_ready(name, stage, clock::now()));
        }
    }

    /// Resolves the kind in a version that can be written.
    async fn locate(&self, name: &KindName) -> Result<ResolvedKind, KindError> {
        self.context.noted.all().locate(&self.context.client, name).await
    }
}

/// A sweep over objects of one kind.
struct KindSweep<'a, C> {
    context: &'a CollectorContext,
    objects: &'a ObjectClient,
    cleaner: &'a C,
    ticks: &'a Mutex<Interval>,
    name: &'a KindName,
    kind: &'a ResolvedKind,
    stage: Stage,
}

impl<C: Cleaner> KindSweep<'_, C> {
    /// Cleans an object if it still is an orphan.
    async fn clean(&self, id: &ObjectId, is_first_try: bool) -> Result<LookEnd, WriteError> {
        let Some(_busy) = self.context.under_way.begin(&id.uid) else { return Ok(LookEnd::Unripe) };
        for _ in 0..TRIES {
            self.ticks.lock().await.tick().await;
            let live = match self.objects.read(self.kind, id, &labels()).await {
                Ok(Some(live)) if self.cleaner.is_marked(&live, self.stage) => live,
                Ok(Some(_)) => return Ok(LookEnd::Cleaned),
                Ok(None) => return Ok(LookEnd::Settled),
                Err(error) => return self.failed(error),
            };
            match self.context.judge(self.name, &live) {
                Judgement::Left => {}
                Judgement::Unlisted => return Ok(LookEnd::Unripe),
                Judgement::Undecided => return Ok(LookEnd::Undecided),
                Judgement::Selected | Judgement::Foreign => return Ok(LookEnd::Settled),
            }
            match self.cleaner.clean(self.kind, live, self.stage, is_first_try).await {
                Ok(()) => {
                    self.context.cleaned.count(self.stage.as_label());
                    return Ok(LookEnd::Cleaned);
                }
                Err(WriteError::Gone) => return Ok(LookEnd::Settled),
                Err(WriteError::NotLeading) => return Ok(LookEnd::Unripe),
                Err(WriteError::Moved) => {}
                Err(error) => return self.failed(error),
            }
        }
        self.failed(WriteError::Moved)
    }

    fn failed(&self, error: WriteError) -> Result<LookEnd, WriteError> {
        self.context.cleaned.count(error.as_label());
        Err(error)
    }
}

/// Only the labels of an object are needed.
fn labels() -> FieldPaths {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    fields
}
