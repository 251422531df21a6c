#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A name with everything that is awkward in a path.
const IDENTITY: &str = "drift-check/ü +%411";
const TOKEN: &str = "t0k-3n";

type Store = Arc<Mutex<BTreeMap<String, Value>>>;
/// A status and a body.
type Response = (u16, Value);

/// A request to the mock adapter.
struct Request {
    method: String,
    path: Vec<String>,
    query: String,
    token: Option<String>,
    body: Result<Value, serde_json::Error>,
}

impl Request {
    async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        loop {
            if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return None;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let header = |name: &str| {
                head.lines()
                    .find_map(|line| line.split_once(": ").filter(|(key, _)| *key == name))
                    .map(|(_, value)| value)
            };
            if body.len() < header("content-length").map_or(0, |length| length.parse().unwrap()) {
                continue;
            }
            let mut words = head.split(' ');
            let (method, url) = (words.next().unwrap().to_owned(), words.next().unwrap());
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
            return Some(Self {
                method,
                path: path[1..].split('/').map(decoded).collect(),
                query: query.to_owned(),
                token: header("authorization").and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned),
                body: serde_json::from_str(body),
            });
        }
    }
}

/// The response of an adapter with this one flaw.
fn respond(flaw: &str, store: &Store, request: &Request) -> Response {
    let mut store = store.lock().unwrap();
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let detail = |status, text: &str| (status, json!({"detail": text}));
    if path == ["healthz"] {
        return if flaw == "healthz" { (503, json!({})) } else { (200, json!({})) };
    }
    if flaw != "token" && request.token.as_deref() != Some(TOKEN) {
        return detail(401, "wrong token");
    }
    if path[0] != "widgets" {
        return if flaw == "path" { (404, json!({})) } else { detail(400, "no such resource") };
    }
    let Some(identity) = path.get(1).map(|identity| (*identity).to_owned()) else {
        return collection(flaw, &store, request);
    };
    let identity = if flaw == "flat" { identity.replace('/', "") } else { identity };
    let named = if flaw == "decoded" { percent_decode_str(path[1]).decode_utf8_lossy() } else { path[1].into() };
    let absent = || (404, if flaw == "unnamed" { json!({}) } else { json!({"absent": named}) });
    match (request.method.as_str(), &request.body) {
        ("GET", _) => match store.get(&identity) {
            Some(state) if flaw == "mapping" => (200, json!({"state": state})),
            Some(state) => (200, state.clone()),
            None if flaw == "exists" => (200, json!({"value": "of another"})),
            None if flaw == "nesting" && store.keys().any(|key| key.starts_with(&identity)) => (200, json!({})),
            None => absent(),
        },
        ("PUT", Ok(state)) => {
            let old = store.entry(identity).or_insert_with(|| json!({}));
            match flaw {
                "merge" => json_patch::merge(old, state),
                "once" if old == state => return detail(409, "it is so already"),
                "late" => {}
                "refused" => {
                    store.remove(&path[1].to_owned());
                    return detail(422, "unknown key value");
                }
                "fixed" if *old != json!({}) => return detail(409, "it cannot be changed"),
                _ => *old = state.clone(),
            }
            (if flaw == "accepted" { 202 } else { 200 }, json!({}))
        }
        ("PUT", Err(_)) => match flaw {
            "malformed" => (500, json!({})),
            "reason" => (400, json!({})),
            "echo" => (500, json!({"detail": format!("{:?}", request.token)})),
            _ => detail(400, "no JSON"),
        },
        ("DELETE", _) if flaw == "left" => (200, json!({})),
        ("DELETE", _) => match store.remove(&identity) {
            None if flaw == "gone" => detail(409, "there is none"),
            None => absent(),
            Some(_) => (if flaw == "later" { 202 } else { 200 }, json!({})),
        },
        other => panic!("{other:?}"),
    }
}

/// A page for each item. The first page is empty.
fn collection(flaw: &str, store: &BTreeMap<String, Value>, request: &Request) -> Response {
    let items = store.iter().map(|(identity, state)| {
        let mut item = state.clone();
        json_patch::merge(&mut item, &json!({"identity": identity}));
        item
    });
    match (flaw, request.query.as_str()) {
        ("none", _) => (405, json!({"detail": "no collection"})),
        ("away", _) => (200, json!({"items": [], "next": "http://elsewhere.example/widgets"})),
        ("anonymous", _) => (200, json!({"items": [{}]})),
        ("endless", _) => (200, json!({"items": [], "next": "/widgets"})),
        ("missing", _) => (200, json!({"items": []})),
        ("twice", _) => (200, json!({"items": items.clone().chain(items).collect::<Vec<_>>()})),
        (_, "") => (200, json!({"items": [], "next": "/widgets?page=2"})),
        _ => (200, json!({"items": items.collect::<Vec<_>>(), "next": null})),
    }
}

