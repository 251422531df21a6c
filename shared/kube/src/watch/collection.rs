//! Follows one collection of the API server: it is listed in pages, then watched, and listed again if necessary.
//!
//! kube's watcher hides bookmarks, which count as signs of life for the attestation. Its stores keep whole objects, and
//! here nothing is kept.

use std::io::ErrorKind;
use std::pin::pin;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use http::header::{ACCEPT_ENCODING, HeaderValue};
use kube::api::WatchParams;
use kube::core::Request;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::{CALL_DEADLINE, CallError, Decode, MAX_ANSWER_BYTES, Pages, WatchAnswer};
use crate::client::{causes, not_asked_for, parse_event, within};
use crate::process::clock;
use crate::watch::resume_versions::HeardVersion;

/// Duration of one watch on the server's side. Longer than the minute between bookmarks, so that each watch gets one,
/// and short, so that a silently dead connection is dropped early.
const WATCH_SECONDS: u32 = 90;

/// A watch that the server kept open this long and ended without a bookmark starts at a version that the server does
/// not have: its store was restored to an older state, and events are not sent before it reaches that version.
const BOOKMARK_DUE: Duration = Duration::from_secs(75);

/// Silence after which a connection counts as dead: the server ends every watch before.
const SILENCE_LIMIT: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 15);

/// The first pause after a failure. Jitter at most doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause between two tries. Jitter at most doubles it. After the API server is back, all collections are
/// current within 30 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Maximum Retry-After of an API server that is obeyed. It sends 32 s at most.
const LONGEST_ASKED: Duration = Duration::from_secs(30);

/// A watch that ended sooner is followed by a pause even if it received events, so that a server that hangs up
/// is not flooded.
const SHORT_WATCH: Duration = Duration::from_secs(1);

/// The HTTP status of an expired resourceVersion.
const EXPIRED: u16 = 410;

/// The collection to follow.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    /// The path, for example `/api/v1/namespaces/a/configmaps`.
    pub(crate) path: String,
    /// Only objects with these labels. The server reports an object that loses them as deleted, and sends no more
    /// events about it.
    pub(crate) label_selector: Option<String>,
    /// The versions to resume from. `None` if each start is a list.
    pub(crate) heard: Option<HeardVersion>,
}

/// A change of a collection, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<T = Value> {
    /// A list begins. Objects that are not `Found` until `ListEnded` are gone.
    ListBegan,
    /// An object in the list, and the version of the list.
    Found(T, String),
    /// The list is complete, and has this version.
    ListEnded(String),
    /// An object was created or changed.
    Changed(T),
    /// An object was deleted. Contains its last state.
    Deleted(T),
    /// No change, but a sign of life.
    Bookmark,
    /// The API server accepted the watch, and may be silent for a minute now. This is no sign of life yet.
    Connected,
    /// It cannot be followed at the moment, and is retried with pauses.
    Failing(String),
}

/// A change and the number of its collection.
pub(crate) type NumberedChange<T = Value> = (usize, Change<T>);

/// Follows a collection until the receiver is gone or the future is dropped.
pub(crate) async fn follow<K: Decode>(
    client: kube::Client,
    collection: Collection,
    decode: K,
    number: usize,
    changes: mpsc::Sender<NumberedChange<K::Object>>,
) {
    let request = Request::new(collection.path.clone());
    let follower = Follower { client, request, collection, decode, number, changes };
    follower.run().await;
}

struct Follower<K: Decode> {
    client: kube::Client,
    request: Request,
    collection: Collection,
    decode: K,
    number: usize,
    changes: mpsc::Sender<NumberedChange<K::Object>>,
}

/// The reason why a list or a watch ended early.
enum Ending {
    /// The receiver is closed.
    Closed,
    /// The version expired, so a new list is needed.
    Expired,
    /// The API server does not answer or refuses, with the requested pause.
    Failed(String, Option<Duration>),
}

impl From<CallError> for Ending {
    fn from(error: CallError) -> Self {
        if error.code() == Some(EXPIRED) { Self::Expired } else { Self::Failed(error.to_string(), error.retry_after()) }
    }
}

impl<K: Decode> Follower<K> {
    async fn run(self) {
        let mut pauses = pauses();
        let mut known = self.collection.heard.as_ref().and_then(HeardVersion::get);
        loop {
            let version = match known.take() {
                Some(version) => Ok(version),
                None => self.list().await,
            };
            let ending = match version {
                Ok(version) => self.watch_on(version, &mut pauses).await,
                Err(ending) => ending,
            };
            if self.pause_after(ending, &mut pauses).await.is_err() {
                return;
            }
        }
    }

