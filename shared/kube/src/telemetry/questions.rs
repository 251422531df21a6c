//! Queries from the status pages to the running targets.
//!
//! Targets keep no data for the pages. Each target inspects its objects when it gets a query.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use drift_api::timing::moment::Moment;
use futures::future::join_all;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::process::clock;

/// Time between two queries: with 100,000 objects an answer takes milliseconds, and queries must not slow polls.
const PAUSE: Duration = Duration::from_millis(250);
/// Time limit of an answer. A target that is busy for longer is shown without its objects.
const PATIENCE: Duration = Duration::from_secs(1);
/// Queue of a target: one query is open at a time, and one more may have been abandoned.
const WAITING: usize = 2;
/// Callers that may wait at once. More get 503, because each answer is some hundred kilobytes.
const MOST_WAITING: usize = 8;

/// A query with the channel for its answer.
#[derive(Debug)]
pub struct Asked<Q, A> {
    /// The text of the query.
    pub question: Arc<Q>,
    /// The channel for the answer, which the caller may have closed.
    pub answer: oneshot::Sender<A>,
}

impl<Q, A> Asked<Q, A> {
    /// Answers, unless the caller is gone.
    pub fn answer_with(self, find: impl FnOnce(&Q) -> A) {
        if !self.answer.is_closed() {
            // A caller that leaves now needs no answer.
            _ = self.answer.send(find(&self.question));
        }
    }
}

/// Error for callers beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many look at once")]
pub struct Crowded;

impl IntoResponse for Crowded {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, format!("{self}\n")).into_response()
    }
}

type Targets<Q, A> = BTreeMap<String, mpsc::Sender<Asked<Q, A>>>;
/// The answers of the targets, by name.
pub type Answers<A> = Arc<BTreeMap<String, A>>;

/// The last query with its answers.
#[derive(Debug)]
struct Last<Q, A> {
    at: Moment,
    question: Arc<Q>,
    /// `None` until it is answered, and if the caller gave up.
    answers: Option<Answers<A>>,
}

/// The running targets. Clones share them.
#[derive(Debug)]
pub struct Board<Q, A> {
    targets: Arc<Mutex<Targets<Q, A>>>,
    /// Locked while a query runs.
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
    /// Adds a running target until it drops the receiver.
    #[must_use]
    pub fn join(&self, target: &str) -> mpsc::Receiver<Asked<Q, A>> {
        let (sender, questions) = mpsc::channel(WAITING);
        self.targets().insert(target.to_owned(), sender);
        questions
    }

    /// Returns the answers of all running targets that answer in time. The same query within the pause gets the same answers.
    ///
    /// # Errors
    /// When too many callers wait already.
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
        // Set before the targets are asked, so that the pause also holds after a caller that gives up.
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

    /// Answers each query with the number of queries so far.
    async fn answer(mut questions: mpsc::Receiver<Asked<u8, usize>>) {
        let mut count = 0;
        while let Some(asked) = questions.recv().await {
            count += 1;
            _ = asked.answer.send(count);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_targets_that_answer_in_time_are_shown() {
        let board = Board::default();
        let willing = board.join("willing");
        let _busy = board.join("busy");
        drop(board.join("gone"));
        let asking = async {
            let begun = clock::now();
            let answers = board.ask(1).await.unwrap();
            assert_eq!((&*answers, clock::now() - begun), (&BTreeMap::from([("willing".to_owned(), 1)]), PATIENCE));
            assert_eq!(board.targets().len(), 2, "a target that is gone is not asked again");
        };
        tokio::select! {
            () = asking => {}
            () = answer(willing) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn queries_slow_no_target() {
        let board = Board::default();
        let willing = board.join("willing");
        let asking = async {
            let begun = clock::now();
            let first = board.ask(1).await.unwrap();
            let again = board.ask(1).await.unwrap();
            assert!(Arc::ptr_eq(&first, &again), "the same query a moment later asks no target");
            assert_eq!(board.ask(2).await.unwrap()["willing"], 2);
            assert_eq!(clock::now() - begun, PAUSE, "another one waits");
            // These callers give up early.
            for _ in 0..3 {
                _ = tokio::time::timeout(Duration::from_millis(1), board.ask(3)).await;
            }
            assert_eq!(
                board.ask(4).await.unwrap()["willing"],
                3,
                "a caller that gives up within the pause asks no target"
            );
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
    async fn the_pause_holds_after_a_caller_gives_up() {
        let board = Board::<u8, usize>::default();
        let mut busy = board.join("busy");
        for number in 0..3 {
            _ = tokio::time::timeout(Duration::from_millis(1), board.ask(number)).await;
        }
        let asked = std::iter::from_fn(|| busy.try_recv().ok()).collect::<Vec<_>>();
        assert!(matches!(&asked[..], [first] if *first.question == 0 && first.answer.is_closed()), "{asked:?}");
    }
}
