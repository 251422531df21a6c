//! Answers that wait for the test instead of for a time.
//!
//! "While the request is under way" then needs no guess about how fast anything is. It knows nothing of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::sync::Semaphore;

use crate::wait::{self, Seen};

/// Keeps answers back until it is released; whatever comes later is not kept back.
#[derive(Clone, Debug)]
pub struct Hold {
    released: Arc<Semaphore>,
    kept: Arc<AtomicUsize>,
}

impl Default for Hold {
    fn default() -> Self {
        Self { released: Arc::new(Semaphore::new(0)), kept: Arc::default() }
    }
}

impl Hold {
    /// Waits until it keeps an answer back: what was forwarded has taken effect by then.
    ///
    /// # Errors
    /// When it does not before the deadline.
    pub async fn wait_until_reached(&self) -> Result<()> {
        wait::until("an answer to be kept back", wait::DEADLINE, async || {
            let kept = self.kept.load(Ordering::Relaxed);
            Ok(if kept > 0 { Seen::Met(()) } else { Seen::Instead("none".to_owned()) })
        })
        .await
    }

    /// Lets all answers go.
    pub fn release(&self) {
        self.released.close();
    }

    pub(super) async fn released(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        // Nobody adds a permit: it ends when the semaphore is closed.
        let _ = self.released.acquire().await;
    }
}
