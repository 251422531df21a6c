//! Tokens of an identity server.

use crate::guard::failure::SystemFailure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::http::auth::oauth2;
use crate::http::auth::token_request::Fetched;
use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{HttpFailure, HttpOptions, HttpSender, get, plain, secrets, send};
use crate::{ExchangeProgress, HttpReply, ProjectedTokens, ReplyBody, ServerText};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{Auth, Grant, OAuth2, SecretValues};

/// Issued tokens and their expiry.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<HashMap<String, Instant>>>);

#[expect(clippy::disallowed_methods, reason = "a server of a test, with a clock of its own")]
fn now() -> Instant {
    Instant::now()
}

impl Tokens {
    fn give(&self, life: Duration) -> String {
        let mut tokens = self.0.lock().unwrap();
        let token = format!("token-{}", tokens.len());
        tokens.insert(token.clone(), now() + life);
        token
    }

    fn revoke(&self) {
        self.0.lock().unwrap().values_mut().for_each(|until| *until = now());
    }

    fn take(&self, head: &str) -> bool {
        let sent = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        sent.and_then(|token| self.0.lock().unwrap().get(token).copied()).is_some_and(|until| now() < until)
    }
}

/// Issues tokens with this lifetime.
async fn identity_server(tokens: &Tokens, life: Duration) -> Server {
    let tokens = tokens.clone();
    Server::start(move |mut connection: Connection| {
        let tokens = tokens.clone();
        async move {
            while connection.request().await.is_some() {
                let token = tokens.give(life);
                let answer = format!(
                    r#"{{"access_token": "{token}", "token_type": "Bearer", "expires_in": {}}}"#,
                    life.as_secs()
                );
                connection.answer(&ok(&answer)).await;
            }
        }
    })
    .await
}

/// Accepts requests with a valid token.
async fn api(tokens: &Tokens) -> Server {
    let tokens = tokens.clone();
    Server::start(move |mut connection: Connection| {
        let tokens = tokens.clone();
        async move {
            while let Some(head) = connection.request().await {
                let refused = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".to_vec();
                connection.answer(&if tokens.take(&head) { ok("{}") } else { refused }).await;
            }
        }
    })
    .await
}

fn auth(identity: &Server) -> Auth {
    Auth::OAuth2(OAuth2 {
        token_url: identity.url("/token").parse().unwrap(),
        grant: Grant::ClientCredentials,
        secret: Some("client".to_owned()),
        scopes: vec!["read".to_owned(), "list".to_owned()],
    })
}

fn client() -> HttpSender {
    HttpSender::new(
        secrets(&[("client", &[("clientId", "drift:poller"), ("clientSecret", "canary\n")])]),
        "drift-poller",
    )
}

async fn status(sender: &HttpSender, server: &Server, auth: &Auth) -> Result<u16, HttpFailure> {
    let options = HttpOptions { auth: Some(auth), ..plain() };
    send(sender, &get(&server.url("/")), &options).await.map(|reply| reply.status.as_u16())
}

