//! One task for each active target: started when the target appears, replaced after an edit, restarted if
//! it ends unexpectedly.
//!
//! A target whose task fails must not affect others.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::config::Configuration;
use crate::process::clock;
use crate::process::tasks::LONG_LIFE;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_language::Target;

/// Runs `start(target, stop)` for each active target until `stop`, then waits for all of them to end.
pub async fn supervise<S, F>(mut configuration: watch::Receiver<Arc<Configuration>>, stop: CancellationToken, start: S)
where
    S: Fn(Arc<Target>, CancellationToken) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut supervisor = Supervisor {
        start,
        tasks: JoinSet::new(),
        children: BTreeMap::new(),
        names: HashMap::new(),
        stop: stop.clone(),
    };
    loop {
        let targets = configuration.borrow_and_update().targets.clone();
        supervisor.arrange(&targets);
        let restart = supervisor.next_restart();
        tokio::select! {
            () = stop.cancelled() => break,
            changed = configuration.changed() => if changed.is_err() { break },
            Some(ended) = supervisor.tasks.join_next_with_id(), if !supervisor.tasks.is_empty() => supervisor.note_end(ended),
            () = tokio::time::sleep_until(clock::instant_of(restart)) => {}
        }
    }
    supervisor.children.values().for_each(|child| child.stop.cancel());
    while supervisor.tasks.join_next().await.is_some() {}
}

struct Supervisor<S> {
    start: S,
    tasks: JoinSet<()>,
    children: BTreeMap<String, Child>,
    names: HashMap<Id, String>,
    stop: CancellationToken,
}

/// The state of one target's task.
struct Child {
    hash: String,
    stop: CancellationToken,
    task: Option<Id>,
    began: Moment,
    backoff: Backoff,
}

impl<S, F> Supervisor<S>
where
    S: Fn(Arc<Target>, CancellationToken) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    fn arrange(&mut self, targets: &BTreeMap<String, Arc<Target>>) {
        let now = clock::now();
        self.children.retain(|name, child| {
            let stays = targets.get(name).is_some_and(|target| target.document_hash == child.hash);
            if !stays {
                child.stop.cancel();
            }
            // A replaced task ends before its successor starts, so that two tasks never race on one target.
            stays || child.task.is_some()
        });
        for (name, target) in targets {
            let child = self.children.get(name);
            let due = child.is_none_or(|child| child.task.is_none() && child.backoff.ready_at() <= now);
            let backoff = child.map_or_else(|| Backoff::new(Series::TASK_ENDED), |child| child.backoff);
            if due {
                self.begin(name, target, backoff);
            }
        }
    }

    fn begin(&mut self, name: &str, target: &Arc<Target>, backoff: Backoff) {
        let stop = self.stop.child_token();
        let task = self.tasks.spawn((self.start)(target.clone(), stop.clone())).id();
        self.names.insert(task, name.to_owned());
        let child = Child { hash: target.document_hash.clone(), stop, task: Some(task), began: clock::now(), backoff };
        self.children.insert(name.to_owned(), child);
    }

    fn note_end(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let Some(name) = self.names.remove(&id) else { return };
        let Some(child) = self.children.get_mut(&name).filter(|child| child.task == Some(id)) else { return };
        child.task = None;
        if child.stop.is_cancelled() {
            self.children.remove(&name);
            return;
        }
        let now = clock::now();
        if now - child.began >= LONG_LIFE {
            child.backoff.reset();
        }
        child.backoff.fail(now);
        tracing::error!(target = name, panicked = ended.is_err(), "the task of this target ended; it is started again");
    }

    fn next_restart(&self) -> Moment {
        let waiting = self.children.values().filter(|child| child.task.is_none()).map(|child| child.backoff.ready_at());
        waiting.min().unwrap_or_else(|| clock::now() + Series::TASK_ENDED.longest)
    }
}
