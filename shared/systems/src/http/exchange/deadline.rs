//! The deadline of an exchange. It excludes waits for a token, because a token server has its own deadline, and its
//! slowness must not count against the host.

use std::pin::Pin;
use std::time::Duration;

use crate::ExchangeProgress;

/// Returns the result of the exchange, or `None` after the deadline. `progress` is the one passed to the exchange.
///
/// The caller pins the exchange. A moved future would take its memory twice, and there is one for each poll in flight.
pub async fn before_deadline<T>(
    deadline: Duration,
    progress: &ExchangeProgress,
    mut exchange: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let mut discounted = progress.token_wait();
    let mut left = deadline;
    loop {
        if let Ok(result) = tokio::time::timeout(left, exchange.as_mut()).await {
            return Some(result);
        }
        let waited = progress.token_wait();
        left = waited - discounted;
        discounted = waited;
        if left.is_zero() {
            return None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::guard::clock::now;

    const DEADLINE: Duration = Duration::from_secs(3);

    fn seconds(seconds: u64) -> tokio::time::Sleep {
        tokio::time::sleep(Duration::from_secs(seconds))
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_wait_for_a_token_does_not_count() {
        for (token, host, expected) in [(0, 2, true), (0, 4, false), (5, 2, true), (5, 4, false), (30, 2, true)] {
            let progress = ExchangeProgress::default();
            let exchange = async {
                progress.awaiting_token(seconds(token)).await;
                seconds(host).await;
            };
            let began = now();
            let ended = before_deadline(DEADLINE, &progress, pin!(exchange)).await.is_some();
            assert_eq!(ended, expected, "{token} s for a token, {host} s for the host");
            assert_eq!(progress.token_wait(), Duration::from_secs(token));
            let took = if expected { Duration::from_secs(host) } else { DEADLINE };
            assert_eq!(now() - began, took + Duration::from_secs(token));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_wait_grants_nothing() {
        let progress = ExchangeProgress::default();
        progress.awaiting_token(seconds(5)).await;
        assert_eq!(before_deadline(DEADLINE, &progress, pin!(seconds(4))).await, None);
    }
}
