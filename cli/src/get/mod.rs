//! `kubectl drift get`: lists the objects of all targets with their conditions. Polls nothing.

mod changes;
mod held;
mod listed_targets;
mod missing_rights;
mod rendering;
mod rows;
mod text_table;
mod wanted;
mod watching;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use drift_api::names::CONTROLLER_LEASE;
use drift_api::object::SeenObject;
use drift_kube::process::clock;
use drift_kube::program::settings::parse_lease_name;
use drift_language::LabelSelector;
use tokio::sync::Notify;

use crate::cluster::{PlaceSettings, TargetsSettings, block_on, warn};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::KindWord;
use crate::kinds::named_objects::{NamedObjects, named_objects};
use crate::targets::reports::ReportLists;
use crate::targets::reports::each_with_conditions;
use crate::targets::session::Session;
use crate::targets::{KnownKind, known_kinds};
use held::LeaseHolds;
use listed_targets::ListedTargets;
use missing_rights::mark_missing_rights;
use rendering::{GetOutput, whole_list};
use rows::{Row, summarise};
use wanted::{Wanted, arrange};
use watching::watch;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift get -A                     every object of every target
  kubectl drift get proxies -n team-a --drifted
  kubectl drift get proxy/web -n team-a
  kubectl drift get -A --drifted -w        and each change as it comes
  kubectl drift get proxies -l tier=prod -o name
  kubectl drift get -A -o json | jq '.items[] | select(.paused)'

Exit codes, of what is listed: 0 all in sync, 1 something drifted, 2 unknown, 3 bad usage";

/// Time between two reads of the Leases in `--watch`: the controller changes its list this often at the most.
const READ_LEASES_EVERY: Duration = Duration::from_secs(5);

/// The objects to list, and the output format.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetSettings {
    /// Only objects of this kind, named as for kubectl: by its kind, plural or short name, with or without .GROUP; and of it only
    /// those that are named, as KIND NAME… or KIND/NAME
    #[arg(value_name = "KIND")]
    objects: Vec<String>,
    #[command(flatten)]
    place: PlaceSettings,
    /// Objects of all namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    #[command(flatten)]
    targets: TargetsSettings,
    /// Only objects that drifted
    #[arg(long)]
    drifted: bool,
    /// Only objects whose status is unknown
    #[arg(long)]
    unknown: bool,
    /// Only objects whose labels match, such as tier=prod
    #[arg(long, short = 'l', value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    selector: Option<LabelSelector>,
    /// Watch after the list, and print each change
    #[arg(long, short)]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: GetOutput,
    /// The controller's Lease
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    controller_lease: String,
}

/// Lists the objects with their conditions.
///
/// # Errors
/// If the targets cannot be read, no target has the kind, or stdout is closed.
pub(crate) fn run(settings: &GetSettings) -> Result<ExitStatus, CommandError> {
    let (kind, names) = one_kind(&settings.objects, settings.selector.is_some()).map_err(CommandError::BadUsage)?;
    block_on(async {
        let session = Session::open(&settings.targets).await?;
        let client = &session.client;
        let listed = look_up(&session, settings, kind).await?;
        let (mut troubles, mut whole) = (listed.troubles.clone(), listed.whole);
        troubles.iter().try_for_each(|trouble| warn(trouble))?;
        let namespace = (!settings.all_namespaces).then(|| settings.place.namespace(client));
        let wanted = Wanted { drifted: settings.drifted, unknown: settings.unknown, names };
        if settings.watch {
            let watching = watch(client, &listed, (namespace, &wanted, settings.output));
            tokio::select! {
                watched = watching => watched?,
                never = follow_holds(&session, settings, &listed) => never,
            }
            return Ok(ExitStatus::Success);
        }
        let (mut rows, mut reports) = (Vec::new(), ReportLists::default());
        for one in &listed.known {
            whole &= add_rows(client, (one, &listed), namespace, (&mut rows, &mut reports)).await?;
        }
        for unread in reports.unread().map(ToString::to_string) {
            warn(&unread)?;
            troubles.push(unread);
            whole = false;
        }
        let missing = mark_missing_rights(client, session.home, (&listed.known, &mut rows)).await;
        missing.iter().try_for_each(|sentence| warn(sentence))?;
        troubles.extend(missing);
        let named = arrange(rows, &Wanted { names: wanted.names.clone(), ..Wanted::default() });
        let missing = wanted.missing_in(&named).map(|name| missing_error(kind.unwrap_or_default(), name, whole));
        let rows = arrange(named.clone(), &wanted);
        if let Some(missing) = missing {
            // The objects that were found are printed nevertheless.
            if !rows.is_empty() {
                print(&rows, &troubles, settings.output)?;
            }
            return Err(missing);
        }
        if rows.is_empty() {
            writeln!(anstream::stderr(), "{}", wanted.nothing_of(&named, namespace))?;
        }
        print(&rows, &troubles, settings.output)?;
        Ok(match summarise(&rows) {
            ExitStatus::Success if !whole => ExitStatus::Unknown,
            status => status,
        })
    })
}

fn print(rows: &[Row], troubles: &[String], output: GetOutput) -> Result<(), CommandError> {
    // It takes the colours out where no terminal shows them, or NO_COLOR is set.
    Ok(anstream::stdout().write_all(whole_list((rows, troubles), output, clock::wall()).as_bytes())?)
}

