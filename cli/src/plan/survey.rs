//! The objects that a change concerns, each with its target and its outlook.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;
use drift_kube::client::ResolvedKind;
use drift_kube::kinds::{KindError, WrittenKinds};
use drift_language::{ObjectSelection, Target};
use serde_json::{Value, json};

use super::applied::{Applied, applied};
use super::planned::{ObjectName, Outlook, PlanResult, Planned, PlannedTarget, hash_of};
use super::settings::PlanSettings;
use crate::check::TriedFiles;
use crate::cluster::{each_object, get, kind_of};
use crate::ending::CommandError;
use crate::explain::{Leases, WaysOut, preview};
use crate::targets::known::LiveTargets;
use crate::targets::reports::ReportLists;
use crate::targets::session::Session;
use crate::targets::with_report;

/// Message about an object or a target that was not asked about, because its read was edited.
const READ_CHANGED: &str =
    "read changed: not asked. --ask-edited asks; it is for a change whose author may use the Secrets of the target";
/// Message about an object that no target selects any more.
const UNSELECTED: &str = "no target selects it";
/// Message about an object whose target is not known.
const BY_LAST_GOOD: &str = "a target may select it whose text cannot be read: check --from-cluster says what is wrong";
/// Message about an object whose name is not sent to the API server.
const NO_NAME: &str = "its name or namespace is not one of Kubernetes";
/// Message about an object outside of the namespace of `-n`.
const ELSEWHERE: &str = "it is not in the namespace of -n";
/// Message about an object that is being deleted.
const DELETING: &str = "it is being deleted";

/// The result of a plan.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) objects: Vec<Planned>,
    /// The edited ones.
    pub(super) targets: Vec<PlannedTarget>,
}

/// A target that counts: one of the files, or a live one that no file has.
struct Candidate {
    target: Arc<Target>,
    is_edited: bool,
    /// False if an edit may have changed what is asked, or who gets a credential.
    is_asked: bool,
}

/// A kind of a target.
struct Kind {
    resolved: ResolvedKind,
    /// False if the cluster lacks it, and a file defines it.
    is_served: bool,
}

/// A plan under way.
pub(super) struct Survey<'s> {
    session: &'s Session<'s>,
    settings: &'s PlanSettings,
    files: Arc<TriedFiles>,
    live: LiveTargets,
    leases: Leases,
    /// By the name of the target, which decides between targets of one object.
    candidates: Vec<Arc<Candidate>>,
    kinds: BTreeMap<(String, String), Result<Arc<Kind>, String>>,
    ways: WaysOut,
    seen: BTreeSet<ObjectName>,
}

impl<'s> Survey<'s> {
    /// Reads the live targets and both Leases.
    ///
    /// # Errors
    /// If the targets cannot be read.
    pub(super) async fn new(
        session: &'s Session<'s>,
        settings: &'s PlanSettings,
        files: TriedFiles,
    ) -> Result<Self, CommandError> {
        let leases = Leases::read(session, &settings.polling.controller_lease);
        let (live, leases) = futures::join!(session.targets_if_any(), leases);
        let (live, _) = live?;
        let candidates = candidates(&files, &live, settings.ask_edited);
        let (kinds, ways) = (BTreeMap::new(), WaysOut::default());
        let files = Arc::new(files);
        Ok(Self { session, settings, files, live, leases, candidates, kinds, ways, seen: BTreeSet::new() })
    }

    /// Plans the objects of the files, then the live objects of edited targets.
    ///
    /// # Errors
    /// If there is no usable configuration of the way out.
    pub(super) async fn plan(mut self) -> Result<Plan, CommandError> {
        let (mut objects, mut targets) = (Vec::new(), Vec::new());
        for manifest in &Arc::clone(&self.files).manifests {
            objects.extend(Box::pin(self.of_file(manifest)).await?);
        }
        for candidate in self.candidates.clone().into_iter().filter(|candidate| candidate.is_edited) {
            targets.push(Box::pin(self.of_target(&candidate, &mut objects)).await?);
        }
        Ok(Plan { objects, targets })
    }

