//! Detects changes of objects of any kind, without their content.
//!
//! It serves readers that read objects one by one and want to do so sooner. Nothing is kept of the objects. A watch
//! that resumes from its last version misses nothing, including versions that a previous listener received. If it
//! cannot resume, it reports that changes may have been missed.

use futures::future::join_all;
use tokio::sync::mpsc;

use crate::client::ResolvedKind;
use crate::client::{NamedVersion, ObjectNames};
use crate::watch::collection::{Change, Collection, NumberedChange, follow};
use crate::watch::resume_versions::HeardVersions;
use drift_api::object::cluster_resource::ObjectName;

/// Maximum queued changes between the connections and this task. Further changes wait at the API server.
const BUFFER: usize = 16;

/// An event about resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceNews {
    /// This object was created, changed or deleted.
    Changed(ObjectName),
    /// Any object may have changed.
    Missed,
    /// Every collection is watched.
    Watched,
    /// A collection cannot be watched at the moment, and is retried with pauses.
    Failing(String),
}

/// Sends changes in these namespaces (empty: all), with one watch for each, until the receiver is closed.
/// Changes that the listener of this name has missed are sent first. For a new name, objects that exist at the
/// start are not changes.
pub async fn hear_of_changes(
    client: &kube::Client,
    kind: &ResolvedKind,
    namespaces: &[String],
    name: &str,
    heard: &HeardVersions,
    listener: mpsc::Sender<ResourceNews>,
) {
    let (sender, mut changes) = mpsc::channel::<NumberedChange<NamedVersion>>(BUFFER);
    let paths = kind.paths(namespaces);
    let mut collections = Collections::of(paths.iter().map(|path| heard.of(name, path).get().is_some()));
    let following = paths.into_iter().enumerate().map(|(number, path)| {
        let heard = Some(heard.of(name, &path));
        let collection = Collection { path, label_selector: None, heard };
        follow(client.clone(), collection, ObjectNames, number, sender.clone())
    });
    let hearing = async {
        while let Some((number, change)) = changes.recv().await {
            if let Some(news) = collections.hear(number, change)
                && listener.send(news).await.is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        _ = join_all(following) => {}
        () = hearing => {}
    }
}

/// The state of the followed collections.
#[derive(Debug)]
struct Collections(Vec<Followed>);

#[derive(Clone, Copy, Debug, Default)]
struct Followed {
    is_listed: bool,
    is_watched: bool,
    /// True if no watch ran for a while although one was requested.
    may_have_missed: bool,
}

impl Collections {
    /// Creates the state. Each collection that was listed before resumes from there.
    fn of(listed: impl Iterator<Item = bool>) -> Self {
        Self(listed.map(|is_listed| Followed { is_listed, ..Followed::default() }).collect())
    }

    fn hear(&mut self, number: usize, change: Change<NamedVersion>) -> Option<ResourceNews> {
        let followed = self.0.get_mut(number)?;
        match change {
            Change::ListBegan | Change::Found(..) | Change::Bookmark => None,
            Change::ListEnded(_) => {
                let missed = followed.is_listed || followed.may_have_missed;
                (followed.is_listed, followed.may_have_missed) = (true, false);
                missed.then_some(ResourceNews::Missed)
            }
            Change::Connected => {
                followed.is_watched = true;
                self.0.iter().all(|one| one.is_watched).then_some(ResourceNews::Watched)
            }
            Change::Changed(object) | Change::Deleted(object) => Some(ResourceNews::Changed(object.name)),
            Change::Failing(text) => {
                followed.is_watched = false;
                followed.may_have_missed |= !followed.is_listed;
                Some(ResourceNews::Failing(text))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {

    use axum::body::Body;
    use axum::http::Response;
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::{Value, json};

    use super::*;
    use crate::client::fake_api::{refuse, reply, scripted};

    const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

    fn kind() -> ResolvedKind {
        let kind = GroupVersionKind::gvk("apps", "v1", "StatefulSet");
        ResolvedKind { resource: ApiResource::from_gvk_with_plural(&kind, "statefulsets"), namespaced: true }
    }

    fn object(name: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "a", "resourceVersion": version}})
    }

    fn list(version: &str) -> Response<Body> {
        reply(200, &json!({"metadata": {"resourceVersion": version}, "items": [object("known", "1")]}))
    }

    fn stream(events: &[Value]) -> Response<Body> {
        let lines: Vec<_> = events.iter().map(|event| format!("{event}\n")).collect();
        Response::new(Body::from(lines.concat()))
    }

    fn event(of: &str, object: &Value) -> Value {
        json!({"type": of, "object": object})
    }

    fn changed(name: &str) -> ResourceNews {
        ResourceNews::Changed(ObjectName { namespace: Some("a".to_owned()), name: name.to_owned() })
    }

    async fn heard(client: &kube::Client, count: usize) -> Vec<ResourceNews> {
        heard_after(&HeardVersions::default(), client, count).await
    }

    async fn heard_after(before: &HeardVersions, client: &kube::Client, count: usize) -> Vec<ResourceNews> {
        let (sender, mut receiver) = mpsc::channel(1);
        let (kind, namespaces) = (kind(), ["a".to_owned()]);
        let mut news = Vec::new();
        let hear = async {
            while news.len() < count {
                news.push(receiver.recv().await.unwrap());
            }
        };
        tokio::select! {
            () = hear_of_changes(client, &kind, &namespaces, "target", before, sender) => panic!("it never ends"),
            () = hear => {}
        }
        news
    }

    #[tokio::test(start_paused = true)]
    async fn changes_are_told_and_what_stood_there_is_not() {
        let bookmark = event("BOOKMARK", &json!({"metadata": {"resourceVersion": "9"}}));
        let events = [
            event("MODIFIED", &object("known", "8")),
            event("ADDED", &object("new", "8")),
            event("DELETED", &object("known", "9")),
            bookmark,
        ];
        let (client, log) =
            scripted(vec![list("7"), stream(&events), stream(&[event("MODIFIED", &object("new", "10"))])]);
        let expected = [
            ResourceNews::Watched,
            changed("known"),
            changed("new"),
            changed("known"),
            ResourceNews::Watched,
            changed("new"),
        ];
        assert_eq!(heard(&client, expected.len()).await, expected);
        let path = "/apis/apps/v1/namespaces/a/statefulsets";
        let watch = format!("GET {path}?&watch=true&timeoutSeconds=90&allowWatchBookmarks=true&resourceVersion");
        let asked: Vec<_> = log.all().into_iter().map(|sent| (sent.line(), sent.accept)).collect();
        let of = |line: String, accept: &str| (line, accept.to_owned());
        assert_eq!(
            asked[..3],
            [of(format!("GET {path}?&limit=500"), LIST), of(format!("{watch}=7"), ONE), of(format!("{watch}=9"), ONE)]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_forgotten_version_means_that_anything_may_have_changed() {
        let gone = event("ERROR", &json!({"kind": "Status", "status": "Failure", "code": 410}));
        for expired in [stream(&[gone]), refuse(410, "Expired", "too old")] {
            let (client, _) =
                scripted(vec![list("7"), expired, list("20"), stream(&[event("ADDED", &object("b", "21"))])]);
            let news = heard(&client, 3).await;
            let news: Vec<_> = news.into_iter().filter(|one| *one != ResourceNews::Watched).collect();
            assert_eq!(news[0], ResourceNews::Missed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_list_that_came_late_may_miss_something() {
        let failing = ResourceNews::Failing("403 Forbidden".to_owned());
        let (client, _) = scripted(vec![
            refuse(403, "Forbidden", "no"),
            list("7"),
            refuse(403, "Forbidden", "no"),
            stream(&[event("MODIFIED", &object("known", "8"))]),
        ]);
        let expected = [failing.clone(), ResourceNews::Missed, failing, ResourceNews::Watched, changed("known")];
        assert_eq!(heard(&client, expected.len()).await, expected);
    }

    /// No events are received between two listeners of one name.
    #[tokio::test(start_paused = true)]
    async fn the_next_listener_goes_on_from_there() {
        let before = HeardVersions::default();
        let (client, _) = scripted(vec![list("7"), stream(&[event("MODIFIED", &object("known", "8"))])]);
        assert_eq!(heard_after(&before, &client, 2).await, [ResourceNews::Watched, changed("known")]);

        let (client, log) = scripted(vec![stream(&[
            event("MODIFIED", &object("known", "8")),
            event("DELETED", &object("known", "9")),
        ])]);
        let news = heard_after(&before, &client, 3).await;
        assert_eq!(
            news,
            [ResourceNews::Watched, changed("known"), changed("known")],
            "what was heard just now once more"
        );
        let asked = log.all()[0].line();
        assert!(asked.ends_with("watch=true&timeoutSeconds=90&allowWatchBookmarks=true&resourceVersion=7"), "{asked}");

        let (client, _) = scripted(vec![refuse(410, "Expired", "too old"), list("20")]);
        assert_eq!(heard_after(&before, &client, 1).await, [ResourceNews::Missed], "nobody knows what happened");
        let (client, _) = scripted(vec![list("30"), stream(&[event("ADDED", &object("new", "31"))])]);
        let (kind, namespaces, (sender, mut receiver)) = (kind(), ["a".to_owned()], mpsc::channel(1));
        tokio::select! {
            () = hear_of_changes(&client, &kind, &namespaces, "other", &before, sender) => panic!("it never ends"),
            first = receiver.recv() => assert_eq!(first, Some(ResourceNews::Watched), "another one begins with a list"),
        }
    }

    #[test]
    fn all_collections_have_to_be_watched() {
        let mut collections = Collections::of([false; 2].into_iter());
        assert_eq!(collections.hear(0, Change::Connected), None);
        assert_eq!(collections.hear(1, Change::Connected), Some(ResourceNews::Watched));
        let failing = Change::Failing("no".to_owned());
        assert_eq!(collections.hear(0, failing), Some(ResourceNews::Failing("no".to_owned())));
        assert_eq!(collections.hear(1, Change::Connected), None);
        assert_eq!(collections.hear(0, Change::Connected), Some(ResourceNews::Watched));
    }
}