    /// Lists in pages. Returns the version from which to watch.
    async fn list(&self) -> Result<String, Ending> {
        self.say(Change::ListBegan).await?;
        let Collection { path, label_selector, .. } = &self.collection;
        let mut pages = Pages::new(self.client.clone(), path, label_selector.clone(), self.decode.clone());
        let mut version = String::new();
        while let Some(page) = pages.next().await? {
            version = page.version;
            for object in page.items {
                self.say(Change::Found(object, version.clone())).await?;
            }
        }
        self.say(Change::ListEnded(version.clone())).await?;
        self.note(&version);
        Ok(version)
    }

    /// Watches repeatedly from the last version, until a list is needed or the receiver is closed.
    async fn watch_on(&self, mut version: String, pauses: &mut ExponentialBackoff) -> Ending {
        loop {
            let began = clock::now();
            let before = version.clone();
            let ending = self.watch(&mut version).await;
            if version != before {
                *pauses = self::pauses();
            }
            match ending {
                Ok(()) if version == before && clock::now().is_past(began, BOOKMARK_DUE) => return Ending::Expired,
                Ok(()) if clock::now().is_past(began, SHORT_WATCH) => {}
                Ok(()) => sleep(pauses, None).await,
                Err(failed @ Ending::Failed(..)) => {
                    if self.pause_after(failed, pauses).await.is_err() {
                        return Ending::Closed;
                    }
                }
                Err(ending) => return ending,
            }
        }
    }

