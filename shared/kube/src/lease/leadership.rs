//! The holder's view of its Lease, and the annotations that it writes.
//!
//! Every action checks it first. The answer comes from the current clock, not from the progress of a task: after a
//! process was stopped, its tasks do not know about the time in between.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::lease::rules::{STEP_DOWN_AFTER, holds};
use crate::process::clock;
use crate::process::tasks::LONG_LIFE;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;

/// One term, in which we hold the Lease.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The start of the term.
    pub(super) began: Moment,
    /// The start time of the last successful renewal.
    pub(super) renewed: Moment,
    pub(super) ended: CancellationToken,
    /// The annotations of the Lease when we took it.
    pub(super) found: Arc<BTreeMap<String, String>>,
}

/// The holder's view of its Lease. Cheap to clone. Checked before every action.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub(super) term: watch::Receiver<Option<Term>>,
}

impl Leadership {
    /// Returns the view of a Lease that is never held, with which nothing is ever written.
    #[must_use]
    pub fn never_held() -> Self {
        Self { term: watch::channel(None).1 }
    }

    /// Returns true if we hold the Lease now, by the clock and not by the progress of a task.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.renewed_within(STEP_DOWN_AFTER)
    }

    /// Returns true if we hold it and renewed it within `age`.
    #[must_use]
    pub fn renewed_within(&self, age: Duration) -> bool {
        let now = clock::now();
        self.term.borrow().as_ref().is_some_and(|term| holds(term.renewed, now) && now - term.renewed <= age)
    }

    /// Returns how long we have held it, or `None` if we do not.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        let now = clock::now();
        let term = self.term.borrow();
        term.as_ref().filter(|term| holds(term.renewed, now)).map(|term| now.saturating_since(term.began))
    }

    /// Waits until we hold the Lease. Returns a token that is cancelled at the end of the term.
    pub async fn acquired(&self) -> CancellationToken {
        let mut term = self.term.clone();
        let held = |term: &Option<Term>| term.as_ref().is_some_and(|term| holds(term.renewed, clock::now()));
        let ended = term.wait_for(held).await.ok().and_then(|term| term.as_ref().map(|term| term.ended.clone()));
        match ended {
            Some(ended) => ended,
            // The lease task has ended, so it will never be held again.
            None => std::future::pending().await,
        }
    }

    /// Runs `work` in each of our terms until `stop`. If it ends during a term, it has failed and is restarted after a
    /// growing pause. It then reads everything anew.
    pub async fn in_each_term(&self, stop: &CancellationToken, mut work: impl AsyncFnMut(CancellationToken)) {
        let mut backoff = Backoff::new(Series::TASK_ENDED);
        while !stop.is_cancelled() {
            let (term, began) = tokio::select! {
                () = stop.cancelled() => return,
                term = self.acquired() => (term, clock::now()),
            };
            work(term.clone()).await;
            if clock::now().is_past(began, LONG_LIFE) {
                backoff.reset();
            }
            if !term.is_cancelled() && !stop.is_cancelled() {
                let pause = backoff.fail(clock::now());
                tracing::error!(pause = ?pause, "the work of this term ended by itself; it is started again");
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Returns the annotations of the Lease when we took it: the notes of the last holder. Empty if it is not held.
    #[must_use]
    pub fn found_annotations(&self) -> Arc<BTreeMap<String, String>> {
        self.term.borrow().as_ref().map(|term| Arc::clone(&term.found)).unwrap_or_default()
    }
}

/// Writes annotations to the Lease on drop.
struct AnnotatedOnDrop<'h, F: Fn() -> BTreeMap<String, String>>(&'h LeaseHandle, F);

impl<F: Fn() -> BTreeMap<String, String>> Drop for AnnotatedOnDrop<'_, F> {
    fn drop(&mut self) {
        self.0.annotate((self.1)());
    }
}

/// The holder's handle of a Lease. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LeaseHandle {
    pub(super) leadership: Leadership,
    pub(super) wanted: watch::Sender<BTreeMap<String, String>>,
    pub(super) written: watch::Receiver<BTreeMap<String, String>>,
}

impl LeaseHandle {
    /// Returns the leadership of this process.
    #[must_use]
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Sets these annotations on the Lease. They are written within about 100 ms and with every renewal. Other
    /// annotations stay, including those that were set here before. Returns false, and does nothing, outside of a term.
    ///
    /// The clock does not matter here. After a process was stopped, the term continues if the response to a renewal is
    /// waiting to be read. Otherwise nothing is written, and the next term begins without these annotations.
    pub fn annotate(&self, annotations: BTreeMap<String, String>) -> bool {
        let has_term = self.leadership.term.borrow().is_some();
        if has_term {
            self.wanted.send_if_modified(|wanted| {
                let before = wanted.clone();
                wanted.extend(annotations);
                *wanted != before
            });
        }
        has_term
    }

    /// Writes the annotations of a list after each change, and those of an empty list on drop. The Lease is renewed
    /// while the work of a term pauses, and must not attest work that is not done.
    pub async fn keep_list<T: Default>(
        &self,
        mut list: watch::Receiver<T>,
        annotations: impl Fn(&T) -> BTreeMap<String, String>,
    ) {
        let _emptied = AnnotatedOnDrop(self, || annotations(&T::default()));
        loop {
            let wanted = annotations(&list.borrow_and_update());
            self.annotate(wanted);
            if list.changed().await.is_err() {
                return;
            }
        }
    }

    /// Sets one annotation like [`LeaseHandle::annotate`], and waits until it is on the Lease. A crash cannot lose it
    /// after that. Waits on while the Lease cannot be written, or is not held.
    pub async fn put(&self, name: &str, value: &str) {
        self.annotate(BTreeMap::from([(name.to_owned(), value.to_owned())]));
        let mut written = self.written.clone();
        let stands = |written: &BTreeMap<String, String>| written.get(name).is_some_and(|stands| stands == value);
        if written.wait_for(stands).await.is_err() {
            // The lease task has ended, so it will never be written.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn one(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("attested-targets".to_owned(), text.to_owned())])
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_during_a_renewal_is_not_lost() {
        let term =
            Term { began: clock::now(), renewed: clock::now(), ended: CancellationToken::new(), found: Arc::default() };
        let (terms, term) = watch::channel(Some(term));
        let (wanted, said) = watch::channel(BTreeMap::new());
        let (_written, written) = watch::channel(BTreeMap::new());
        let handle = LeaseHandle { leadership: Leadership { term }, wanted, written };
        // The process was stopped, and this runs before the lease task, whose term continues.
        tokio::time::advance(STEP_DOWN_AFTER).await;
        assert!(!handle.leadership().is_held() && handle.leadership().held_for().is_none());
        assert!(handle.annotate(one("{}")));
        terms.send_modify(|term| term.as_mut().unwrap().renewed = clock::now());
        assert_eq!(handle.leadership().held_for(), Some(STEP_DOWN_AFTER), "the term goes on");
        assert_eq!(*said.borrow(), one("{}"));
        terms.send_replace(None);
        assert!(!handle.annotate(one("{a}")));
        assert_eq!(*said.borrow(), one("{}"));
    }
}