    /// Plans the object of a manifest; `None` if it is of no target's kind, or a repeated one.
    async fn of_file(&mut self, manifest: &Value) -> Result<Option<Planned>, CommandError> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
        let (Some(api_version), Some(kind), Some(name)) = (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            return Ok(None);
        };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let of_kind: Vec<_> =
            self.candidates.iter().filter(|candidate| candidate.target.objects.is_of(group, kind)).cloned().collect();
        let mut unread = self.live.by_last_good.iter().flat_map(|target| &target.objects);
        let is_unread = unread.any(|objects| objects.is_of(group, kind));
        if of_kind.is_empty() && !is_unread {
            return Ok(None);
        }
        let named = |namespace: Option<&str>| ObjectName {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        let mut planned = Planned {
            name: named(text("/metadata/namespace")),
            target: None,
            is_edited: false,
            is_target_edited: false,
            is_new: false,
            outlook: Outlook::Unpolled(PlanResult::Unknown, BY_LAST_GOOD.to_owned()),
            notes: Vec::new(),
        };
        // Of a target whose text is not known only the kind is.
        let Some(first) = of_kind.iter().find(|one| one.target.objects.api_version == api_version) else {
            if let Some(other) = of_kind.first() {
                let why = format!(
                    "its target has {kind} in {}, and the file in {api_version}",
                    other.target.objects.api_version
                );
                planned.outlook = Outlook::Unpolled(PlanResult::Unknown, why);
            }
            return Ok(Some(planned));
        };
        let kind = match self.kind(&first.target.objects).await {
            Ok(kind) => kind,
            Err(why) => {
                planned.outlook = Outlook::Unpolled(PlanResult::Unknown, why);
                return Ok(Some(planned));
            }
        };
        let home = text("/metadata/namespace").unwrap_or_else(|| self.settings.place.namespace(&self.session.client));
        planned.name = named(kind.resolved.namespaced.then_some(home));
        if !self.seen.insert(planned.name.clone()) {
            return Ok(None);
        }
        let is_elsewhere = |only: &str| planned.name.namespace.as_deref().is_some_and(|home| home != only);
        let refused = match self.settings.place.stated() {
            _ if !planned.name.is_valid() => Some((PlanResult::Unknown, NO_NAME)),
            Some(only) if is_elsewhere(only) => Some((PlanResult::NotAsked, ELSEWHERE)),
            _ => None,
        };
        if let Some((result, why)) = refused {
            planned.outlook = Outlook::Unpolled(result, why.to_owned());
            return Ok(Some(planned));
        }
        let mut manifest = manifest.clone();
        if kind.resolved.namespaced {
            manifest["metadata"]["namespace"] = json!(home);
        }
        let (applied, live) = match self.applied(&kind, &manifest, &planned.name).await {
            Ok(applied) => applied,
            Err(why) => {
                planned.outlook = Outlook::Unpolled(PlanResult::Unknown, why);
                return Ok(Some(planned));
            }
        };
        planned.is_new = live.is_none();
        planned.notes.extend(applied.note);
        let (labels, home) = (applied.object.pointer("/metadata/labels"), planned.name.namespace.as_deref());
        let Some(candidate) = of_kind.iter().find(|one| one.target.objects.selects(home, labels)) else {
            if !is_unread {
                planned.outlook = Outlook::Unpolled(PlanResult::Same, UNSELECTED.to_owned());
            }
            return Ok(Some(planned));
        };
        let fields = &candidate.target.all_fields;
        let object = LeanObject::prune(&applied.object, fields);
        planned.is_edited = live.is_none_or(|live| LeanObject::prune(&live, fields).view != object.view);
        self.look(planned, candidate, (object, &kind)).await.map(Some)
    }