/// Plays the contract against an adapter with this flaw. Returns what would be printed, and what the adapter still holds.
async fn played(flaw: &'static str) -> (String, BTreeMap<String, Value>) {
    let (listener, store) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), Store::default());
    let base = format!("http://{}", listener.local_addr().unwrap());
    let serve = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            while let Some(request) = Request::read(&mut stream).await {
                let (status, body) = respond(flaw, &store, &request);
                let body = body.to_string();
                let head =
                    format!("HTTP/1.1 {status} -\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                stream.write_all((head + &body).as_bytes()).await.unwrap();
            }
        }
    };
    let adapter = Adapter::new(base.parse().unwrap(), Some(HeaderValue::from_str(&format!("Bearer {TOKEN}")).unwrap()));
    let states = [json!({"value": "1", "old": true}), json!({"value": "2"})];
    let trial = Trial { adapter: &adapter, resource: "widgets", identity: IDENTITY, states: &states };
    let outcomes = tokio::select! {
        outcomes = trial.play() => outcomes,
        () = serve => unreachable!(),
    };
    let left = store.lock().unwrap().clone();
    (rendered(&outcomes), left)
}

/// The names of the rules whose lines begin with this word.
fn rules<'t>(printed: &'t str, word: &str) -> Vec<&'t str> {
    let lines = printed.lines().filter_map(|line| line.strip_prefix(word));
    lines.filter_map(|line| line.trim_start().split_once(": ")).map(|(rule, _)| rule).collect()
}

#[tokio::test]
async fn an_adapter_by_the_contract_passes() {
    drift_kube::client::install_crypto();
    let (printed, left) = played("").await;
    assert!(printed.ends_with("12 ok, 0 failed, 0 skipped\n"), "{printed}");
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn each_broken_rule_is_told() {
    drift_kube::client::install_crypto();
    for (flaw, expected) in [
        ("healthz", &["healthz"][..]),
        ("token", &["token"]),
        ("path", &["path"]),
        ("unnamed", &["absence"]),
        ("decoded", &["absence"]),
        ("flat", &["collection"]),
        ("nesting", &["slash"]),
        ("malformed", &["refusal"]),
        ("reason", &["refusal"]),
        ("accepted", &["create", "replace"]),
        ("refused", &["create"]),
        ("fixed", &["replace"]),
        ("late", &["read", "replace", "collection"]),
        ("mapping", &["read", "replace"]),
        ("merge", &["replace", "collection"]),
        ("once", &["replace"]),
        ("missing", &["collection"]),
        ("twice", &["collection"]),
        ("anonymous", &["collection", "delete"]),
        ("away", &["collection", "delete"]),
        ("endless", &["collection", "delete"]),
        ("left", &["delete", "gone"]),
        ("later", &["delete"]),
        ("gone", &["gone"]),
    ] {
        let (printed, _) = played(flaw).await;
        assert_eq!(rules(&printed, "fails "), expected, "{flaw}: {printed}");
    }
}

#[tokio::test]
async fn rules_after_a_refused_put_are_not_checked() {
    drift_kube::client::install_crypto();
    for (flaw, expected) in
        [("refused", &["read", "slash", "replace", "collection", "delete"][..]), ("fixed", &["collection"])]
    {
        let (printed, left) = played(flaw).await;
        assert_eq!(rules(&printed, "skipped "), expected, "{printed}");
        assert!(printed.contains("(not checked: PUT failed)") && left.is_empty(), "{printed}");
    }
}

#[tokio::test]
async fn an_identity_that_exists_is_left_alone() {
    drift_kube::client::install_crypto();
    let (printed, left) = played("exists").await;
    assert_eq!((rules(&printed, "fails "), rules(&printed, "skipped ")), (vec!["absence"], vec!["writes"]));
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_failed_rule_shows_request_response_and_expectation() {
    drift_kube::client::install_crypto();
    let (printed, _) = played("malformed").await;
    let lines: Vec<_> = printed.lines().skip_while(|line| !line.starts_with("fails ")).take(4).collect();
    let [rule, sent, came, expected] = lines[..] else { panic!("{printed}") };
    assert_eq!(rule, "fails    refusal: a malformed state is 400 or 422 with a reason");
    assert!(sent.starts_with("  sent      PUT http://127.0.0.1:"), "{sent}");
    assert!(sent.ends_with("/widgets/drift%2Dcheck%2F%C3%BC%20%2B%25411 no JSON"), "{sent}");
    assert_eq!((came, expected), ("  came      500 {}", r#"  expected  400 or 422 {"detail": "…"}"#));
}

#[tokio::test]
async fn a_response_that_repeats_the_token_is_masked() {
    drift_kube::client::install_crypto();
    let (printed, _) = played("echo").await;
    assert!(printed.contains("(token)") && !printed.contains(TOKEN), "{printed}");
}

#[tokio::test]
async fn an_adapter_may_offer_no_collection() {
    drift_kube::client::install_crypto();
    let (printed, left) = played("none").await;
    assert!(printed.ends_with("11 ok, 0 failed, 1 skipped\n") && left.is_empty(), "{printed}");
}
