//! The holder's view of its Lease, and the annotations it writes.
//!
//! Everybody who is about to act asks here. The answer comes from the clock at that moment, not from what a task got round to, since
//! a process that was stopped and goes on has tasks that know nothing of the time between.

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

/// One time that we hold the Lease.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The time at which we first held it.
    pub(super) began: Moment,
    /// The time at which the last successful renewal began.
    pub(super) renewed: Moment,
    pub(super) ended: CancellationToken,
    /// The annotations that stood on the Lease when we took it.
    pub(super) found: Arc<BTreeMap<String, String>>,
}

/// The holder's view of its Lease. Cheap to clone; read before every act.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub(super) term: watch::Receiver<Option<Term>>,
}

impl Leadership {
    /// Of a Lease that is never held: with it nothing is ever written.
    #[must_use]
    pub fn never_held() -> Self {
        Self { term: watch::channel(None).1 }
    }

    /// Returns true if we hold the Lease now, by the clock and not by what any task got round to.
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

    /// For how long we have held it by now; `None` where we do not.
    #[must_use]
    pub fn held_for(&self) -> Option<Duration> {
        let now = clock::now();
        let term = self.term.borrow();
        term.as_ref().filter(|term| holds(term.renewed, now)).map(|term| now.saturating_since(term.began))
    }

    /// Waits until we hold the Lease; gives a token that is cancelled as soon as we do not any more.
    pub async fn acquired(&self) -> CancellationToken {
        let mut term = self.term.clone();
        let held = |term: &Option<Term>| term.as_ref().is_some_and(|term| holds(term.renewed, clock::now()));
        let ended = term.wait_for(held).await.ok().and_then(|term| term.as_ref().map(|term| term.ended.clone()));
        match ended {
            Some(ended) => ended,
            // The lease task has ended: it will never be held again.
            None => std::future::pending().await,
        }
    }

    /// Does `work` in each term that we hold the Lease, until `stop`. Work that ends while the term lasts has failed, and is begun again
    /// after a growing pause: it reads everything anew.
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

    /// The annotations that stood on the Lease when we took it: what the last holder noted. Empty where it is not held.
    #[must_use]
    pub fn found_annotations(&self) -> Arc<BTreeMap<String, String>> {
        self.term.borrow().as_ref().map(|term| Arc::clone(&term.found)).unwrap_or_default()
    }
}

/// Sets annotations on the Lease when it is dropped.
struct AnnotatedOnDrop<'h, F: Fn() -> BTreeMap<String, String>>(&'h LeaseHandle, F);

impl<F: Fn() -> BTreeMap<String, String>> Drop for AnnotatedOnDrop<'_, F> {
    fn drop(&mut self) {
        self.0.annotate((self.1)());
    }
}

/// The holder's side of a Lease. Cheap to clone.
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

    /// Sets these annotations on the Lease: written within about 100 ms and with every renewal. Others, also those that
    /// were set here before, stay. False, and nothing is done, where no term of ours goes on.
    ///
    /// The clock does not matter here: where a process stood still, the term goes on if the answer to a renewal waits to be
    /// read. Where it does not, nothing is written, and the next term begins without what was said in this one.
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

    /// Writes the annotations of a list whenever it changes, and those of an empty list when this is dropped: the Lease is renewed
    /// while the work of a term pauses, and must not attest what nobody does.
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

    /// As [`LeaseHandle::annotate`] with one annotation, and waits until it stands on the Lease: whoever writes afterwards
    /// what it speaks of cannot be forgotten by a crash. Waits on while the Lease cannot be written, or is not held.
    pub async fn put(&self, name: &str, value: &str) {
        self.annotate(BTreeMap::from([(name.to_owned(), value.to_owned())]));
        let mut written = self.written.clone();
        let stands = |written: &BTreeMap<String, String>| written.get(name).is_some_and(|stands| stands == value);
        if written.wait_for(stands).await.is_err() {
            // The lease task has ended: it will never be written.
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
        // The process stood still, and this runs before the task of the Lease, whose term goes on.
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
