use super::*;
use crate::client::fake_api::{answering, refuse, reply};
use crate::telemetry::health::Health;
use drift_model::names;
use drift_target::LabelSelector;
use kube::core::ApiResource;
use serde_json::{Value, json};

fn request(namespaces: &[&str]) -> WatchRequest {
    let resource = ApiResource {
        group: "demo.example".to_owned(),
        version: "v1".to_owned(),
        api_version: "demo.example/v1".to_owned(),
        kind: "Proxy".to_owned(),
        plural: "proxies".to_owned(),
    };
    let selection = ObjectSelection {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        label_selector: LabelSelector::default(),
    };
    let kind = ResolvedKind { resource, namespaced: true };
    let (target, health) = ("proxies".to_owned(), Health::default());
    WatchRequest { kind, selection, fields: FieldPaths::default(), target, health }
}

fn json(name: &str, uid: &str) -> Value {
    json!({"metadata": {"namespace": "a", "name": name, "uid": uid, "resourceVersion": "1"}})
}

fn object(name: &str, uid: &str) -> KeptObject {
    KeptObject { json: json(name, uid), is_oversized: false }
}

struct Heard {
    watch: ObjectWatch,
    events: mpsc::Receiver<ObjectEvent>,
}

impl Heard {
    fn new(namespaces: &[&str]) -> Self {
        let (sender, events) = mpsc::channel(100);
        Self { watch: ObjectWatch::new(request(namespaces), sender), events }
    }

    /// What a change makes of it, as words.
    async fn after(&mut self, number: usize, change: Change<KeptObject>) -> Vec<String> {
        assert!(self.watch.hear(number, change).await.is_ok());
        self.words()
    }

