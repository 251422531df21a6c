//! Memory of responses while others are awaited.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use arc_swap::ArcSwap;
use drift_api::object::object_view::ObjectView;
use drift_kube::resources::ResourceClient;
use drift_systems::{Databases, HttpSender};
use serde_json::json;

use super::*;
use crate::engine::fixtures::{TEXT, target};
use crate::run::reads::outside::Outside;

/// A read with two sequential requests.
const STEPS: &str =
    r#"read: {http: {steps: [{name: list, url: "http://HOST/list"}, {name: one, url: "http://HOST/one"}]}}"#;

/// Answers `/list` with numbers of 100 KB in total, and any other path with an empty response.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::Builder::new()
        .spawn(move || {
            for stream in listener.incoming() {
                std::thread::Builder::new().spawn(move || answer_lists(stream.unwrap())).unwrap();
            }
        })
        .unwrap();
    host
}

fn answer_lists(mut stream: TcpStream) {
    let body = format!("[{}]", vec!["0"; 50_000].join(","));
    let mut request = [0; 4096];
    while let Ok(read) = stream.read(&mut request) {
        if request[..read].starts_with(b"GET /list ") {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).unwrap();
        } else if read == 0 {
            return;
        }
    }
}

fn outside() -> Outside {
    drift_kube::client::install_crypto();
    let secrets = Arc::new(ArcSwap::default());
    Outside {
        sender: HttpSender::new(secrets.clone(), "drift-poller"),
        databases: Databases::new(secrets, "drift-poller"),
        resources: ResourceClient::new(kube::Client::new(axum::Router::new(), "default"), "api:443"),
        gate: Arc::default(),
        troubles: Arc::default(),
    }
}

#[tokio::test]
async fn answers_that_are_kept_have_a_hosts_share() {
    let (outside, host) = (outside(), serve());
    let text = TEXT.replace(r#"read: {http: {url: "http://h/${self.spec.id}"}}"#, &STEPS.replace("HOST", &host));
    let target = target(&text.replace("interval: 30s", "interval: 30s\n  timeout: 2s"));
    let read = target.read.http().unwrap();
    let view = ObjectView::of(&json!({"metadata": {"name": "x"}, "spec": {"id": "x", "a": 1}}));
    let view = view.open();
    let request = read.render(&view).unwrap();
    let uid = Uid::from("u");
    let source = || SourceOf { outside: &outside, target: &target, read };
    let look = || look_at_one(source(), (&uid, &view), &request, (None, None));
    // Each read keeps 50,000 values until the second response. Two of them exceed a host's share.
    let began = clock::now();
    let looks = [look(), look(), look(), look()];
    let reads = futures::future::join_all(looks).await.into_iter().map(|result| result.read);
    let late: Vec<_> = reads.filter_map(|read| read.err().map(|postponed| postponed.until)).collect();
    assert_eq!(late.len(), 3, "one waits for its second answer");
    assert!(late.iter().all(|until| *until >= began + UNTIL_ALL_IS_ASKED_AGAIN), "each is soon sent again");
}
