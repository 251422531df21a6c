//! The lists of objects that a command needs: one of each kind, version and place, for all targets together.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_kube::client::{self, CALL_DEADLINE, CallError, FORBIDDEN, ObjectPages, ResolvedKind};
use drift_language::LabelSelector;
use futures::{StreamExt as _, stream};
use kube::api::ListParams;
use kube::core::Request;
use serde_json::Value;

use super::{KnownKind, REQUESTS_AT_ONCE};
use crate::cluster::{get, selected_namespaces};

/// The objects of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked<'a> {
    /// Only this namespace; all of them if `None`.
    pub(crate) namespace: Option<&'a str>,
    /// Only objects with these labels.
    pub(crate) selector: LabelSelector,
    /// Only objects of these names, by the number of the known kind. A kind that is missing here has all.
    pub(crate) names: BTreeMap<usize, BTreeSet<String>>,
}

/// Objects of one kind and version in one place.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) kind: ResolvedKind,
    /// `None` for the whole cluster.
    pub(crate) namespace: Option<String>,
    /// The numbers of the known kinds whose targets may select them.
    pub(crate) of: Vec<usize>,
    /// The labels for the API server to select by. Empty: the client selects.
    selector: String,
    /// The names to read one by one. Empty: a list.
    names: BTreeSet<String>,
}

/// A collection and its objects.
#[derive(Debug)]
pub(crate) struct ListedCollection<O = Vec<SeenObject>> {
    pub(crate) collection: Collection,
    pub(crate) objects: Result<O, CallError>,
}

/// The collections that have the objects of these kinds.
#[must_use]
pub(crate) fn collections(known: &[KnownKind], asked: &Asked<'_>) -> Vec<Collection> {
    collections_of(known, asked, |_| true)
}

fn collections_of(known: &[KnownKind], asked: &Asked<'_>, is_meant: impl Fn(usize) -> bool) -> Vec<Collection> {
    let mut places: BTreeMap<_, BTreeMap<Option<String>, Vec<usize>>> = BTreeMap::new();
    for (number, one) in known.iter().enumerate().filter(|(number, _)| is_meant(*number)) {
        let resource = &one.kind.resource;
        let key = (&resource.group, &resource.plural, &resource.version);
        let of_kind = places.entry(key).or_default();
        for place in places_of(number, one, asked) {
            of_kind.entry(place).or_default().push(number);
        }
    }
    let of_kind = places.into_values().flat_map(together);
    of_kind.filter_map(|(namespace, of)| Collection::new(known, asked, namespace, of)).collect()
}

/// The places of a target's objects: `None` is the whole cluster.
fn places_of(number: usize, one: &KnownKind, asked: &Asked<'_>) -> Vec<Option<String>> {
    // One read shows a named object also to targets of other namespaces, so that a message can compare them.
    if let Some(namespace) = asked.namespace.filter(|_| one.kind.namespaced && asked.names.contains_key(&number)) {
        return vec![Some(namespace.to_owned())];
    }
    match selected_namespaces(&one.objects, &one.kind, asked.namespace) {
        None => Vec::new(),
        Some(namespaces) if namespaces.is_empty() || !one.kind.namespaced => vec![None],
        Some(namespaces) => namespaces.into_iter().map(Some).collect(),
    }
}

/// If a target needs the whole cluster, one list has the objects of all.
fn together(mut places: BTreeMap<Option<String>, Vec<usize>>) -> BTreeMap<Option<String>, Vec<usize>> {
    if places.contains_key(&None) {
        let all: BTreeSet<usize> = places.into_values().flatten().collect();
        places = BTreeMap::from([(None, all.into_iter().collect())]);
    }
    places
}

impl Collection {
    fn new(known: &[KnownKind], asked: &Asked<'_>, namespace: Option<String>, of: Vec<usize>) -> Option<Self> {
        let first = *of.first()?;
        let one = known.get(first)?;
        let kind = one.kind.clone();
        let is_one_by_one = namespace.is_some() || !kind.namespaced;
        let names = asked.names.get(&first).filter(|_| is_one_by_one).cloned().unwrap_or_default();
        // Without its text, the labels of a target are not known. A named object is shown with its labels.
        let is_only = of.len() == 1 && one.target.text().is_some() && !asked.names.contains_key(&first);
        let only = is_only.then_some(&one.objects.label_selector);
        let selectors = [Some(&asked.selector), only].into_iter().flatten().filter(|selector| !selector.is_empty());
        let selector = selectors.map(ToString::to_string).collect::<Vec<_>>().join(",");
        Some(Self { kind, namespace, of, selector, names })
    }

    /// Returns true if a smaller one is possible: it has all namespaces.
    const fn is_of_cluster(&self) -> bool {
        self.namespace.is_none() && self.kind.namespaced
    }

