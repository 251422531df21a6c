//! Asks the targets at work about their objects, for people.
//!
//! Nothing is kept for people who may never look: each target looks at its objects when it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use drift_api::timing::moment::Moment;
use futures::future::join_all;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::process::clock;

/// Time between two questions, whoever asks: with a hundred thousand objects an answer takes milliseconds, and people who
/// look must not slow polls.
const PAUSE: Duration = Duration::from_millis(250);
/// The time that an answer may take. A target that is busier than that is shown without its objects.
const PATIENCE: Duration = Duration::from_secs(1);
/// Questions that wait for a target: one is asked at a time, and one may have been given up.
const WAITING: usize = 2;
/// People who wait for an answer at once; more are sent away, since each answer is some hundred kilobytes.
const MOST_WAITING: usize = 8;

/// A question, and where the answer goes.
#[derive(Debug)]
pub struct Asked<Q, A> {
    /// The query.
    pub question: Arc<Q>,
    /// The channel for the answer. The caller may be gone.
    pub answer: oneshot::Sender<A>,
}

impl<Q, A> Asked<Q, A> {
    /// Answers, unless whoever asked has gone.
    pub fn answer_with(self, find: impl FnOnce(&Q) -> A) {
        if !self.answer.is_closed() {
            // Who goes meanwhile misses nothing.
            _ = self.answer.send(find(&self.question));
        }
    }
}

/// More people wait for an answer than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many look at once")]
pub struct Crowded;

impl IntoResponse for Crowded {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, format!("{self}\n")).into_response()
    }
}

type Targets<Q, A> = BTreeMap<String, mpsc::Sender<Asked<Q, A>>>;
/// What the targets said, by name.
pub type Answers<A> = Arc<BTreeMap<String, A>>;

/// The last question.
#[derive(Debug)]
struct Last<Q, A> {
    at: Moment,
    question: Arc<Q>,
    /// `None` until it is answered, and where whoever asked gave up.
    answers: Option<Answers<A>>,
}

/// The targets at work. Clones share them.
#[derive(Debug)]
pub struct Board<Q, A> {
    targets: Arc<Mutex<Targets<Q, A>>>,
    /// Locked while one is asked.
    last: Arc<tokio::sync::Mutex<Option<Last<Q, A>>>>,
    waiting: Arc<Semaphore>,
}

impl<Q, A> Clone for Board<Q, A> {
    fn clone(&self) -> Self {
        Self { targets: self.targets.clone(), last: self.last.clone(), waiting: self.waiting.clone() }
    }
}

impl<Q, A> Default for Board<Q, A> {
    fn default() -> Self {
        Self { targets: Arc::default(), last: Arc::default(), waiting: Arc::new(Semaphore::new(MOST_WAITING)) }
    }
}

impl<Q: PartialEq, A> Board<Q, A> {
    /// A target is at work from now on, until it drops what this gives.
    #[must_use]
    pub fn join(&self, target: &str) -> mpsc::Receiver<Asked<Q, A>> {
        let (sender, questions) = mpsc::channel(WAITING);
        self.targets().insert(target.to_owned(), sender);
        questions
    }

    /// What the targets say, of those that are at work and answer in time. Who asks the same as somebody a moment ago gets
    /// the same.
    ///
    /// # Errors
    /// When too many people wait already.
    pub async fn ask(&self, question: Q) -> Result<Answers<A>, Crowded> {
        let _waiting = self.waiting.try_acquire().map_err(|_| Crowded)?;
        let question = Arc::new(question);
        let mut last = self.last.lock().await;
        if let Some(known) = &*last {
            if known.question == question
                && clock::now() - known.at < PAUSE
                && let Some(answers) = &known.answers
            {
                return Ok(answers.clone());
            }
            tokio::time::sleep_until(clock::instant_of(known.at + PAUSE)).await;
        }
        // Before anybody is asked: whoever gives up in the middle leaves the pause behind.
        *last = Some(Last { at: clock::now(), question: question.clone(), answers: None });
        let answers = Arc::new(self.ask_all(&question).await);
        *last = Some(Last { at: clock::now(), question, answers: Some(answers.clone()) });
        Ok(answers)
    }

    async fn ask_all(&self, question: &Arc<Q>) -> BTreeMap<String, A> {
        let mut asked = Vec::new();
        self.targets().retain(|name, target| {
            let (answer, answered) = oneshot::channel();
            let is_taken = target.try_send(Asked { question: question.clone(), answer }).is_ok();
            asked.extend(is_taken.then(|| (name.clone(), answered)));
            !target.is_closed()
        });
        let waits = asked.into_iter().map(|(name, answered)| async {
            let answer = tokio::time::timeout(PATIENCE, answered).await;
            answer.ok()?.ok().map(|answer| (name, answer))
        });
        join_all(waits).await.into_iter().flatten().collect()
    }

    fn targets(&self) -> MutexGuard<'_, Targets<Q, A>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A target that answers with how often it was asked.
    async fn answer(mut questions: mpsc::Receiver<Asked<u8, usize>>) {
        let mut count = 0;
        while let Some(asked) = questions.recv().await {
            count += 1;
            _ = asked.answer.send(count);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_who_answers_in_time_is_shown() {
        let board = Board::default();
        let willing = board.join("willing");
        let _busy = board.join("busy");
        drop(board.join("gone"));
        let asking = async {
            let begun = clock::now();
            let answers = board.ask(1).await.unwrap();
            assert_eq!((&*answers, clock::now() - begun), (&BTreeMap::from([("willing".to_owned(), 1)]), PATIENCE));
            assert_eq!(board.targets().len(), 2, "who is gone is not asked again");
        };
        tokio::select! {
            () = asking => {}
            () = answer(willing) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_looks_slows_no_target() {
        let board = Board::default();
        let willing = board.join("willing");
        let asking = async {
            let begun = clock::now();
            let first = board.ask(1).await.unwrap();
            let again = board.ask(1).await.unwrap();
            assert!(Arc::ptr_eq(&first, &again), "the same question a moment later asks nobody");
            assert_eq!(board.ask(2).await.unwrap()["willing"], 2);
            assert_eq!(clock::now() - begun, PAUSE, "another one waits");
            // Who gives up in the middle.
            for _ in 0..3 {
                _ = tokio::time::timeout(Duration::from_millis(1), board.ask(3)).await;
            }
            assert_eq!(board.ask(4).await.unwrap()["willing"], 3, "who gives up before the pause is over asks nobody");
            let crowd: Vec<_> =
                (0..=MOST_WAITING).map(|number| board.ask(10 + u8::try_from(number).unwrap())).collect();
            assert_eq!(join_all(crowd).await.iter().filter(|answers| answers.is_err()).count(), 1);
        };
        tokio::select! {
            () = asking => {}
            () = answer(willing) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_leaves_the_pause_behind() {
        let board = Board::<u8, usize>::default();
        let mut busy = board.join("busy");
        for number in 0..3 {
            _ = tokio::time::timeout(Duration::from_millis(1), board.ask(number)).await;
        }
        let asked = std::iter::from_fn(|| busy.try_recv().ok()).collect::<Vec<_>>();
        assert!(matches!(&asked[..], [first] if *first.question == 0 && first.answer.is_closed()), "{asked:?}");
    }
}
