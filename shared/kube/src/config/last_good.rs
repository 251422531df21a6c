//! Judges documents, and remembers the last valid version of each.
//!
//! It connects the watch of ConfigMaps, the catalogue, and the schemas of kinds. An edit that reads a field which its
//! kind lacks, or names a kind which the cluster does not have, is invalid, and the last valid version stays active:
//! with a misspelt kind, the target would release all its objects. A target that was never active has no such version.
//! It waits for its kind, and reports the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::config::watch::{Configuration, Judge, Sources};
use crate::kinds::{KindError, LOOK_UP_AGAIN, LOOK_UP_SOON, UNTOLD_LOOKS, unknown_fields};
use drift_language::{Catalogue, DocumentName, Refused, Target, TargetState, UnknownField};

/// Timeout of requests for the kinds of edited targets. With a healthy API server an edit takes effect within a second.
/// Otherwise, the target is checked again after it is active.
const SCHEMAS_WITHIN: Duration = Duration::from_secs(2);

/// Remembers the last valid versions.
pub struct LastGood {
    client: kube::Client,
    catalogue: Catalogue,
    /// Number of times that an edit was rejected for its kind's schema. The schema of a kind edited at the same time is
    /// published some seconds later.
    looks: BTreeMap<DocumentName, u32>,
    /// What the ConfigMap of forgotten targets said of each target while it had a text of its own. A later word of a
    /// person differs, because the target has new notes by then.
    forgotten_before: BTreeMap<String, String>,
    /// The rejected documents, with the hash of their text.
    refused: BTreeMap<DocumentName, (String, Vec<UnknownField>)>,
}

/// An edit is not responsible for a kind that is removed.
fn is_same_kind(before: &Target, after: &Target) -> bool {
    (before.objects.group(), &before.objects.kind) == (after.objects.group(), &after.objects.kind)
}

/// Returns the rejected documents, each with the hash of its text.
fn remembered<'e>(
    refused: &Refused,
    edits: impl Iterator<Item = (&'e Arc<Target>, &'e Arc<Target>)>,
) -> BTreeMap<DocumentName, (String, Vec<UnknownField>)> {
    let with_text = edits.filter_map(|(_, after)| {
        let unknown = refused.get(&after.document)?;
        Some((after.document.clone(), (after.document_hash.clone(), unknown.clone())))
    });
    with_text.collect()
}

impl LastGood {
    /// Creates a judge without history.
    #[must_use]
    pub fn new(client: kube::Client) -> Self {
        let (catalogue, looks, refused) = (Catalogue::default(), BTreeMap::new(), BTreeMap::new());
        Self { client, catalogue, looks, forgotten_before: BTreeMap::new(), refused }
    }

    /// Returns the edits of active targets that read fields which their kinds lack, or name missing kinds. If the
    /// active text does so too, neither works, and the edit may be the fix. An edit that cannot be checked now keeps
    /// its earlier rejection, if any.
    async fn refused(&self, next: &Catalogue) -> Refused {
        let mut refused = Refused::new();
        let edits: Vec<_> = self.catalogue.edits(next).collect();
        for (_, after) in &edits {
            let known = self.refused.get(&after.document).filter(|(hash, _)| *hash == after.document_hash);
            refused.extend(known.map(|(_, unknown)| (after.document.clone(), unknown.clone())));
        }
        let ask = async {
            for (before, after) in edits {
                let unknown = match unknown_fields(&self.client, after).await {
                    Ok(unknown) => unknown,
                    Err(missing @ KindError::Missing { .. }) if !is_same_kind(before, after) => {
                        vec![UnknownField { path: Vec::new(), written_by: None, message: missing.to_string() }]
                    }
                    Err(_) => continue,
                };
                let is_worse = match unknown.is_empty() {
                    true => false,
                    false => match unknown_fields(&self.client, before).await {
                        Ok(before) => before.is_empty(),
                        Err(_) => continue,
                    },
                };
                match is_worse {
                    true => refused.insert(after.document.clone(), unknown),
                    false => refused.remove(&after.document),
                };
            }
        };
        // Missing responses leave the earlier result unchanged.
        _ = tokio::time::timeout(SCHEMAS_WITHIN, ask).await;
        refused
    }

