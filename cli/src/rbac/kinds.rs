//! The plurals of the kinds that targets name: from the given files, otherwise from the cluster.

use std::collections::BTreeMap;

use drift_kube::client::KubeconfigSettings;
use drift_kube::client::ResolvedKind;
use drift_kube::kinds::{KindError, WrittenKinds, locate_served_kind};
use drift_language::{Source as ReadSource, Target};

use crate::check::document::{Document, Severity};
use crate::check::refuse_bad;
use crate::check::report::Report;
use crate::cluster::{block_on, connect};
use crate::ending::CommandError;
use crate::kinds::needs::TargetKinds;

/// The kinds of some targets, by `apiVersion` and kind.
#[derive(Debug, Default)]
pub(super) struct Kinds(BTreeMap<(String, String), ResolvedKind>);

impl Kinds {
    /// Those of a target.
    pub(super) fn of(&self, target: &Target) -> Option<TargetKinds<'_>> {
        let get = |api_version: &str, kind: &str| self.0.get(&(api_version.to_owned(), kind.to_owned()));
        let read = match &target.read.source {
            ReadSource::Kubernetes(read) => get(&read.kind.api_version, &read.kind.name),
            _ => None,
        };
        Some(TargetKinds { objects: get(&target.objects.api_version, &target.objects.kind)?, read })
    }
}

/// The place of a kind in a target, its version and its name.
type Named<'t> = (&'static [&'static str], &'t str, &'t str);

/// A kind that no file defines: which document names it, where, and what it is.
type Lacking<'d> = (&'d Document, &'static [&'static str], (String, String));

/// All kinds of the good targets of a report. A kind that is not known is reported at its place.
///
/// # Errors
/// When one is not known.
pub(super) fn kinds_of(
    documents: &[Document],
    report: &mut Report,
    (written, cluster): (&WrittenKinds, &KubeconfigSettings),
) -> Result<Kinds, CommandError> {
    let (mut kinds, mut lacking) = (Kinds::default(), Vec::<Lacking<'_>>::new());
    for good in &report.targets {
        let Some(document) = Document::find(documents, &good.target.document) else { continue };
        for (path, api_version, kind) in named_by(&good.target) {
            let name = (api_version.to_owned(), kind.to_owned());
            match written.find(api_version, kind) {
                Some(found) => {
                    kinds.0.insert(name, found);
                }
                None => lacking.push((document, path, name)),
            }
        }
    }
    if !lacking.is_empty() {
        block_on(async { ask_for(&connect(cluster).await, &lacking, (&mut kinds, report)).await })?;
        refuse_bad(report, "no roles are printed while it is not known what a kind is called")?;
    }
    Ok(kinds)
}

fn named_by(target: &Target) -> impl Iterator<Item = Named<'_>> {
    let objects: Named<'_> = (&["spec", "objects", "kind"], &target.objects.api_version, &target.objects.kind);
    let read: Option<Named<'_>> = match &target.read.source {
        ReadSource::Kubernetes(read) => {
            Some((&["spec", "read", "kubernetes", "kind"], &read.kind.api_version, &read.kind.name))
        }
        _ => None,
    };
    std::iter::once(objects).chain(read)
}

/// Asks the cluster that is configured, if one is.
async fn ask_for(
    client: &Result<kube::Client, CommandError>,
    lacking: &[Lacking<'_>],
    (kinds, report): (&mut Kinds, &mut Report),
) -> Result<(), CommandError> {
    for (document, path, name) in lacking {
        let (api_version, kind) = name;
        let found = match client {
            Ok(client) => {
                let group = api_version.split_once('/').map_or("", |(group, _)| group);
                locate_served_kind(client, group, kind, std::iter::once(api_version.as_str())).await
            }
            Err(error) => Err(KindError::Unsuitable(vec![format!("no cluster can be asked: {error}")])),
        };
        match found {
            Ok(found) => {
                kinds.0.insert(name.clone(), found);
            }
            Err(KindError::Unavailable(error)) => {
                return Err(CommandError::CannotTell(format!(
                    "{kind} of {api_version}: the cluster does not say: {error}"
                )));
            }
            Err(error) => {
                let message = format!(
                    "nothing says what the plural of {kind} in {api_version} is: name the file of its CustomResourceDefinition with -f \
                     too, or a cluster that has it by KUBECONFIG ({error})"
                );
                report.say_at(document, path, (Severity::Error, message));
            }
        }
    }
    Ok(())
}