    fn words(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            words.push(match event {
                ObjectEvent::Seen(object) => format!("seen {} {}", object.id.name, object.id.uid),
                ObjectEvent::Left { id, object } => {
                    format!("left {} {}{}", id.name, id.uid, if object.is_some() { " alive" } else { "" })
                }
                ObjectEvent::Listed => "listed".to_owned(),
                ObjectEvent::Alive { .. } => "alive".to_owned(),
            });
        }
        words
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_list_reports_what_vanished_and_is_no_news_otherwise() {
    let mut heard = Heard::new(&[]);
    assert!(heard.after(0, Change::ListBegan).await.is_empty());
    assert_eq!(heard.after(0, Change::Found(object("p", "1"), "1".to_owned())).await, ["seen p 1"]);
    assert_eq!(heard.after(0, Change::Found(object("q", "2"), "1".to_owned())).await, ["seen q 2"]);
    assert_eq!(heard.after(0, Change::ListEnded).await, ["listed", "alive"]);
    assert_eq!(heard.after(0, Change::Changed(object("r", "3"))).await, ["seen r 3"]);
    heard.after(0, Change::ListBegan).await;
    // p was deleted and created anew meanwhile, q is gone, r is as it was.
    assert_eq!(heard.after(0, Change::Found(object("p", "9"), "1".to_owned())).await, ["seen p 9"]);
    assert_eq!(heard.after(0, Change::Found(object("r", "3"), "1".to_owned())).await, ["seen r 3"]);
    let mut left = heard.after(0, Change::ListEnded).await;
    left.sort();
    assert_eq!(left, ["left p 1", "left q 2"]);
    assert_eq!(heard.after(0, Change::Deleted(object("r", "3"))).await, ["left r 3"]);
}

#[tokio::test]
async fn an_object_that_stops_matching_is_handed_over_alive_and_comes_back() {
    let mut heard = Heard::new(&[]);
    let mut marked = json("p", "1");
    let turns = [
        (false, vec![]),
        (true, vec!["seen p 1"]),
        (false, vec!["left p 1 alive"]),
        (false, vec![]),
        (true, vec!["seen p 1"]),
    ];
    for (is_selected, expected) in turns {
        let lean = Box::new(LeanObject::prune(&marked, &FieldPaths::default()));
        assert!(heard.watch.place(0, lean, is_selected).await.is_ok());
        assert_eq!(heard.words(), expected, "{is_selected}");
    }
    marked["metadata"]["finalizers"] = json!([names::FINALIZER]);
    for _ in 0..2 {
        let lean = Box::new(LeanObject::prune(&marked, &FieldPaths::default()));
        assert!(heard.watch.place(0, lean, false).await.is_ok());
        assert_eq!(heard.words(), ["left p 1 alive"], "a finalizer of ours is left alone");
    }
}

#[tokio::test(start_paused = true)]
async fn all_namespaces_count_for_listed_and_alive() {
    let mut heard = Heard::new(&["a", "b"]);
    let WatchRequest { kind, selection, .. } = &heard.watch.request;
    assert_eq!(paths(kind, &selection.namespaces)[1], "/apis/demo.example/v1/namespaces/b/proxies");
    for number in [0, 1] {
        heard.after(number, Change::ListBegan).await;
        let said = heard.after(number, Change::ListEnded).await;
        assert_eq!(said, if number == 0 { vec![] } else { vec!["listed", "alive"] });
    }
    tokio::time::advance(ALIVE_SPACING).await;
    assert!(heard.after(0, Change::Bookmark).await.is_empty());
    assert!(heard.after(0, Change::Bookmark).await.is_empty());
    assert!(heard.after(1, Change::Connected).await.is_empty(), "an open connection is no sign of life");
    assert_eq!(heard.after(1, Change::Bookmark).await, ["alive"]);
    assert!(heard.after(0, Change::Bookmark).await.is_empty());
    assert!(heard.after(1, Change::Bookmark).await.is_empty(), "said too often");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_a_remark_for_as_long_as_it_lasts() {
    let mut heard = Heard::new(&["a", "b"]);
    let health = heard.watch.request.health.clone();
    heard.after(0, Change::ListEnded).await;
    heard.after(1, Change::Failing("403 Forbidden".to_owned())).await;
    let remark = |health: &Health| health.remarks().first().and_then(|remark| remark.trouble.clone());
    assert_eq!(remark(&health).as_deref(), Some("cannot watch proxies: 403 Forbidden"));
    assert!(health.is_ready(), "other targets work");
    heard.after(0, Change::Failing("no".to_owned())).await;
    heard.after(1, Change::ListEnded).await;
    assert_eq!(remark(&health).as_deref(), Some("cannot watch proxies: no"));
    heard.after(0, Change::Connected).await;
    assert_eq!(remark(&health), None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_when_it_is_stopped_or_nobody_listens() {
    for is_stopped in [true, false] {
        let (client, log) = answering(|sent| match sent.uri.contains("watch=true") {
            true => refuse(503, "ServiceUnavailable", "no"),
            false => reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": [json("p", "1")]})),
        });
        let (sender, mut events) = mpsc::channel(100);
        let stop = CancellationToken::new();
        let watching = watch_objects(client, request(&["a", "b"]), sender, stop.clone());
        let ending = async {
            let first = events.recv().await;
            assert!(matches!(first, Some(ObjectEvent::Seen(_))), "{first:?}");
            if is_stopped { stop.cancel() } else { drop(events) }
        };
        let both = async { tokio::join!(watching, ending) };
        let ended = tokio::time::timeout(ALIVE_SPACING, both).await;
        assert!(ended.is_ok(), "stopped {is_stopped}: {:?}", log.lines());
        assert!(log.lines()[0].starts_with("GET /apis/demo.example/v1/namespaces/a/proxies?&limit=500"));
    }
}

#[test]
fn an_object_that_is_out_of_the_selection_matters_while_it_carries_ours() {
    let lean = |object: &Value| LeanObject::prune(object, &FieldPaths::default());
    let mut with_finalizer = json("p", "1");
    with_finalizer["metadata"]["finalizers"] = json!([names::FINALIZER]);
    let mut with_condition = json("p", "1");
    with_condition["status"] = json!({"conditions": [{"type": names::DRIFT_OBSERVED}]});
    assert!(carries_ours(&lean(&with_finalizer)) && carries_ours(&lean(&with_condition)));
    assert!(!carries_ours(&lean(&json("p", "1"))));
}