    /// Ends the former targets that a person forgot since they had a text.
    fn forget(&mut self, next: &mut Catalogue, forgotten: &BTreeMap<String, String>) {
        for (target, state) in next.states().clone() {
            let said = forgotten.get(&target);
            if state != TargetState::Former {
                match said {
                    Some(said) => self.forgotten_before.insert(target, said.clone()),
                    None => self.forgotten_before.remove(&target),
                };
            } else if said.is_some() && said != self.forgotten_before.get(&target) {
                next.forget(&target);
            }
        }
    }

    /// Counts the rejections, and returns the time until the next check.
    fn count_looks(&mut self, refused: &Refused) -> Option<Duration> {
        self.looks.retain(|document, _| refused.contains_key(document));
        for document in refused.keys() {
            *self.looks.entry(document.clone()).or_default() += 1;
        }
        let is_untold = |looks: &u32| *looks < UNTOLD_LOOKS;
        let soon = if self.looks.values().any(is_untold) { LOOK_UP_SOON } else { LOOK_UP_AGAIN };
        (!refused.is_empty()).then_some(soon)
    }
}

impl Judge for LastGood {
    async fn judge(&mut self, sources: &Sources) -> Configuration {
        let Sources { documents, created, forgotten } = sources;
        let mut next = self.catalogue.update_without(documents, created, &Refused::new());
        let refused = self.refused(&next).await;
        self.refused = remembered(&refused, self.catalogue.edits(&next));
        if !refused.is_empty() {
            next = self.catalogue.update_without(documents, created, &refused);
        }
        self.forget(&mut next, forgotten);
        self.catalogue = next;
        let look_again = self.count_looks(&refused);
        let problems = self.catalogue.problems();
        let is_whole = |map: &&String| !problems.iter().any(|problem| problem.document.config_map == **map);
        let unsettled = self.looks.iter().filter(|(_, looks)| **looks < UNTOLD_LOOKS);
        let unsettled: BTreeSet<_> = unsettled.map(|(document, _)| document.clone()).collect();
        Configuration {
            targets: self.catalogue.targets().clone(),
            states: self.catalogue.states().clone(),
            taken: self.catalogue.taken(),
            forgotten: forgotten.clone(),
            whole: documents.keys().filter(is_whole).cloned().collect(),
            problems: problems.iter().filter(|problem| !unsettled.contains(&problem.document)).cloned().collect(),
            doubts: self.catalogue.doubts(),
            unsettled,
            loaded: true,
            look_again,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{client, refuse, reply};
    use crate::process::clock;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    fn documents(template: &str) -> Sources {
        let text = format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: records}}\nspec:\n  objects: {{apiVersion: demo.example/v1, kind: Record}}\n  identity: x\n  read: {{http: {{url: 'http://h/x'}}}}\n  compare: {{desired: {{ttl: '${{{template}}}'}}}}\n"
        );
        in_config_map(text)
    }

    fn in_config_map(text: String) -> Sources {
        let documents = BTreeMap::from([("m".to_owned(), BTreeMap::from([("a".to_owned(), text)]))]);
        Sources { documents, ..Sources::default() }
    }

    fn schema(fields: &[&str]) -> Value {
        let fields: serde_json::Map<_, _> =
            fields.iter().map(|field| ((*field).to_owned(), json!({"type": "integer"}))).collect();
        let kind = json!({"x-kubernetes-group-version-kind": [{"group": "demo.example", "version": "v1", "kind": "Record"}],
            "properties": {"spec": {"type": "object", "properties": fields}}});
        json!({"components": {"schemas": {"r": kind}}})
    }

    /// A judge, and the schema that the API server publishes. Without one it does not answer.
    fn judge() -> (LastGood, Arc<Mutex<Option<Value>>>) {
        let published = Arc::new(Mutex::new(Some(schema(&["ttl"]))));
        let answered = published.clone();
        let (client, _) = client(move |sent| {
            let schema = answered.lock().unwrap().clone();
            Box::pin(async move {
                match (sent.uri.as_str(), schema) {
                    (_, None) => std::future::pending().await,
                    ("/apis/demo.example/v1", _) => reply(
                        200,
                        &json!({"kind": "APIResourceList", "groupVersion": "demo.example/v1",
                        "resources": [{"name": "records", "singularName": "record", "namespaced": true, "kind": "Record",
                            "verbs": ["list", "watch", "patch"]}]}),
                    ),
                    ("/openapi/v3/apis/demo.example/v1", Some(schema)) => reply(200, &schema),
                    _ => refuse(404, "NotFound", "404 page not found"),
                }
            })
        });
        (LastGood::new(client), published)
    }

    /// The active text, its problems, and true if the current ConfigMap is active.
    async fn judged(judge: &mut LastGood, documents: &Sources) -> (String, Vec<String>, bool) {
        let found = judge.judge(documents).await;
        let problems = found.problems.iter().map(ToString::to_string).collect();
        (found.targets["records"].document_hash.clone(), problems, found.whole.contains("m"))
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_that_reads_an_unknown_field_is_bad() {
        let (mut judge, published) = judge();
        let (good, wrong) = (documents("self.spec.ttl"), documents("self.spec.?tll.orValue(300)"));
        let (first, problems, is_whole) = judged(&mut judge, &good).await;
        assert!(problems.is_empty() && is_whole);
        assert_eq!(judge.judge(&wrong).await.unsettled.len(), 1, "it is not told, and not good either");
        for look in 2..=UNTOLD_LOOKS {
            let (current, problems, is_whole) = judged(&mut judge, &wrong).await;
            assert!(current == first && !is_whole, "look {look}");
            let said = "m/a line 8 column 42: demo.example/v1 Record has no field spec.tll, which a template reads: did you mean `ttl`?";
            let said: &[&str] = if look < UNTOLD_LOOKS { &[] } else { &[said] };
            assert_eq!(problems, said, "look {look}");
        }
        *published.lock().unwrap() = None;
        let (current, problems, _) = judged(&mut judge, &wrong).await;
        assert!(
            current == first && problems.len() == 1,
            "what was refused stays so while nobody answers: {problems:?}"
        );
        *published.lock().unwrap() = Some(schema(&["ttl"]));
        let told = judge.judge(&wrong).await;
        assert!(told.look_again == Some(LOOK_UP_AGAIN) && told.unsettled.is_empty());
        *published.lock().unwrap() = Some(schema(&["ttl", "tll"]));
        let found = judge.judge(&wrong).await;
        assert!(found.targets["records"].document_hash != first && found.problems.is_empty());
        assert_eq!(found.look_again, None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_to_a_missing_kind_is_bad() {
        let (mut judge, _) = judge();
        let good = documents("self.spec.ttl");
        let (first, ..) = judged(&mut judge, &good).await;
        let misspelt = in_config_map(good.documents["m"]["a"].replace("kind: Record", "kind: Records"));
        for look in 1..=UNTOLD_LOOKS {
            let (current, problems, is_whole) = judged(&mut judge, &misspelt).await;
            assert!(current == first && !is_whole, "look {look}");
            assert_eq!(problems.len(), usize::from(look == UNTOLD_LOOKS), "look {look}: {problems:?}");
            let told = "m/a line 5 column 42: the cluster has no kind Records in demo.example/v1: ";
            assert!(problems.iter().all(|problem| problem.starts_with(told)), "{problems:?}");
        }
        let (current, problems, is_whole) = judged(&mut judge, &good).await;
        assert!(current == first && problems.is_empty() && is_whole);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_of_an_unknown_kind_is_taken() {
        let (mut judge, published) = judge();
        let (first, ..) = judged(&mut judge, &documents("self.spec.ttl")).await;
        *published.lock().unwrap() = None;
        let begun = clock::now();
        let (second, problems, is_whole) = judged(&mut judge, &documents("self.spec.tll")).await;
        assert!(second != first && problems.is_empty() && is_whole);
        assert_eq!(clock::now() - begun, SCHEMAS_WITHIN);
        *published.lock().unwrap() = Some(schema(&["ttl"]));
        let (third, problems, _) = judged(&mut judge, &documents("self.spec.ltt")).await;
        assert!(third != second && problems.is_empty(), "the active text does not work either");
    }

    #[tokio::test(start_paused = true)]
    async fn a_person_ends_a_former_target() {
        let (mut judge, _) = judge();
        let good = documents("self.spec.ttl");
        let saying = |said: &str, sources: &Sources| {
            let forgotten = BTreeMap::from([("records".to_owned(), said.to_owned())]);
            Sources { forgotten, ..sources.clone() }
        };
        let gone = Sources::default();
        for (sources, state) in [
            (saying("1", &good), TargetState::Live),
            (saying("1", &gone), TargetState::Former),
            (saying("1 2", &gone), TargetState::Missing),
            (saying("1 2", &good), TargetState::Live),
            (saying("1 2", &gone), TargetState::Former),
            (gone.clone(), TargetState::Former),
        ] {
            assert_eq!(judge.judge(&sources).await.state_of("records"), state, "{sources:?}");
        }
    }
}
