//! `kubectl drift pause`, `resume`, `poll`, `retry` and `give-up`: set or remove annotations of objects.

use std::io::Write as _;

use clap::builder::NonEmptyStringValueParser;
use drift_api::names::PERSON_MANAGER;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::client::ResolvedKind;
use drift_kube::client::{KubeconfigSettings, ObjectClient, ObjectPages};
use drift_kube::kinds::locate_writable_kind;
use drift_kube::process::clock;
use drift_language::LabelSelector;

use crate::cluster::{PlaceSettings, block_on, connect, read_object, unanswered};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::named_objects::{NamedObjects, named_objects};
use crate::kinds::names::{ServedKind, find_kind};
use crate::kinds::{resolved, served_kinds};
use annotations::{ObjectRequest, Setting};
use reported::{MeantObject, with_reports};

pub(crate) mod annotations;
pub(crate) mod answered_polls;
mod reported;

/// Shown at the end of `--help` of `pause`.
const PAUSE_EXAMPLES: &str = "Examples:
  kubectl drift pause proxy/web -n team-a
  kubectl drift pause proxy/web -n team-a --reason 'CHG-4711: the provider moves the zone'
  kubectl drift pause proxies --all -n team-a --dry-run

Sets the annotation driftpoller.dev/paused, to the reason if there is one. Exit codes: 0 done, 2 unknown, 3 bad usage";
/// Shown at the end of `--help` of `resume`.
pub(crate) const RESUME_EXAMPLES: &str = "Examples:
  kubectl drift resume proxy/web -n team-a
  kubectl drift resume proxies -l tier=prod -n team-a

Takes the annotation driftpoller.dev/paused away. Exit codes: 0 done, 2 unknown, 3 bad usage";
/// Shown at the end of `--help` of `retry`.
pub(crate) const RETRY_EXAMPLES: &str = "Example:
  kubectl drift retry proxy/web -n team-a

Sets the annotation driftpoller.dev/retry-requested-at. Exit codes: 0 done, 2 unknown, 3 bad usage";
/// Shown at the end of `--help` of `give-up`.
const GIVE_UP_EXAMPLES: &str = "Examples:
  kubectl drift give-up proxy/web -n team-a
  kubectl drift give-up proxy/web -n team-a --identity web     one that it does not own steps back from this resource
  kubectl drift give-up proxy/web -n team-a --undo

Sets the annotation driftpoller.dev/give-up, which holds until it is removed. While it holds, nothing is done outside for that
resource on behalf of the object. Exit codes: 0 done, 2 unknown, 3 bad usage";

/// The longest reason that `get` and `explain` show.
const MAX_REASON_BYTES: usize = 256;

/// The objects to pause, and the reason.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct PauseSettings {
    #[command(flatten)]
    pub(crate) objects: RequestSettings,
    /// Why, for whoever finds the objects paused: `get`, `explain` and the page show it
    #[arg(long, value_name = "TEXT", value_parser = parse_reason)]
    reason: Option<String>,
}

impl PauseSettings {
    /// The request for each object.
    pub(crate) fn request(&self) -> ObjectRequest {
        ObjectRequest::Pause(self.reason.clone())
    }
}

/// The reason is the value of the annotation, so a value with another meaning is none.
fn parse_reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" | "true" | "false" => Err("write a sentence that says why".to_owned()),
        reason if reason.len() > MAX_REASON_BYTES => {
            Err(format!("it has {} bytes, and at most {MAX_REASON_BYTES} are shown", reason.len()))
        }
        reason => Ok(reason.to_owned()),
    }
}

/// The objects, and the resource that they give up.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = GIVE_UP_EXAMPLES)]
pub(crate) struct GiveUpSettings {
    #[command(flatten)]
    pub(crate) objects: RequestSettings,
    /// The identity of the resource to give up [default: the one that the object owns, by its driftCorrected]
    #[arg(long, value_name = "IDENTITY", conflicts_with = "undo", value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
    /// Remove the annotation: the object takes part again
    #[arg(long)]
    undo: bool,
}

impl GiveUpSettings {
    /// The request for each object.
    pub(crate) fn request(&self) -> ObjectRequest {
        if self.undo { ObjectRequest::EndGiveUp } else { ObjectRequest::GiveUp(self.identity.clone()) }
    }
}

/// The objects of a request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RequestSettings {
    /// The objects: KIND/NAME, or KIND NAME…; with --all or -l the KIND alone. A kind is named as for kubectl
    #[arg(required = true, value_name = "KIND/NAME")]
    objects: Vec<String>,
    /// All objects of the kind in the namespace
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// The objects of the kind in the namespace whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,
    /// Print the annotation and set nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

impl RequestSettings {
    fn selector(&self) -> Option<LabelSelector> {
        self.selector.clone().or_else(|| self.all.then(LabelSelector::default))
    }

    fn named(&self) -> Result<NamedObjects<'_>, CommandError> {
        named_objects(&self.objects, self.selector().is_some()).map_err(CommandError::BadUsage)
    }

    /// The objects that are meant. Says so if there are none.
    async fn find(&self, client: &kube::Client) -> Result<Vec<MeantObject>, CommandError> {
        let (namespace, selector) = (self.place.namespace(client), self.selector().unwrap_or_default());
        let objects = find_objects(client, namespace, (&self.named()?, &selector)).await?;
        if objects.is_empty() {
            writeln!(anstream::stderr(), "no objects found in namespace {namespace}")?;
        }
        Ok(with_reports(client, objects).await)
    }
}

