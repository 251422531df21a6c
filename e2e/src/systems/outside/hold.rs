//! Responses that wait for the test instead of for a time.
//!
//! A test of "while the request is in progress" then needs no guess about durations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::sync::Semaphore;

use crate::wait::{self, Seen};

/// Holds responses back until it is released. Later ones are not held.
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
    /// Waits until it holds a response. A forwarded request has then taken effect.
    pub async fn wait_until_reached(&self) -> Result<()> {
        wait::until("an answer to be kept back", wait::DEADLINE, async || {
            let kept = self.kept.load(Ordering::Relaxed);
            Ok(if kept > 0 { Seen::Met(()) } else { Seen::Instead("none".to_owned()) })
        })
        .await
    }

    /// Releases all responses.
    pub fn release(&self) {
        self.released.close();
    }

    pub(super) async fn released(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        // No permits are added: the wait ends when the semaphore is closed.
        let _ = self.released.acquire().await;
    }
}
