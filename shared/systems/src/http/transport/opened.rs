//! Tells whether a request opened a connection of its own or took one from the pool.
//!
//! The HTTP client does not tell, but it runs the connector inside the request's own task, so a task-local mark says
//! it. Only this decides whether a dropped read may be asked again: on a fresh connection the drop is the answer.

use std::cell::Cell;

tokio::task_local! {
    static OPENED: Cell<bool>;
}

/// Runs a request; says besides its result whether a connection was opened for it.
pub(in crate::http) async fn noting_opened<T>(request: impl Future<Output = T>) -> (T, bool) {
    OPENED.scope(Cell::new(false), async { (request.await, OPENED.with(Cell::get)) }).await
}

/// Called with every connection that was opened; passes it on.
pub(in crate::http) fn note<C>(connection: C) -> C {
    // A connection that lost the race against the pool is finished by a task of its own, which bears no mark.
    let _ = OPENED.try_with(|opened| opened.set(true));
    connection
}