    /// Plans the live objects of an edited target that no file has.
    async fn of_target(
        &mut self,
        candidate: &Arc<Candidate>,
        planned: &mut Vec<Planned>,
    ) -> Result<PlannedTarget, CommandError> {
        let target = &candidate.target;
        let document = format!("{}/{}", target.document.config_map, target.document.key);
        let mut of_target = PlannedTarget {
            name: target.name.clone(),
            document,
            result: PlanResult::NotAsked,
            message: Some(READ_CHANGED.to_owned()),
            objects: 0,
            left: 0,
        };
        if !candidate.is_asked {
            return Ok(of_target);
        }
        (of_target.result, of_target.message) = (PlanResult::Same, None);
        let listed = match self.kind(&target.objects).await {
            Ok(kind) if kind.is_served => self.listed(candidate, &kind).await.map(|listed| (listed, kind)),
            Ok(_) => return Ok(of_target),
            Err(why) => Err(why),
        };
        let (listed, kind) = match listed {
            Ok(listed) => listed,
            Err(why) => {
                (of_target.result, of_target.message) = (PlanResult::Unknown, Some(why));
                return Ok(of_target);
            }
        };
        of_target.left = listed.len().saturating_sub(self.settings.limit);
        for (name, object) in listed.into_iter().take(self.settings.limit) {
            self.seen.insert(name.clone());
            let one = Planned {
                name,
                target: None,
                is_edited: false,
                is_target_edited: true,
                is_new: false,
                outlook: Outlook::Unpolled(PlanResult::Unknown, String::new()),
                notes: Vec::new(),
            };
            planned.push(self.look(one, candidate, (object, &kind)).await?);
            of_target.objects += 1;
        }
        Ok(of_target)
    }

    /// The live objects of a target that no file has, with their conditions.
    async fn listed(&self, candidate: &Candidate, kind: &Kind) -> Result<Vec<(ObjectName, LeanObject)>, String> {
        let (target, client) = (&candidate.target, &self.session.client);
        let objects = (&target.objects, &kind.resolved);
        let reports =
            ReportLists::read(client, std::iter::once((&target.objects, target.objects.namespaces.clone()))).await;
        if let Some(why) = reports.unread().next() {
            return Err(why.to_string());
        }
        let mut listed = Vec::new();
        let fields = target.all_fields.clone();
        let read = each_object(client, objects, (self.settings.place.stated(), fields), |seen| {
            let home = seen.object.id.namespace.as_deref();
            let name = ObjectName {
                api_version: target.objects.api_version.clone(),
                kind: target.objects.kind.clone(),
                namespace: home.map(str::to_owned),
                name: seen.object.id.name.to_string(),
            };
            let labels = seen.labels.as_ref();
            let is_meant = self.settings.selector.as_ref().is_none_or(|selector| selector.matches(labels));
            let is_its = |one: &&Arc<Candidate>| {
                one.target.objects.is_of(target.objects.group(), &target.objects.kind)
                    && one.target.objects.selects(home, labels)
            };
            let owner = self.candidates.iter().find(is_its).map(|one| &one.target.name);
            let is_new = !self.seen.contains(&name) && !seen.object.deleting;
            if is_meant && is_new && owner == Some(&target.name) {
                listed.push((name, reports.join(objects, seen).object));
            }
        });
        read.await.map_err(|error| format!("its objects cannot be listed: {error}"))?;
        Ok(listed)
    }

