//! `kubectl drift get`: lists the objects of all targets with their conditions. Polls nothing.

mod asked;
mod changes;
mod json_paths;
mod listed_targets;
mod listing;
mod look_up;
mod missing_rights;
mod rendering;
mod rows;
mod settings;
mod sorting;
mod text_table;
mod wanted;
mod watching;

use std::io::Write as _;
use std::time::Duration;

use drift_kube::process::clock;
use drift_poller::engine::object::overview::LeaseHolds;

use crate::cluster::{block_on, warn};
use crate::ending::{CommandError, ExitStatus};
use crate::targets::leases::controller_holds;
use crate::targets::session::Session;
use asked::asked_kinds;
use listed_targets::ListedTargets;
use listing::{ListedRows, ensure_namespace, list_rows};
use look_up::look_up;
use rendering::{Layout, whole_list};
use rows::{Row, summarise};
pub(crate) use settings::GetSettings;
use wanted::{Wanted, arrange};
use watching::watch;

/// Time between two reads of the Leases in `--watch`: the controller changes its list this often at the most.
const READ_LEASES_EVERY: Duration = Duration::from_secs(5);

/// Lists the objects with their conditions.
///
/// # Errors
/// If the targets cannot be read, no target has the kind, or stdout is closed.
pub(crate) fn run(settings: &GetSettings) -> Result<ExitStatus, CommandError> {
    let asked = asked_kinds(&settings.objects, settings.selector.is_some()).map_err(CommandError::BadUsage)?;
    block_on(async {
        let session = Session::open(&settings.targets).await?;
        let listed = look_up(&session, settings, asked).await?;
        listed.troubles.iter().try_for_each(|trouble| warn(trouble))?;
        let namespace = (!settings.all_namespaces).then(|| settings.place.namespace(&session.client));
        let GetSettings { drifted, unknown, held, .. } = *settings;
        let wanted = Wanted { drifted, unknown, held };
        let layout = Layout { format: settings.output.clone(), no_headers: settings.no_headers };
        if settings.watch {
            tokio::select! {
                watched = watch(&session.client, &listed, (namespace, wanted, &layout)) => watched?,
                followed = follow_holds(&session, settings, &listed) => followed?,
            }
            return Ok(ExitStatus::Success);
        }
        let found = list_rows(&session, &listed, namespace).await?;
        let mut rows = arrange(found.rows.clone(), wanted);
        if let Some(key) = &settings.sort_by {
            key.sort(&mut rows).map_err(CommandError::BadUsage)?;
        }
        if let Some(missing) = found.missing(&listed) {
            // The objects that were found are printed nevertheless.
            if !rows.is_empty() {
                print((&rows, &found), &layout)?;
            }
            return Err(missing);
        }
        if let Some(namespace) = namespace.filter(|_| found.rows.is_empty() && listed.has_namespaces()) {
            ensure_namespace(&session.client, namespace).await?;
        }
        if rows.is_empty() {
            writeln!(anstream::stderr(), "{}", wanted.nothing_of(&found.rows, namespace))?;
        }
        print((&rows, &found), &layout)?;
        Ok(match summarise(&rows) {
            ExitStatus::Success if !found.whole || listed.is_unpolled => ExitStatus::Unknown,
            status => status,
        })
    })
}

fn print((rows, found): (&[Row], &ListedRows), layout: &Layout) -> Result<(), CommandError> {
    // It takes the colours out where no terminal shows them, or NO_COLOR is set.
    Ok(anstream::stdout().write_all(whole_list((rows, &found.troubles), layout, clock::wall()).as_bytes())?)
}

/// Reads the Leases again and again, for the rows of `--watch`, and warns if the poller is gone.
///
/// # Errors
/// If stderr is closed.
async fn follow_holds(
    session: &Session<'_>,
    settings: &GetSettings,
    listed: &ListedTargets,
) -> Result<(), CommandError> {
    let mut was_unpolled = listed.is_unpolled;
    loop {
        tokio::time::sleep(READ_LEASES_EVERY).await;
        let poller = session.notes().await;
        poller.vacancy.iter().filter(|_| !was_unpolled).try_for_each(|sentence| warn(sentence))?;
        was_unpolled = poller.vacancy.is_some();
        let controller = session.lease(&settings.controller_lease).await;
        let attested = poller.unread.is_none().then_some(poller.attested);
        let controller = controller_holds(&controller, clock::wall());
        *listed.holds.borrow_mut() = LeaseHolds { attested, unwritten: poller.unwritten, controller };
        listed.holds_read.notify_one();
    }
}