    /// Runs one watch until the server ends it. `version` follows the received events.
    async fn watch(&self, version: &mut String) -> Result<(), Ending> {
        let parameters = WatchParams {
            label_selector: self.collection.label_selector.clone(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            ..WatchParams::default()
        };
        let request = match K::METADATA_ONLY {
            true => self.request.watch_metadata(&parameters, version),
            false => self.request.watch(&parameters, version),
        };
        let mut request = request.map_err(unsendable)?;
        // Compressed events arrive late, or not at all where each is compressed separately.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut events = pin!(within(CALL_DEADLINE, self.client.request_stream(request)).await?);
        self.say(Change::Connected).await?;
        while let Some(line) = read_line(&mut events).await? {
            let change = match parse_event(&self.decode, &line).map_err(not_asked_for)? {
                WatchAnswer::Changed(object) => Change::Changed(object),
                WatchAnswer::Deleted(object) => Change::Deleted(object),
                WatchAnswer::Bookmark(newer) => {
                    *version = newer.unwrap_or_else(|| version.clone());
                    Change::Bookmark
                }
                WatchAnswer::Error(status) => return Err(CallError::Answered(status).into()),
            };
            if let Change::Changed(object) | Change::Deleted(object) = &change
                && let Some(newer) = K::version(object)
            {
                *version = newer.into_owned();
            }
            self.say(change).await?;
            self.note(version);
        }
        Ok(())
    }

    /// Reports the failure and pauses. Fails if the receiver is closed.
    async fn pause_after(&self, ending: Ending, pauses: &mut ExponentialBackoff) -> Result<(), Ending> {
        let asked = match ending {
            Ending::Closed => return Err(Ending::Closed),
            Ending::Expired => None,
            Ending::Failed(text, asked) => {
                self.say(Change::Failing(text)).await?;
                asked
            }
        };
        tokio::select! {
            () = sleep(pauses, asked) => Ok(()),
            () = self.changes.closed() => Err(Ending::Closed),
        }
    }

    /// Records that everything up to this version was sent.
    fn note(&self, version: &str) {
        if let Some(heard) = &self.collection.heard {
            heard.note(version, clock::now());
        }
    }

    async fn say(&self, change: Change<K::Object>) -> Result<(), Ending> {
        self.changes.send((self.number, change)).await.map_err(|_| Ending::Closed)
    }
}

/// Reads the next event. `None` if the watch ended, also in the middle of an event, because a stopping server hangs up.
async fn read_line(events: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Vec<u8>>, CallError> {
    let mut line = Vec::new();
    let mut limited = events.take(MAX_ANSWER_BYTES as u64);
    let read = async {
        match limited.read_until(b'\n', &mut line).await {
            Err(error) if is_cut_off(&error) => Ok(0),
            other => other.map_err(kube::Error::ReadEvents),
        }
    };
    within(SILENCE_LIMIT, read).await?;
    if line.last() == Some(&b'\n') {
        return Ok(Some(line));
    }
    if line.len() == MAX_ANSWER_BYTES { Err(CallError::TooLarge(MAX_ANSWER_BYTES)) } else { Ok(None) }
}

/// Returns true if the other side hung up. The chunk decoder reports it only in its text.
fn is_cut_off(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::UnexpectedEof || causes(error).to_lowercase().contains("unexpected eof")
}

fn unsendable(error: kube::core::request::Error) -> Ending {
    Ending::Failed(error.to_string(), None)
}

fn pauses() -> ExponentialBackoff {
    let builder = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE);
    builder.without_max_times().with_jitter().build()
}

/// Sleeps for the next pause, or for the pause that the API server asked for if that is longer.
async fn sleep(pauses: &mut ExponentialBackoff, asked: Option<Duration>) {
    let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
    tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE).max(asked)).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::WholeObjects;
    use crate::client::fake_api::{Sent, client, refuse, reply, scripted};
    use axum::body::Body;
    use axum::http::Response;
    use futures::FutureExt;
    use serde_json::json;

    fn page(names: &[&str], version: &str, next: &str) -> Response<Body> {
        let items: Vec<_> = names.iter().map(|name| object(name, version)).collect();
        reply(200, &json!({"metadata": {"resourceVersion": version, "continue": next}, "items": items}))
    }

    fn object(name: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": version}})
    }

    fn stream(events: &[Value]) -> Response<Body> {
        let lines: Vec<_> = events.iter().map(|event| format!("{event}\n")).collect();
        Response::new(Body::from(lines.concat()))
    }

    fn bookmark(version: &str) -> Value {
        json!({"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "X", "metadata": {"resourceVersion": version}}})
    }

    async fn heard(client: kube::Client, count: usize) -> Vec<Change> {
        let (sender, mut receiver) = mpsc::channel::<NumberedChange>(1);
        let collection =
            Collection { path: "/api/v1/things".to_owned(), label_selector: Some("a=b".to_owned()), heard: None };
        let mut changes = Vec::new();
        let hear = async {
            while changes.len() < count {
                let change = receiver.recv().await.unwrap().1;
                if change != Change::Connected {
                    changes.push(change);
                }
            }
        };
        tokio::select! {
            () = follow(client, collection, WholeObjects, 0, sender) => panic!("it never ends"),
            () = hear => {}
        }
        changes
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_goes_on_from_a_list_in_pages() {
        let event = json!({"type": "MODIFIED", "object": object("b", "8")});
        let gone = json!({"type": "DELETED", "object": object("b", "9")});
        let (client, log) = scripted(vec![
            page(&["a"], "7", "more"),
            page(&["b"], "7", ""),
            stream(&[event, gone, bookmark("12")]),
            stream(&[bookmark("13")]),
        ]);
        let expected = vec![
            Change::ListBegan,
            Change::Found(object("a", "7"), "7".to_owned()),
            Change::Found(object("b", "7"), "7".to_owned()),
            Change::ListEnded("7".to_owned()),
            Change::Changed(object("b", "8")),
            Change::Deleted(object("b", "9")),
            Change::Bookmark,
            Change::Bookmark,
        ];
        assert_eq!(heard(client, expected.len()).await, expected);
        let watch = "GET /api/v1/things?&watch=true&timeoutSeconds=90&labelSelector=a%3Db&allowWatchBookmarks=true";
        assert_eq!(
            log.lines()[..4],
            [
                "GET /api/v1/things?&labelSelector=a%3Db&limit=500".to_owned(),
                "GET /api/v1/things?&labelSelector=a%3Db&limit=500&continue=more".to_owned(),
                format!("{watch}&resourceVersion=7"),
                format!("{watch}&resourceVersion=12"),
            ]
        );
    }

    /// An unreadable object affects no other object, and the next watch begins after it.
    #[tokio::test(start_paused = true)]
    async fn an_unreadable_object_is_passed_over() {
        let deep = |version: &str| {
            let spec = "[".repeat(200) + &"]".repeat(200);
            format!(r#"{{"spec":{spec},"metadata":{{"name":"deep","resourceVersion":"{version}"}}}}"#)
        };
        let items = [object("a", "1").to_string(), deep("2"), object("b", "3").to_string()].join(",");
        let list = format!(r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{items}]}}"#);
        let events = format!(
            "{{\"type\":\"MODIFIED\",\"object\":{}}}\n{}\n{{\"type\":\"DELETED\",\"object\":{}}}\n",
            deep("8"),
            json!({"type": "ADDED", "object": object("c", "9")}),
            deep("10")
        );
        let (client, log) = scripted(vec![
            Response::new(Body::from(list)),
            Response::new(Body::from(events)),
            stream(&[bookmark("12")]),
        ]);
        let expected = vec![
            Change::ListBegan,
            Change::Found(object("a", "1"), "7".to_owned()),
            Change::Found(object("b", "3"), "7".to_owned()),
            Change::ListEnded("7".to_owned()),
            Change::Bookmark,
            Change::Changed(object("c", "9")),
            Change::Bookmark,
            Change::Bookmark,
        ];
        assert_eq!(heard(client, expected.len()).await, expected);
        assert!(log.lines()[2].ends_with("resourceVersion=10"), "{:?}", log.lines());
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_version_is_listed_again() {
        let gone = json!({"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410}});
        for expired in [stream(&[gone]), refuse(410, "Expired", "too old")] {
            let (client, _) = scripted(vec![page(&["a"], "7", ""), expired, page(&[], "9", "")]);
            let all = heard(client, 5).await;
            assert_eq!(all[3..], [Change::ListBegan, Change::ListEnded("9".to_owned())]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_put_back_to_an_older_state_is_listed() {
        let nothing = futures::stream::once(async {
            tokio::time::sleep(Duration::from_secs(WATCH_SECONDS.into())).await;
            Ok::<_, std::io::Error>(Vec::new())
        });
        let silent = Response::new(Body::from_stream(nothing));
        let (client, _) = scripted(vec![page(&["a"], "100", ""), silent, page(&["a"], "50", "")]);
        let all = heard(client, 5).await;
        assert_eq!(all[3..], [Change::ListBegan, Change::Found(object("a", "50"), "50".to_owned())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_watch_resumes_and_a_failing_list_restarts() {
        let (client, log) = scripted(vec![
            refuse(503, "ServiceUnavailable", "no"),
            page(&[], "7", ""),
            refuse(403, "Forbidden", "no"),
            stream(&[bookmark("8")]),
        ]);
        let failing = |text: &str| Change::Failing(text.to_owned());
        let expected = vec![
            Change::ListBegan,
            failing("503 ServiceUnavailable"),
            Change::ListBegan,
            Change::ListEnded("7".to_owned()),
            failing("403 Forbidden"),
            Change::Bookmark,
        ];
        assert_eq!(heard(client, expected.len()).await, expected);
        assert!(log.lines()[3].ends_with("resourceVersion=7"), "{:?}", log.lines());
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_and_a_watch_wait_as_long_as_asked() {
        let busy = |seconds: u32| {
            let status = json!({"status": "Failure", "code": 429, "details": {"retryAfterSeconds": seconds}});
            reply(429, &status)
        };
        let (client, _) = scripted(vec![
            busy(20),
            page(&[], "7", ""),
            busy(25),
            stream(&[bookmark("8")]),
            busy(3600),
            page(&[], "9", ""),
        ]);
        let before = clock::now();
        heard(client.clone(), 6).await;
        let waited = clock::now() - before;
        assert!(waited >= Duration::from_secs(45) && waited < Duration::from_secs(50), "{waited:?}");
        let before = clock::now();
        heard(client, 4).await;
        assert_eq!(clock::now() - before, LONGEST_ASKED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_given_up_before_two_minutes() {
        let silent = Response::new(Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>()));
        let (client, _) = scripted(vec![page(&[], "7", ""), silent, stream(&[bookmark("8")])]);
        let before = clock::now();
        let all = heard(client, 4).await;
        assert!(matches!(all[2..], [Change::Failing(_), Change::Bookmark]), "{all:?}");
        assert!(clock::now() - before < Duration::from_secs(120));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_watches_is_not_stormed() {
        let (client, log) = client(|sent: Sent| {
            let answer = if sent.uri.contains("watch=true") { stream(&[]) } else { page(&[], "7", "") };
            async move { answer }.boxed()
        });
        let waiting = tokio::time::timeout(Duration::from_secs(60), heard(client, 3)).await;
        assert!(waiting.is_err());
        assert!((5..20).contains(&log.lines().len()), "{} requests in a minute", log.lines().len());
    }
}