    /// Polls an object and fills in its outlook, if its target may be asked.
    async fn look(
        &mut self,
        planned: Planned,
        candidate: &Candidate,
        (object, kind): (LeanObject, &Kind),
    ) -> Result<Planned, CommandError> {
        let Candidate { target, is_edited, is_asked } = candidate;
        let planned = Planned { target: Some(target.name.clone()), is_target_edited: *is_edited, ..planned };
        let unpolled = |result, why: String| Outlook::Unpolled(result, why);
        if !is_asked {
            return Ok(Planned { outlook: unpolled(PlanResult::NotAsked, READ_CHANGED.to_owned()), ..planned });
        }
        if object.deleting {
            return Ok(Planned { outlook: unpolled(PlanResult::Unknown, DELETING.to_owned()), ..planned });
        }
        let object = match (target.objects.keeps_reports() && object.report.is_none(), planned.is_new) {
            (false, _) => object,
            (true, true) => object.with_report(SeenReport::absent(None)),
            (true, false) => match with_report(&self.session.client, &kind.resolved, object).await {
                Ok((object, _)) => object,
                Err(error) => {
                    return Ok(Planned { outlook: unpolled(PlanResult::Unknown, error.to_string()), ..planned });
                }
            },
        };
        let way = self.ways.of(self.session, &self.settings.polling, target).await?;
        let preview = Box::pin(preview(way, (target, !is_edited), &object, &self.leases)).await;
        let hash = hash_of(target, &object, planned.is_new, &preview);
        Ok(Planned { outlook: Outlook::Polled(Box::new(preview), hash), ..planned })
    }

    /// The object as it would be applied, and the one that is there.
    ///
    /// # Errors
    /// A sentence: the API server does not answer, or refuses the object.
    async fn applied(
        &self,
        kind: &Kind,
        manifest: &Value,
        name: &ObjectName,
    ) -> Result<(Applied, Option<Value>), String> {
        let client = &self.session.client;
        let live = match kind.is_served {
            true => {
                let read = get(client, &kind.resolved.path(name.namespace.as_deref()), &name.name).await;
                read.map_err(|error| format!("it cannot be read: {error}"))?
            }
            false => None,
        };
        let here = (live.as_ref(), &*self.files.manifests);
        let applied = applied(client, (&kind.resolved, kind.is_served), manifest, here).await;
        // The API server's sentence may repeat values.
        let refused = |code| format!("the API server refuses it ({code}): kubectl apply --dry-run=server says why");
        match applied {
            Ok(applied) => Ok((applied, live)),
            Err(error) => Err(error.code().map_or_else(|| error.to_string(), refused)),
        }
    }

    /// Looks a kind up in the cluster, else in the files.
    ///
    /// # Errors
    /// A sentence.
    async fn kind(&mut self, objects: &ObjectSelection) -> Result<Arc<Kind>, String> {
        let key = (objects.api_version.clone(), objects.kind.clone());
        if let Some(known) = self.kinds.get(&key) {
            return known.clone();
        }
        let kind = match kind_of(&self.session.client, objects).await {
            Ok(resolved) => Ok(Arc::new(Kind { resolved, is_served: true })),
            Err(error @ KindError::Missing { .. }) => {
                let written = WrittenKinds::read(&self.files.manifests).find(&objects.api_version, &objects.kind);
                let written = written.map(|resolved| Arc::new(Kind { resolved, is_served: false }));
                written.ok_or_else(|| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        self.kinds.insert(key, kind.clone());
        kind
    }
}

/// The targets that count, by name. A target of a file that is the live one is not edited.
fn candidates(files: &TriedFiles, live: &LiveTargets, ask_edited: bool) -> Vec<Arc<Candidate>> {
    let twin = |target: &Target| live.good.iter().find(|live| live.name == target.name);
    let of_file = |target: &Arc<Target>| {
        let twin = twin(target);
        let is_edited = twin.is_none_or(|twin| twin.document_hash != target.document_hash);
        let is_asked = ask_edited || twin.is_some_and(|twin| twin.asking_hash == target.asking_hash);
        let target = twin.filter(|_| !is_edited).unwrap_or(target);
        Candidate { target: Arc::clone(target), is_edited, is_asked }
    };
    let of_live = |target: &Arc<Target>| Candidate { target: Arc::clone(target), is_edited: false, is_asked: true };
    let is_kept = |target: &&Arc<Target>| files.targets.iter().all(|edited| edited.name != target.name);
    let all = files.targets.iter().map(of_file).chain(live.good.iter().filter(is_kept).map(of_live));
    let mut all: Vec<_> = all.map(Arc::new).collect();
    all.sort_by(|one, other| one.target.name.cmp(&other.target.name));
    all
}