    /// Reads the objects: the named ones one by one, else in pages.
    async fn read(&self, client: &kube::Client, mut add: impl FnMut(SeenObject)) -> Result<(), CallError> {
        let path = self.kind.path(self.namespace.as_deref());
        for name in &self.names {
            let object = get(client, &path, name).await?.map(|object| SeenObject {
                labels: object.pointer("/metadata/labels").cloned(),
                object: LeanObject::prune(&object, &FieldPaths::default()),
            });
            object.into_iter().for_each(&mut add);
        }
        if self.names.is_empty() {
            let namespaces = self.namespace.as_slice();
            let pages = ObjectPages::new(client, &self.kind, namespaces, FieldPaths::default());
            let mut pages = pages.selecting(&self.selector);
            while let Some(page) = pages.next_seen().await? {
                page.into_iter().for_each(&mut add);
            }
        }
        Ok(())
    }
}

/// Reads the objects of these kinds. If the whole cluster may not be listed, the namespaces that targets name are.
pub(crate) async fn list(client: &kube::Client, known: &[KnownKind], asked: &Asked<'_>) -> Vec<ListedCollection> {
    list_into(client, (known, asked), |_, objects: &mut Vec<_>, seen| objects.push(seen)).await
}

/// Reads the objects like [`list`] and calls `add` for each, with the result of its collection and the numbers of the
/// known kinds that may have it. Keeps no object longer than its page.
pub(crate) async fn list_into<O: Default>(
    client: &kube::Client,
    (known, asked): (&[KnownKind], &Asked<'_>),
    add: impl Fn(&[usize], &mut O, SeenObject),
) -> Vec<ListedCollection<O>> {
    let mut listed = read_all(client, collections(known, asked), &add).await;
    let is_forbidden = |one: &&mut ListedCollection<O>| {
        one.collection.is_of_cluster() && one.objects.as_ref().is_err_and(|error| error.code() == Some(FORBIDDEN))
    };
    let refused = listed.iter_mut().filter(is_forbidden).map(|one| &mut one.collection);
    let smaller = in_named_namespaces((known, asked), refused);
    listed.retain(|one| !one.collection.of.is_empty());
    listed.extend(read_all(client, smaller, &add).await);
    listed
}

/// Returns the collections to follow. If the whole cluster may not be listed, the namespaces that targets name are.
pub(crate) async fn followed(client: &kube::Client, known: &[KnownKind], asked: &Asked<'_>) -> Vec<Collection> {
    let mut whole = collections(known, asked);
    let has_smaller =
        |one: &&mut Collection| one.is_of_cluster() && one.of.iter().any(|number| names_namespaces(known, *number));
    let mut refused = Vec::new();
    for one in whole.iter_mut().filter(has_smaller) {
        if is_refused(client, &one.kind).await {
            refused.push(one);
        }
    }
    let smaller = in_named_namespaces((known, asked), refused);
    whole.retain(|one| !one.of.is_empty());
    whole.extend(smaller);
    whole
}

/// Returns true if the user may not list a kind in the whole cluster.
pub(crate) async fn is_refused(client: &kube::Client, kind: &ResolvedKind) -> bool {
    let Ok(request) = Request::new(kind.path(None)).list(&ListParams::default().limit(1)) else { return false };
    let listed: Result<Value, _> = client::request(client, CALL_DEADLINE, request).await;
    listed.is_err_and(|error| error.code() == Some(FORBIDDEN))
}

fn names_namespaces(known: &[KnownKind], number: usize) -> bool {
    known.get(number).is_some_and(|one| !one.objects.namespaces.is_empty())
}

/// The collections in place of those of the whole cluster that may not be listed. These keep the targets without
/// namespaces.
fn in_named_namespaces<'c>(
    (known, asked): (&[KnownKind], &Asked<'_>),
    refused: impl IntoIterator<Item = &'c mut Collection>,
) -> Vec<Collection> {
    let mut named = BTreeSet::new();
    for collection in refused {
        let (of_named, others): (Vec<_>, _) =
            collection.of.iter().copied().partition(|number| names_namespaces(known, *number));
        named.extend(of_named);
        collection.of = others;
    }
    collections_of(known, asked, |number| named.contains(&number))
}

async fn read_all<O: Default>(
    client: &kube::Client,
    collections: Vec<Collection>,
    add: &impl Fn(&[usize], &mut O, SeenObject),
) -> Vec<ListedCollection<O>> {
    let read = async |collection: Collection| {
        let mut objects = O::default();
        let read = collection.read(client, |seen| add(&collection.of, &mut objects, seen)).await;
        ListedCollection { objects: read.map(|()| objects), collection }
    };
    stream::iter(collections).map(read).buffered(REQUESTS_AT_ONCE).collect().await
}
