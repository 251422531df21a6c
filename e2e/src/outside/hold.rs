//! Answers that wait for the test instead of for a time.
//!
//! "While the request is under way" then needs no guess about how fast anything is. It knows nothing of requests.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Keeps answers back until it is released; whatever comes later is not kept back.
#[derive(Clone, Debug)]
pub struct Hold {
    released: Arc<Semaphore>,
}

impl Default for Hold {
    fn default() -> Self {
        Self { released: Arc::new(Semaphore::new(0)) }
    }
}

impl Hold {
    /// Lets all answers go.
    pub fn release(&self) {
        self.released.close();
    }

    pub(super) async fn released(&self) {
        // Nobody adds a permit: it ends when the semaphore is closed.
        let _ = self.released.acquire().await;
    }
}
