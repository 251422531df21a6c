//! Rights that the poller lacks for the listed targets: without them an object never gets a verdict.

use std::collections::BTreeSet;

use drift_api::names::POLLER_MANAGER;
use drift_kube::access::missing::rules;
use drift_kube::access::{Account, missing_rights_of};
use drift_kube::client::{CALL_DEADLINE, within};
use k8s_openapi::api::core::v1::ServiceAccount;

use super::rows::Row;
use crate::kinds::needs::{TargetKinds, poller_needs};
use crate::targets::KnownKind;

/// Asks for the poller's rights where a row has no verdict, marks these rows, and returns a sentence for each target. A user who
/// may not ask for the rights of others learns nothing.
pub(super) async fn mark_missing_rights(
    client: &kube::Client,
    namespace: &str,
    (known, rows): (&[KnownKind], &mut [Row]),
) -> Vec<String> {
    let account = Account { namespace: namespace.to_owned(), name: POLLER_MANAGER.to_owned() };
    let (mut sentences, mut is_there) = (Vec::new(), None);
    for one in known {
        let name = one.target.name();
        let is_silent = |row: &Row| row.target == name && row.observed.is_none() && !row.unread && !row.deleting;
        let Some(target) = one.target.text().filter(|target| !target.suspend && rows.iter().any(is_silent)) else {
            continue;
        };
        if is_there.is_none() {
            is_there = Some(exists(client, &account).await);
        }
        if is_there == Some(false) {
            return sentences;
        }
        let rights: BTreeSet<_> =
            poller_needs(target, &TargetKinds { objects: &one.kind, read: None }).into_iter().collect();
        match missing_rights_of(client, &account, &rights).await {
            Ok(missing) if !missing.is_empty() => {
                rows.iter_mut().filter(|row| is_silent(row)).for_each(|row| row.lacks_rights = true);
                sentences.push(format!(
                    "target {name}: {POLLER_MANAGER} lacks rights, so its objects are not polled: {} (`kubectl drift rbac \
                     --from-cluster` prints all roles)",
                    rules(&missing)
                ));
            }
            Ok(_) => {}
            Err(error) => tracing::info!("the rights of {POLLER_MANAGER} are not known: {error}"),
        }
    }
    sentences
}

/// Returns false if the ServiceAccount does not exist: then the poller runs as another one.
async fn exists(client: &kube::Client, account: &Account) -> bool {
    let accounts: kube::Api<ServiceAccount> = kube::Api::namespaced(client.clone(), &account.namespace);
    !matches!(within(CALL_DEADLINE, accounts.get_opt(&account.name)).await, Ok(None))
}