/// Sends the request to each object.
///
/// # Errors
/// When there is no such kind or object, or the API server does not answer.
pub(crate) fn run(settings: &RequestSettings, request: &ObjectRequest) -> Result<ExitStatus, CommandError> {
    settings.named()?;
    block_on(async {
        let client = connect(&settings.cluster).await?;
        let objects = settings.find(&client).await?;
        let mut status = ExitStatus::Success;
        for meant in &objects {
            if let Err(error) = ask(&client, meant, (request, settings.dry_run)).await? {
                writeln!(anstream::stderr(), "error: {} {}: {error}", meant.kind.kind, meant.object.id)?;
                status = if status == ExitStatus::Success { error.status() } else { ExitStatus::Unknown };
            }
        }
        Ok(status)
    })
}

/// The objects that are meant, each read once before anything is set on any.
async fn find_objects(
    client: &kube::Client,
    namespace: &str,
    (named, selector): (&NamedObjects<'_>, &LabelSelector),
) -> Result<Vec<(ServedKind, LeanObject)>, CommandError> {
    let served = served_kinds(client).await.map_err(|error| unanswered("the kinds of the cluster", &error))?;
    let kind_of = async |word: &str| {
        let message =
            || CommandError::BadUsage(format!("the cluster has no kind {word}: kubectl api-resources lists them"));
        writable(client, &served, find_kind(&served, word).ok_or_else(message)?).await
    };
    let mut found = Vec::new();
    match named {
        NamedObjects::Each(names) => {
            for (word, name) in names {
                let kind = kind_of(word).await?;
                let Some(object) = read_object(client, &resolved(&kind), (namespace, name)).await? else {
                    let place = if kind.is_namespaced { format!(" in namespace {namespace}") } else { String::new() };
                    return Err(CommandError::BadUsage(format!("there is no {} {name}{place}", kind.kind)));
                };
                found.push((kind, LeanObject::prune(&object, &FieldPaths::default())));
            }
        }
        NamedObjects::OfKind(word) => {
            let kind = kind_of(word).await?;
            let objects = selected(client, &resolved(&kind), (namespace, selector)).await?;
            found.extend(objects.into_iter().map(|object| (kind.clone(), object)));
        }
    }
    Ok(found)
}

/// The kind in a version through which a write changes no other field of the stored object.
async fn writable(
    client: &kube::Client,
    served: &[ServedKind],
    meant: &ServedKind,
) -> Result<ServedKind, CommandError> {
    let noted = resolved(meant).resource.api_version;
    let kind = locate_writable_kind(client, &meant.group, &meant.kind, std::iter::once(noted.as_str())).await;
    let version = kind.map_err(|error| CommandError::CannotTell(error.to_string()))?.resource.version;
    // kubectl takes the first version if none is named.
    let preferred = served.iter().find(|kind| kind.group == meant.group && kind.plural == meant.plural);
    let needs_version = preferred.is_some_and(|preferred| preferred.version != version);
    Ok(ServedKind { version, needs_version, ..meant.clone() })
}

async fn selected(
    client: &kube::Client,
    kind: &ResolvedKind,
    (namespace, selector): (&str, &LabelSelector),
) -> Result<Vec<LeanObject>, CommandError> {
    let namespaces = if kind.namespaced { vec![namespace.to_owned()] } else { Vec::new() };
    let mut pages = ObjectPages::new(client, kind, &namespaces, FieldPaths::default());
    let mut found = Vec::new();
    let failed = |error| unanswered(&format!("the {}", kind.resource.plural), &error);
    while let Some(page) = pages.next_seen().await.map_err(failed)? {
        let matching = page.into_iter().filter(|seen| selector.matches(seen.labels.as_ref()));
        found.extend(matching.map(|seen| seen.object));
    }
    Ok(found)
}

/// Sets it on one object and says so; the inner error is about this object alone.
async fn ask(
    client: &kube::Client,
    meant: &MeantObject,
    (request, dry_run): (&ObjectRequest, bool),
) -> Result<Result<(), CommandError>, CommandError> {
    let MeantObject { kind, object, unread } = meant;
    let place = format!("{} {}", kind.kind, object.id);
    if let Some(needless) = request.is_needless(object) {
        writeln!(anstream::stdout(), "{place} {needless}")?;
        return Ok(Ok(()));
    }
    let setting = match request.setting(object, &clock::wall().to_string()) {
        Ok(setting) => setting,
        Err(error) => return Ok(Err(CommandError::BadUsage(error.to_string()))),
    };
    if !dry_run && let Err(error) = set(client, (kind, object), &setting).await {
        return Ok(Err(error));
    }
    let tried = if dry_run { " (dry run)" } else { "" };
    writeln!(anstream::stdout(), "{place}: {}{tried}\n  same as: {}", setting.words(), setting.kubectl(kind, object))?;
    if let Some(unread) = unread {
        writeln!(anstream::stderr(), "note: {place}: driftObserved does not stand on it: {unread}")?;
    } else if let Some(doubt) = request.doubt(object) {
        writeln!(anstream::stderr(), "note: {place}: {doubt}")?;
    }
    Ok(Ok(()))
}

/// Sets an annotation on one object.
async fn set(
    client: &kube::Client,
    (kind, object): (&ServedKind, &LeanObject),
    setting: &Setting,
) -> Result<(), CommandError> {
    let writer = ObjectClient::new(client.clone(), PERSON_MANAGER);
    let (patch, fields) = (setting.patch(&object.id.uid), FieldPaths::default());
    match writer.merge(&resolved(kind), &object.id, &patch, PERSON_MANAGER, &fields).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_about_another() => Err(CommandError::CannotTell("it was replaced meanwhile".to_owned())),
        Err(error) => Err(CommandError::CannotTell(error.to_string())),
    }
}
