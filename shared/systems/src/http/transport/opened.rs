//! Detects if a request opened a connection or took one from the pool.
//!
//! The HTTP client does not report this, but it runs the connector inside the request's own task, so a task-local mark
//! detects it. The retry of a dropped read depends on it: on a fresh connection a drop is final.

use std::cell::Cell;

tokio::task_local! {
    static OPENED: Cell<bool>;
}

/// Runs a request. Returns its result, and true if it opened a connection.
pub(in crate::http) async fn noting_opened<T>(request: impl Future<Output = T>) -> (T, bool) {
    OPENED.scope(Cell::new(false), async { (request.await, OPENED.with(Cell::get)) }).await
}

/// Marks an opened connection, and returns it.
pub(in crate::http) fn note<C>(connection: C) -> C {
    // A connection that lost the race against the pool is finished by a separate task without the mark.
    let _ = OPENED.try_with(|opened| opened.set(true));
    connection
}
