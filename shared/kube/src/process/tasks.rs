//! The one place where tasks and threads are spawned.
//!
//! A task that panics must not be lost without a word: its main loop would be missing while everything else looks
//! well. Here it is logged, and the token that it was given is cancelled, which ends the program in order.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Threads that run a program's tasks, at most. Each may be parsing and comparing an answer, which takes 16 MiB for that time,
/// and a Pod sees all cores of its node.
const MAX_WORKERS: usize = 4;

/// A task that lived this long starts its waits anew.
pub(crate) const LONG_LIFE: Duration = Duration::from_secs(300);

/// The runtime of a program.
///
/// # Errors
/// Fails if the operating system gives no threads.
pub fn runtime() -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(MAX_WORKERS, std::num::NonZero::get);
    Builder::new_multi_thread().worker_threads(cores.min(MAX_WORKERS)).enable_all().build()
}

/// Runs a task in the background. Should it panic, that is logged and `on_panic` is cancelled.
#[expect(clippy::disallowed_methods, reason = "this is the place that all others call")]
pub fn spawn<F>(name: &'static str, on_panic: CancellationToken, task: F) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        if AssertUnwindSafe(task).catch_unwind().await.is_err() {
            tracing::error!(task = name, "a task panicked: the program ends");
            on_panic.cancel();
        }
    })
}

/// Runs a task on a thread and a runtime of its own: nothing that the caller's runtime does holds it up. Should it panic,
/// or should there be no thread for it, that is logged and `on_panic` is cancelled. Gives what ends with it.
pub fn spawn_thread<F>(
    name: &'static str,
    on_panic: CancellationToken,
    task: impl FnOnce() -> F + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static
where
    F: Future<Output = ()>,
{
    let ended = CancellationToken::new();
    let (failed, guard) = (on_panic.clone(), ended.clone().drop_guard());
    let run = move || {
        let _guard = guard;
        let turn = || {
            Builder::new_current_thread().enable_all().build().map(|runtime| runtime.block_on(async { task().await }))
        };
        match std::panic::catch_unwind(AssertUnwindSafe(turn)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(thread = name, "no runtime for a thread: {error}"),
            Err(_) => tracing::error!(thread = name, "a thread panicked: the program ends"),
        }
        on_panic.cancel();
    };
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
        tracing::error!(thread = name, "no thread: {error}");
        failed.cancel();
    }
    ended.cancelled_owned()
}

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_the_program_in_order() {
        for (panics, ended) in [(true, true), (false, false)] {
            let stop = CancellationToken::new();
            let task = async move { assert!(!panics, "expected in this test") };
            spawn("test", stop.clone(), task).await.unwrap();
            assert_eq!(stop.is_cancelled(), ended);
        }
    }

    #[tokio::test]
    async fn a_panic_in_a_thread_ends_the_program() {
        for (panics, ended) in [(true, true), (false, false)] {
            let stop = CancellationToken::new();
            spawn_thread("test", stop.clone(), async move || assert!(!panics, "expected in this test")).await;
            assert_eq!(stop.is_cancelled(), ended);
        }
    }
}