#[tokio::test]
async fn tokens_that_live_a_second_never_lead_to_a_refusal() {
    let tokens = Tokens::default();
    let (identity, api) = (identity_server(&tokens, Duration::from_secs(1)).await, api(&tokens).await);
    let (sender, auth) = (client(), auth(&identity));
    let began = now();
    let mut polls = 0;
    while now() < began + Duration::from_secs(4) {
        assert_eq!(status(&sender, &api, &auth).await, Ok(200));
        tokio::time::sleep(Duration::from_millis(5)).await;
        polls += 1;
    }
    assert_eq!(api.requests().len(), polls, "a token was refused");
    let asked = identity.requests();
    assert!((4..=8).contains(&asked.len()), "{} tokens in 4 s", asked.len());
    assert!(asked[0].starts_with("POST /token HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(asked[0].ends_with("\r\n\r\ngrant_type=client_credentials&scope=read+list"), "{}", asked[0]);
    // drift%3Apoller:canary
    assert!(asked[0].contains("authorization: Basic ZHJpZnQlM0Fwb2xsZXI6Y2FuYXJ5\r\n"), "{}", asked[0]);
}

#[tokio::test]
async fn requests_that_come_together_ask_for_one_token() {
    let tokens = Tokens::default();
    let (identity, api) = (identity_server(&tokens, Duration::from_secs(60)).await, api(&tokens).await);
    let (sender, auth) = (client(), auth(&identity));
    let all = futures::future::join_all((0..20).map(|_| status(&sender, &api, &auth))).await;
    assert!(all.iter().all(|status| *status == Ok(200)), "{all:?}");
    assert_eq!(identity.requests().len(), 1);
}

#[tokio::test]
async fn whoever_shows_an_answer_knows_its_tokens() {
    let tokens = Tokens::default();
    let (identity, api) = (identity_server(&tokens, Duration::from_secs(60)).await, api(&tokens).await);
    let (sender, auth) = (client(), auth(&identity));
    assert_eq!(status(&sender, &api, &auth).await, Ok(200));
    tokens.revoke();
    let progress = ExchangeProgress::default();
    let options = HttpOptions { auth: Some(&auth), ..plain() };
    assert!(sender.send(&get(&api.url("/")), &options, &progress).await.is_ok());
    let sent = progress.sent().values(|_| SecretValues::default());
    assert_eq!(["token-0", "token-1", "token-2"].map(|token| sent.occur_in(&token.into())), [true, true, false]);
    assert!(!format!("{progress:?}").contains("token-0"));
}

#[tokio::test]
async fn a_revoked_token_is_replaced_within_the_request() {
    let tokens = Tokens::default();
    let (identity, api) = (identity_server(&tokens, Duration::from_secs(60)).await, api(&tokens).await);
    let (sender, auth) = (client(), auth(&identity));
    assert_eq!(status(&sender, &api, &auth).await, Ok(200));
    tokens.revoke();
    let all = futures::future::join_all((0..5).map(|_| status(&sender, &api, &auth))).await;
    assert!(all.iter().all(|status| *status == Ok(200)), "{all:?}");
    assert_eq!(identity.requests().len(), 2);
}

#[tokio::test]
async fn a_host_that_refuses_every_token_costs_few() {
    let tokens = Tokens::default();
    let identity = identity_server(&tokens, Duration::from_secs(60)).await;
    let api = Server::answering("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await;
    let (sender, auth) = (client(), auth(&identity));
    for _ in 0..5 {
        assert_eq!(status(&sender, &api, &auth).await, Ok(401));
    }
    assert_eq!((identity.requests().len(), api.requests().len()), (2, 6));
}

#[tokio::test]
async fn a_token_server_that_gives_none_is_told() {
    let api = Server::answering(ok("{}")).await;
    let refused = |text: &str| HttpFailure::TokenRefused(text.to_owned(), ServerText::from("canary"));
    let unavailable = |text: &str| HttpFailure::TokenUnavailable(text.to_owned());
    let cases = [
        ("400 Bad Request", "canary", refused("the token server refuses the credential with status 400")),
        ("401 Unauthorized", "canary", refused("the token server refuses the credential with status 401")),
        ("503 Unavailable", "canary", unavailable("the token server answers with status 503")),
        ("429 Too Many", "canary", unavailable("the token server answers with status 429")),
        ("302 Found", "", unavailable("the token server answers with status 302")),
        ("200 OK", "canary", unavailable("the token server's answer holds no bearer token")),
        (
            "200 OK",
            r#"{"access_token": "x", "token_type": "mac"}"#,
            unavailable("the token server's answer holds no bearer token"),
        ),
    ];
    for (line, body, expected) in cases {
        let identity =
            Server::answering(format!("HTTP/1.1 {line}\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await;
        let (sender, auth) = (client(), auth(&identity));
        for _ in 0..3 {
            let failure = match status(&sender, &api, &auth).await {
                // Paused: a request now is late.
                Err(HttpFailure::TokenPaused { cause, wait }) if wait <= Duration::from_secs(1) => {
                    assert!(!identity.requests().is_empty(), "paused before it was asked");
                    HttpFailure::TokenUnavailable(cause)
                }
                outcome => outcome.unwrap_err(),
            };
            assert_eq!(failure, expected, "{line}");
            assert!(!format!("{failure} {failure:?}").contains("canary"), "{failure:?}");
        }
        assert_eq!(identity.requests().len(), 1, "{line}");
    }
    assert_eq!(api.requests().len(), 0, "a request without its token");
}

#[tokio::test]
async fn the_owner_names_who_gets_the_token() {
    let tokens = Tokens::default();
    let (identity, api) = (identity_server(&tokens, Duration::from_secs(60)).await, api(&tokens).await);
    let auth = auth(&identity);
    let [of_identity, of_api] = [&identity, &api].map(|server| format!("127.0.0.1:{}", server.port()));
    let outcome = async |hosts: &str| {
        let data = ["clientId", "clientSecret"].map(|key| (key.to_owned(), b"x".to_vec()));
        let secrets: LabelledSecrets =
            [("client".to_owned(), LabelledSecret::new(Some(hosts), data))].into_iter().collect();
        let sender = HttpSender::new(Arc::new(arc_swap::ArcSwap::from_pointee(secrets)), "drift-poller");
        let options = HttpOptions { auth: Some(&auth), ..plain() };
        assert_eq!(sender.has_credential(&get(&api.url("/")), &options).is_ok(), hosts.contains(','));
        status(&sender, &api, &auth).await
    };
    let refused = |host: &str| {
        Err(HttpFailure::System(SystemFailure::CredentialUnavailable(format!(
            "Secret client may not be sent to {host}"
        ))))
    };
    assert_eq!(outcome(&of_identity).await, refused(&of_api));
    assert_eq!(outcome(&of_api).await, refused(&of_identity));
    assert_eq!(identity.requests().len(), 0);
    assert_eq!(outcome(&format!("{of_identity},{of_api}")).await, Ok(200));
}

#[tokio::test]
async fn a_user_asks_with_a_password_and_perhaps_a_client() {
    let user = [("username", "drift poller"), ("password", "p&ss=word\n")];
    let form = "grant_type=password&username=drift+poller&password=p%26ss%3Dword&scope=read+list";
    let table = [
        (Vec::new(), form.to_owned(), None),
        (vec![("clientId", "poller")], format!("{form}&client_id=poller"), None),
        (
            vec![("clientId", "poller"), ("clientSecret", "canary")],
            form.to_owned(),
            // poller:canary
            Some("Basic cG9sbGVyOmNhbmFyeQ=="),
        ),
    ];
    for (client, form, basic) in table {
        let tokens = Tokens::default();
        let (identity, api) = (identity_server(&tokens, Duration::from_secs(60)).await, api(&tokens).await);
        let Auth::OAuth2(asking) = auth(&identity) else { panic!("another kind") };
        let auth = Auth::OAuth2(OAuth2 { grant: Grant::Password, ..asking });
        let sender = HttpSender::new(secrets(&[("client", &[&user[..], &client].concat())]), "drift-poller");
        assert_eq!(status(&sender, &api, &auth).await, Ok(200));
        let asked = identity.requests().concat();
        assert!(asked.ends_with(&format!("\r\n\r\n{form}")), "{asked}");
        let sent = asked.lines().find_map(|line| line.strip_prefix("authorization: "));
        assert_eq!(sent, basic, "{asked}");
    }
}

#[test]
fn a_token_server_may_name_the_date_of_its_return() {
    let source = oauth2::token_source(
        &OAuth2 {
            token_url: "https://id.example/".parse().unwrap(),
            grant: Grant::ClientCredentials,
            secret: Some("client".to_owned()),
            scopes: Vec::new(),
        },
        &plain(),
        &secrets(&[("client", &[("clientId", "x"), ("clientSecret", "y")])]).load(),
        &ProjectedTokens::default(),
    );
    let now = "1994-11-06T08:49:37Z".parse().unwrap();
    let date = "Sun, 06 Nov 1994 08:50:37 GMT";
    for (status, header, expected) in [(503, date, Some(60)), (429, "7", Some(7)), (503, "soon", None)] {
        let headers = [(http::header::RETRY_AFTER, header.parse().unwrap())].into_iter().collect();
        let status = http::StatusCode::from_u16(status).unwrap();
        let reply = HttpReply { status, headers, body: ReplyBody::Whole(Vec::new()) };
        let Fetched::Failed(_, pause) = source.as_ref().unwrap().judge(Ok(reply), now) else { panic!("a token") };
        assert_eq!(pause, expected.map(Duration::from_secs), "{header}");
    }
}