/// The error for a named object that is not listed.
fn missing_error(kind: &str, name: &str, whole: bool) -> CommandError {
    if whole {
        return CommandError::BadUsage(format!("there is no {kind} {name}"));
    }
    CommandError::CannotTell(format!("whether there is a {kind} {name} is unknown: not everything could be listed"))
}

/// The kind that is meant, and the names, where some are.
fn one_kind(words: &[String], selects: bool) -> Result<(Option<&str>, BTreeSet<String>), String> {
    let is_kind = selects || (words.len() == 1 && !words[0].contains('/'));
    if words.is_empty() {
        return Ok((None, BTreeSet::new()));
    }
    match named_objects(words, is_kind)? {
        NamedObjects::OfKind(kind) => Ok((Some(kind), BTreeSet::new())),
        NamedObjects::Each(named) => {
            let kinds: BTreeSet<&str> = named.iter().map(|(kind, _)| *kind).collect();
            let names = named.iter().map(|(_, name)| (*name).to_owned()).collect();
            match kinds.len() {
                1 => Ok((kinds.first().copied(), names)),
                _ => Err("write objects of one kind".to_owned()),
            }
        }
    }
}

/// The targets that are about the kind that was named, or all; and whether they are all that there are.
async fn look_up(
    session: &Session<'_>,
    settings: &GetSettings,
    kind: Option<&str>,
) -> Result<ListedTargets, CommandError> {
    let live = session.live_targets().await?;
    // A document that is wrong, and a kind that cannot be listed, make the whole uncertain.
    let (mut known, all_told) = known_kinds(&session.client, &live).await?;
    let whole = live.is_whole() && all_told;
    if let Some(word) = kind {
        let meant = KindWord::look_up(&session.client, word).await;
        let (named, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|one| meant.means(&one.kind));
        if named.is_empty() && whole {
            let others: Vec<_> = others.iter().map(|one| one.kind.resource.plural.as_str()).collect();
            let message = format!("no target is about {word}; there are targets about {}", others.join(", "));
            return Err(CommandError::BadUsage(message));
        }
        known = named;
    }
    let selector = settings.selector.clone().unwrap_or_default();
    let controller = session.lease(&settings.controller_lease).await;
    if let Err(sentence) = &controller {
        warn(&format!("{sentence}: NEXT does not show what the controller holds"))?;
    }
    let holds = LeaseHolds::of(live.attested, controller.map_err(|_| ()), clock::wall());
    let holds = holds.with_unwritten(live.unwritten);
    Ok(ListedTargets {
        known,
        troubles: live.troubles,
        selector,
        whole,
        holds: RefCell::new(holds),
        holds_read: Notify::new(),
    })
}

/// Reads the Leases again and again, for the rows of `--watch`. Never ends.
async fn follow_holds(session: &Session<'_>, settings: &GetSettings, listed: &ListedTargets) {
    loop {
        tokio::time::sleep(READ_LEASES_EVERY).await;
        let poller = session.notes().await;
        let controller = session.lease(&settings.controller_lease).await.map_err(|_| ());
        let attested = poller.unread.is_none().then_some(poller.attested);
        let holds = LeaseHolds::of(attested, controller, clock::wall());
        *listed.holds.borrow_mut() = holds.with_unwritten(poller.unwritten);
        listed.holds_read.notify_one();
    }
}

/// Adds the rows of one target; gives whether all its objects were seen.
async fn add_rows(
    client: &kube::Client,
    (one, listed): (&KnownKind, &ListedTargets),
    namespace: Option<&str>,
    (rows, reports): (&mut Vec<Row>, &mut ReportLists),
) -> Result<bool, CommandError> {
    let look = |seen: &SeenObject| rows.extend(listed.row_of(one, seen));
    let listed = each_with_conditions(client, (&one.objects, &one.kind), namespace, reports, look).await;
    if let Err(error) = &listed {
        let (plural, target) = (&one.kind.resource.plural, one.target.name());
        warn(&format!("the {plural} of target {target} cannot be listed: {error}"))?;
    }
    Ok(listed.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_list_with_holes_lacks_may_exist() {
        assert!(
            matches!(missing_error("proxy", "web", true), CommandError::BadUsage(text) if text == "there is no proxy web")
        );
        assert!(matches!(missing_error("proxy", "web", false), CommandError::CannotTell(_)));
    }

    #[test]
    fn objects_of_one_kind_are_named() {
        let named = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            one_kind(&words, false).map(|(kind, names)| format!("{kind:?} {names:?}"))
        };
        for (text, expected) in [
            ("", Ok("None {}")),
            ("proxies", Ok("Some(\"proxies\") {}")),
            ("proxy/web", Ok("Some(\"proxy\") {\"web\"}")),
            ("proxy web cache", Ok("Some(\"proxy\") {\"cache\", \"web\"}")),
            ("proxy/web role/app", Err("write objects of one kind")),
            ("proxy/web cache", Err("write each object as KIND/NAME")),
        ] {
            assert_eq!(named(text), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        assert_eq!(one_kind(&[], true), Ok((None, BTreeSet::new())));
        assert!(one_kind(&["proxy/web".to_owned()], true).is_err(), "a selector chooses the names");
    }
}
