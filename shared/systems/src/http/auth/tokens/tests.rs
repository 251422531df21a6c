use super::*;
use crate::HttpOptions;
use crate::http::auth::token_request::Origin;
use drift_language::HttpRequest;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::{advance, sleep};

const LIFE: Duration = Duration::from_secs(100);

fn source(name: &str) -> TokenSource {
    let url: url::Url = format!("https://id.example/{name}").parse().unwrap();
    let request = HttpRequest {
        method: http::Method::GET,
        url: url.clone(),
        headers: std::sync::Arc::default(),
        body: None,
        has_chosen_host: false,
        socket: None,
        auth: None,
    };
    let options = HttpOptions {
        auth: None,
        unauthorized_when: None,
        tls: None,
        proxy: None,
        has_open_host: false,
        allow_networks: &[],
        max_bytes: 0,
    };
    TokenSource::new(Origin::Realm(url), request, &options)
}

/// A token server that numbers its tokens.
#[derive(Default)]
struct Server {
    given: AtomicUsize,
}

impl Server {
    async fn give(&self) -> Fetched {
        let number = self.given.fetch_add(1, Ordering::SeqCst);
        Fetched::Token(HeaderValue::from_str(&format!("Bearer {number}")).unwrap(), LIFE)
    }

    fn given(&self) -> usize {
        self.given.load(Ordering::SeqCst)
    }
}

async fn fail() -> Fetched {
    Fetched::unavailable("canary")
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_at_four_fifths_of_its_life() {
    let (store, server, source) = (TokenStore::default(), Server::default(), source("a"));
    for (second, expected) in [(0, 0), (1, 0), (79, 0), (80, 1), (81, 1), (159, 1), (160, 2)] {
        let began = now();
        let token = store.token(&source, || server.give()).await.unwrap();
        assert_eq!(token, format!("Bearer {expected}"), "at {second} s");
        assert_eq!(now(), began);
        advance(Duration::from_secs(match second {
            0 => 1,
            1 => 78,
            79 | 80 | 159 => 1,
            _ => 78,
        }))
        .await;
    }
    assert_eq!(server.given(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failed_renewal_leaves_the_token_to_its_end() {
    let (store, server, source) = (TokenStore::default(), Server::default(), source("a"));
    let first = store.token(&source, || server.give()).await.unwrap();
    for seconds in [80, 5, 4] {
        advance(Duration::from_secs(seconds)).await;
        assert_eq!(store.token(&source, fail).await, Ok(first.clone()));
    }
    advance(Duration::from_secs(1)).await;
    let failure = store.token(&source, fail).await.unwrap_err();
    assert!(matches!(failure, HttpFailure::TokenPaused { .. } | HttpFailure::TokenUnavailable(_)), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_ahead_of_time_holds_nobody_up_for_long() {
    let (store, server, source) = (TokenStore::default(), Server::default(), source("a"));
    let first = store.token(&source, || server.give()).await.unwrap();
    advance(Duration::from_secs(80)).await;
    let began = now();
    let hangs = || async {
        sleep(LIFE).await;
        fail().await
    };
    assert_eq!(store.token(&source, hangs).await, Ok(first));
    assert_eq!(now() - began, PATIENCE_AHEAD);
}

#[tokio::test(start_paused = true)]
async fn a_slow_token_server_is_waited_for_when_needed() {
    for is_refused in [false, true] {
        let (store, server, source) = (TokenStore::default(), Server::default(), source("a"));
        let first = store.token(&source, || server.give()).await.unwrap();
        let tries = AtomicUsize::new(0);
        let slow = || async {
            tries.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(4)).await;
            server.give().await
        };
        // Attempts at 81, 83 and 86 s, each for one second. The next would be at 91 s.
        advance(Duration::from_secs(81)).await;
        for pause in [1, 2, 2] {
            assert_eq!(store.token(&source, slow).await.as_ref(), Ok(&first));
            let began = now();
            assert_eq!(store.token(&source, slow).await.as_ref(), Ok(&first));
            assert_eq!(now(), began, "a slow token server is asked ahead of time again at once");
            advance(Duration::from_secs(pause)).await;
        }
        assert_eq!(tries.load(Ordering::SeqCst), 3);
        let next = if is_refused {
            store.another(&source, &first, slow).await
        } else {
            // At 90.5 s, half a second after the token's end.
            advance(Duration::from_millis(1_500)).await;
            store.token(&source, slow).await.ok()
        };
        assert_eq!(next.unwrap(), "Bearer 1", "refused: {is_refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_during_a_token_servers_pause_are_late() {
    let (store, server, source) = (TokenStore::default(), Server::default(), source("a"));
    let cause = "canary".to_owned();
    assert_eq!(store.token(&source, fail).await, Err(HttpFailure::TokenUnavailable(cause.clone())));
    advance(Duration::from_millis(400)).await;
    let wait = Duration::from_millis(600);
    assert_eq!(store.token(&source, || server.give()).await, Err(HttpFailure::TokenPaused { cause, wait }));
    advance(wait).await;
    assert!(store.token(&source, || server.give()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn sources_beyond_the_bound_are_forgotten() {
    let (store, server) = (TokenStore::default(), Server::default());
    for number in 0..KEPT_SOURCES + 10 {
        assert!(store.token(&source(&number.to_string()), || server.give()).await.is_ok());
        advance(Duration::from_millis(1)).await;
    }
    assert_eq!(store.sources.lock().unwrap().len(), KEPT_SOURCES);
    let given = server.given();
    assert!(store.token(&source("200"), || server.give()).await.is_ok());
    assert_eq!(server.given(), given, "a token that is good was forgotten");
}
