//! The only place where tasks and threads are spawned.
//!
//! A panic must not end a task silently: its loop would be missing while everything else looks healthy. Here the panic
//! is logged, and the given token is cancelled, which ends the program in order.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Maximum worker threads of a program. Each may parse and compare a response, which takes 16 MiB for that time, and a
/// Pod sees all cores of its node.
const MAX_WORKERS: usize = 4;

/// A task that ran this long resets its backoff.
pub(crate) const LONG_LIFE: Duration = Duration::from_secs(300);

/// Time for tasks that are still running at the end of a program. They have used up their time to drain.
const END_DEADLINE: Duration = Duration::from_millis(100);

/// Runs a program on a runtime of its own.
///
/// # Errors
/// Fails if the operating system provides no threads.
pub fn run<T>(program: impl Future<Output = T>) -> std::io::Result<T> {
    let cores = std::thread::available_parallelism().map_or(MAX_WORKERS, std::num::NonZero::get);
    let runtime = Builder::new_multi_thread().worker_threads(cores.min(MAX_WORKERS)).enable_all().build()?;
    let ended = runtime.block_on(program);
    runtime.shutdown_timeout(END_DEADLINE);
    Ok(ended)
}

/// Runs a task in the background. A panic is logged and cancels `on_panic`.
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

/// Runs a task on its own thread and runtime, so that the caller's runtime never delays it. A panic or a failure to
/// start the thread is logged and cancels `on_panic`. Returns a future that completes at its end.
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
            Ok(Err(error)) => tracing::error!(thread = name, cause = %error, "no runtime for a thread"),
            Err(_) => tracing::error!(thread = name, "a thread panicked: the program ends"),
        }
        on_panic.cancel();
    };
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(run) {
        tracing::error!(thread = name, cause = %error, "no thread");
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
