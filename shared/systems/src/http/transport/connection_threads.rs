//! The threads on which HTTP connections run, apart from those of the program.
//!
//! hyper reads interim responses (`103 Early Hints`) without a limit, and rarely yields while they come. A server that
//! sends them for ever takes threads until the deadline of its requests. So it delays other requests over HTTP, and
//! neither the Lease nor `/livez` nor any other system.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};

/// Number of the threads. One of them is free while one server takes the other.
const THREADS: usize = 2;

/// Runs a request whose connection is polled on these threads. The request itself stays in the caller's task.
pub(in crate::http) async fn connecting_apart<T>(request: impl Future<Output = T>) -> T {
    let mut request = pin!(request);
    poll_fn(|context| {
        // The client spawns the connection where the request is polled.
        let _entered = runtime().map(Runtime::enter);
        request.as_mut().poll(context)
    })
    .await
}

/// Returns the runtime of the connections. `None` if the operating system provides no threads: then they run on those
/// of the program.
fn runtime() -> Option<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let build = || Builder::new_multi_thread().worker_threads(THREADS).thread_name("http").enable_all().build().ok();
    RUNTIME.get_or_init(build).as_ref()
}
