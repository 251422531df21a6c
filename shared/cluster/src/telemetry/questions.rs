//! Asks the targets at work about their objects, for people.
//!
//! Nothing is kept for people who may never look: each target looks at its objects when it is asked. It must not know
//! what is asked, nor what is done with the answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_model::moment::Moment;
use futures::future::join_all;
use tokio::sync::{mpsc, oneshot};

use crate::process::clock;

/// Time between two questions, whoever asks: with a hundred thousand objects an answer takes milliseconds, and people who
/// look must not slow polls.
const PAUSE: Duration = Duration::from_millis(250);
/// How long an answer may take. A target that is busier than that is shown without its objects.
const PATIENCE: Duration = Duration::from_secs(2);
/// Questions that wait for a target: one is asked at a time, and one may have been given up.
const WAITING: usize = 2;

/// A question, and where the answer goes.
#[derive(Debug)]
pub struct Asked<Q, A> {
    /// What is asked.
    pub question: Arc<Q>,
    /// Whoever asked may be gone.
    pub answer: oneshot::Sender<A>,
}

type Targets<Q, A> = BTreeMap<String, mpsc::Sender<Asked<Q, A>>>;

/// The targets at work. Clones share them.
#[derive(Debug)]
pub struct Board<Q, A> {
    targets: Arc<Mutex<Targets<Q, A>>>,
    /// When the last question was answered; locked while one is asked.
    last: Arc<tokio::sync::Mutex<Option<Moment>>>,
}

impl<Q, A> Clone for Board<Q, A> {
    fn clone(&self) -> Self {
        Self { targets: self.targets.clone(), last: self.last.clone() }
    }
}

impl<Q, A> Default for Board<Q, A> {
    fn default() -> Self {
        Self { targets: Arc::default(), last: Arc::default() }
    }
}

impl<Q, A> Board<Q, A> {
    /// A target is at work from now on, until it drops what this gives.
    #[must_use]
    pub fn join(&self, target: &str) -> mpsc::Receiver<Asked<Q, A>> {
        let (sender, questions) = mpsc::channel(WAITING);
        self.targets().insert(target.to_owned(), sender);
        questions
    }

    /// What the targets say, by name, of those that are at work and answer in time.
    pub async fn ask(&self, question: Q) -> BTreeMap<String, A> {
        let mut last = self.last.lock().await;
        if let Some(last) = *last {
            tokio::time::sleep_until(clock::instant_of(last + PAUSE)).await;
        }
        let question = Arc::new(question);
        let mut answers = Vec::new();
        self.targets().retain(|name, target| {
            let (answer, answered) = oneshot::channel();
            let asked = target.try_send(Asked { question: question.clone(), answer });
            answers.extend(asked.is_ok().then(|| (name.clone(), answered)));
            !target.is_closed()
        });
        let waits = answers.into_iter().map(|(name, answered)| async {
            let answer = tokio::time::timeout(PATIENCE, answered).await;
            answer.ok()?.ok().map(|answer| (name, answer))
        });
        let found = join_all(waits).await.into_iter().flatten().collect();
        *last = Some(clock::now());
        found
    }

    fn targets(&self) -> MutexGuard<'_, Targets<Q, A>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_who_answers_in_time_is_shown() {
        let board = Board::<(), ()>::default();
        let mut willing = board.join("willing");
        let _busy = board.join("busy");
        drop(board.join("gone"));
        let answering = async {
            while let Some(asked) = willing.recv().await {
                _ = asked.answer.send(());
            }
        };
        let asking = async {
            let begun = clock::now();
            let names = board.ask(()).await.into_keys().collect::<Vec<_>>();
            assert_eq!((names, clock::now() - begun), (vec!["willing".to_owned()], PATIENCE));
            assert_eq!(board.targets().len(), 2, "who is gone is not asked again");
            board.ask(()).await;
            assert_eq!(clock::now() - begun, PATIENCE + PAUSE + PATIENCE);
        };
        tokio::select! {
            () = asking => {}
            () = answering => {}
        }
    }
}
