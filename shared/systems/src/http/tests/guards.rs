//! Guarantees that hold regardless of the other side and the environment.

use std::sync::Arc;

use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, USER_AGENT};

use crate::ReplyBody;
use crate::http::tests::server::{Server, ok};
use crate::http::tests::{HttpOptions, HttpSender, child, get, plain, request, secrets, send, sender};
use drift_language::{Auth, AwsKeys, AwsSigV4, SecretKey};

#[tokio::test]
async fn redirects_are_answers_and_not_orders() {
    let elsewhere = Server::answering(ok("{}")).await;
    let own = elsewhere.url("/");
    for location in [&own, "/path", "", "http://", "http://[/", "http://1.2.3.4.5/", "mailto:ann", "http://a b/"] {
        for status in [301, 302, 303, 307, 308] {
            let answer = format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            let server = Server::answering(answer).await;
            for method in [Method::GET, Method::POST] {
                let reply = send(&sender(), &request(method, &server.url("/")), &plain()).await.unwrap();
                assert_eq!(reply.status.as_u16(), status);
                assert_eq!(reply.headers[LOCATION], location);
            }
            assert_eq!(server.requests().len(), 2);
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_log_in_page_comes_back_as_bytes() {
    let page = "<!doctype html><title>Sign in</title>\u{fffd}";
    let server = Server::answering(ok(page)).await;
    let reply = send(&sender(), &get(&server.url("/")), &plain()).await.unwrap();
    assert_eq!(reply.body, ReplyBody::Whole(page.as_bytes().to_vec()));
}

#[tokio::test]
async fn userinfo_of_a_url_is_not_sent() {
    let server = Server::answering(ok("{}")).await;
    let url = server.url("/").replace("//", "//user:canary@");
    send(&sender(), &get(&url), &plain()).await.unwrap();
    let head = server.requests().concat().to_lowercase();
    assert!(!head.contains("authorization") && !head.contains("canary"), "{head}");
}

#[tokio::test]
async fn the_target_may_say_who_asks() {
    let server = Server::answering(ok("{}")).await;
    let mut request = get(&server.url("/"));
    send(&sender(), &request, &plain()).await.unwrap();
    Arc::make_mut(&mut request.headers).insert(USER_AGENT, "own/1".parse().unwrap());
    send(&sender(), &request, &plain()).await.unwrap();
    let [first, second] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert!(first.contains(concat!("user-agent: drift-poller/", env!("CARGO_PKG_VERSION"), "\r\n")), "{first}");
    assert!(second.contains("user-agent: own/1\r\n") && !second.contains("drift-poller"), "{second}");
    assert!(first.contains("accept-encoding: gzip\r\n"), "{first}");
}

#[tokio::test]
async fn a_body_goes_out_as_what_the_request_says() {
    let server = Server::answering(ok("{}")).await;
    let mut request = request(Method::POST, &server.url("/"));
    request.body = Some(b"{\"a\":1}".to_vec());
    Arc::make_mut(&mut request.headers).insert(CONTENT_TYPE, "application/merge-patch+json".parse().unwrap());
    send(&sender(), &request, &plain()).await.unwrap();
    let [sent] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert!(sent.contains("content-type: application/merge-patch+json\r\n") && sent.ends_with("{\"a\":1}"), "{sent}");
}

#[tokio::test]
async fn a_signed_request_that_aws_denies_is_a_403() {
    let body = r#"{"__type": "com.amazon.coral.service#UnrecognizedClientException"}"#;
    let answer = format!("HTTP/1.1 400 X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let server = Server::answering(answer).await;
    let keys = AwsKeys::Secret("aws".to_owned());
    let auth = Auth::AwsSigV4(AwsSigV4 { region: "eu-central-1".to_owned(), service: "sqs".to_owned(), keys });
    let store = secrets(&[("aws", &[("accessKeyId", "id"), ("secretAccessKey", "key")])]);
    let sender = HttpSender::new(store, "drift-poller");
    let signed = HttpOptions { auth: Some(&auth), ..plain() };
    for (options, expected) in [(signed, 403), (plain(), 400)] {
        let reply = send(&sender, &get(&server.url("/")), &options).await.unwrap();
        assert_eq!(reply.status.as_u16(), expected);
    }
}

#[tokio::test]
async fn the_credential_wins_over_a_header_of_the_target() {
    let server = Server::answering(ok("{}")).await;
    let store = secrets(&[("api", &[("token", "old")])]);
    let sender = HttpSender::new(store.clone(), "drift-poller");
    let auth = Auth::Bearer(SecretKey { name: "api".to_owned(), key: "token".to_owned() });
    let options = HttpOptions { auth: Some(&auth), ..plain() };
    let mut request = get(&server.url("/"));
    Arc::make_mut(&mut request.headers).insert(AUTHORIZATION, "Bearer literal".parse().unwrap());
    send(&sender, &request, &options).await.unwrap();
    store.store(secrets(&[("api", &[("token", "new")])]).load_full());
    send(&sender, &request, &options).await.unwrap();
    let lines: Vec<_> =
        server.requests().iter().flat_map(|head| head.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let sent: Vec<_> = lines.iter().filter(|line| line.starts_with("authorization")).collect();
    assert_eq!(sent, ["authorization: Bearer old", "authorization: Bearer new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_variables_are_ignored() {
    let proxy = Server::answering(ok("from the proxy")).await;
    let server = Server::answering(ok("from the server")).await;
    let variables = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    child::sends(&server.url("/"), &variables.map(|name| (name, proxy.url(""))), "from the server");
    assert_eq!((proxy.connections(), server.requests().len()), (0, 1));
}
