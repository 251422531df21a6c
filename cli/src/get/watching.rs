//! `get --watch`: the list, then each change as the API server reports it. An object with a report changes with either.

mod followed_reports;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use drift_api::object::SeenObject;
use drift_kube::process::clock;
use drift_kube::watch::{Change, follow_objects, follow_reports};
use futures::FutureExt as _;
use tokio::sync::mpsc;

use super::changes::{Followed, RowKey};
use super::listed_targets::ListedTargets;
use super::rendering::{FollowedList, Layout};
use super::rows::Row;
use super::wanted::{Wanted, arrange};
use crate::cluster::selected_namespaces;
use crate::ending::CommandError;
use crate::targets::collections::{Collection, followed};
use crate::targets::reports::followed_places;
use followed_reports::FollowedReports;

/// Changes that may wait to be printed: a page of a list. The watch waits then, as for any slow reader.
const WAITING_CHANGES: usize = 500;

/// Prints until stdout is closed.
///
/// # Errors
/// If stdout is closed.
pub(super) async fn watch(
    client: &kube::Client,
    listed: &ListedTargets,
    (namespace, wanted, layout): (Option<&str>, Wanted, &Layout),
) -> Result<(), CommandError> {
    let (sender, mut changes) = mpsc::channel(WAITING_CHANGES);
    let of_collections = followed(client, &listed.known, &listed.to_read(namespace)).await;
    let mut followers = Vec::new();
    for (number, one) in of_collections.iter().enumerate() {
        let place = (one.kind.clone(), one.namespace.clone());
        followers.push(follow_objects(client.clone(), place.0, place.1, (number, sender.clone())).boxed());
    }
    let places = listed.known.iter().filter_map(|one| {
        let namespaces = selected_namespaces(&one.objects, &one.kind, namespace)?;
        Some((&one.objects, namespaces))
    });
    let places = followed_places(client, places).await;
    let reports: BTreeMap<usize, Option<String>> = (of_collections.len()..).zip(places).collect();
    for (number, namespace) in &reports {
        followers.push(follow_reports(client.clone(), namespace.clone(), (*number, sender.clone())).boxed());
    }
    drop(sender);
    let unlisted = (0..followers.len()).collect();
    let mut watching = Watching {
        listed,
        of_collections,
        unlisted,
        reports: FollowedReports::new(reports),
        wanted,
        layout,
        followed: Followed::new(wanted),
        objects: BTreeMap::new(),
        list: None,
    };
    let printing = async {
        loop {
            let text = tokio::select! {
                heard = changes.recv() => match heard {
                    Some((number, change)) => watching.hear(number, change),
                    None => return Ok::<(), CommandError>(()),
                },
                () = listed.holds_read.notified() => watching.hear_holds(),
            };
            anstream::stdout().write_all(text.as_bytes())?;
        }
    };
    tokio::select! {
        printed = printing => printed,
        _ = futures::future::join_all(followers) => Ok(()),
    }
}

struct Watching<'s> {
    listed: &'s ListedTargets,
    /// The collection of each number.
    of_collections: Vec<Collection>,
    /// Collections whose list has not come yet.
    unlisted: BTreeSet<usize>,
    reports: FollowedReports,
    wanted: Wanted,
    layout: &'s Layout,
    followed: Followed,
    /// The listed objects, whose rows change with the Leases and their reports too.
    objects: BTreeMap<RowKey, SeenObject>,
    /// Once all lists have come.
    list: Option<FollowedList>,
}

impl Watching<'_> {
    /// The text that follows from a change.
    fn hear(&mut self, number: usize, change: Change<SeenObject>) -> String {
        let rows = self.rows_of(number, change);
        match &mut self.list {
            Some(list) => list.lines(&rows, clock::wall()),
            None if self.unlisted.is_empty() => {
                let rows = arrange(self.followed.rows(), self.wanted);
                let (list, text) = FollowedList::begin(&rows, self.layout, clock::wall());
                self.list = Some(list);
                text
            }
            None => String::new(),
        }
    }

    /// The text that follows from the Leases, which were read again.
    fn hear_holds(&mut self) -> String {
        if self.list.is_none() {
            return String::new();
        }
        let objects = self.objects.iter();
        let present: Vec<_> = objects.filter_map(|(key, seen)| Some((key.clone(), self.row(key.0, seen)?))).collect();
        let again = present.into_iter().filter_map(|(key, row)| self.followed.held_again(&key, row));
        let rows: Vec<_> = again.collect();
        let Some(list) = &mut self.list else { return String::new() };
        list.lines(&rows, clock::wall())
    }

    fn rows_of(&mut self, number: usize, change: Change<SeenObject>) -> Vec<Row> {
        if self.reports.has(number) {
            return self.rows_of_reports(number, change);
        }
        match change {
            Change::ListBegan => self.followed.began(number),
            Change::Found(seen, _) | Change::Changed(seen) => return self.seen(number, &seen).into_iter().collect(),
            Change::Deleted(seen) => {
                let place = (number, seen.object.id.uid.to_string());
                self.objects.remove(&place);
                return self.followed.left(&place).into_iter().collect();
            }
            Change::ListEnded(_) => {
                self.unlisted.remove(&number);
                return self.followed.ended(number);
            }
            Change::Failing(why) => {
                // The others are shown all the same.
                self.unlisted.remove(&number);
                if let Some(one) = self.of_collections.get(number) {
                    tracing::warn!("the {} cannot be followed: {why}", one.kind.resource.plural);
                }
            }
            Change::Bookmark | Change::Connected => {}
        }
        Vec::new()
    }

    /// The rows of the objects whose reports changed.
    fn rows_of_reports(&mut self, number: usize, change: Change<SeenObject>) -> Vec<Row> {
        if matches!(change, Change::ListEnded(_) | Change::Failing(_)) {
            self.unlisted.remove(&number);
        }
        let changed = self.reports.hear(number, change);
        let is_changed = |(collection, uid): &&RowKey| {
            let of = self.of_collections.get(*collection).map(|one| one.of.iter()).unwrap_or_default();
            let mut known = of.filter_map(|number| self.listed.known.get(*number));
            known.any(|one| one.objects.keeps_reports()) && changed.concerns(uid)
        };
        let places = self.objects.keys().filter(is_changed).cloned().collect::<Vec<_>>();
        let objects = places.into_iter().filter_map(|place| Some((place.0, self.objects.get(&place)?.clone())));
        objects.collect::<Vec<_>>().iter().filter_map(|(collection, seen)| self.seen(*collection, seen)).collect()
    }

    fn seen(&mut self, number: usize, seen: &SeenObject) -> Option<Row> {
        let place = (number, seen.object.id.uid.to_string());
        let row = self.row(number, seen);
        match row {
            Some(_) => _ = self.objects.insert(place.clone(), seen.clone()),
            None => _ = self.objects.remove(&place),
        }
        match row {
            Some(row) => self.followed.seen(place, row),
            None => self.followed.left(&place),
        }
    }

    fn row(&self, number: usize, seen: &SeenObject) -> Option<Row> {
        let of = &self.of_collections.get(number)?.of;
        self.listed.row_among(of, |one| self.reports.join(one, seen))
    }
}
