//! Rights that both programs need for a target, on its objects and on what it reads and makes in the cluster.
//!
//! Rights on Secrets beside the objects are not included: they matter only where an object names such a Secret.

use drift_kube::access::Right;
use drift_kube::access::target_rights::{rights_of_controller, rights_of_poller, rights_on_resource, rights_to_read};
use drift_kube::client::ResolvedKind;
use drift_language::{Destination, KubernetesRead, Source, Target};

/// The kinds that a target speaks of.
pub(crate) struct TargetKinds<'k> {
    /// The kind of its objects.
    pub(crate) objects: &'k ResolvedKind,
    /// The kind that `read.kubernetes` reads and a manifest makes.
    pub(crate) read: Option<&'k ResolvedKind>,
}

impl<'k> TargetKinds<'k> {
    /// The resource that is read in the cluster, with its kind.
    fn of_read<'t>(&self, target: &'t Target) -> Option<(&'t KubernetesRead, &'k ResolvedKind)> {
        let Source::Kubernetes(read) = &target.read.source else { return None };
        Some((read, self.read?))
    }
}

/// The rights that the poller needs for a target.
pub(crate) fn poller_needs(target: &Target, kinds: &TargetKinds<'_>) -> Vec<Right> {
    let mut rights = rights_of_poller(target, kinds.objects);
    if let Some((read, kind)) = kinds.of_read(target) {
        rights.extend(rights_to_read(target, read.namespace.as_deref(), kind));
    }
    rights
}

/// The rights that the controller needs for a target.
pub(crate) fn controller_needs(target: &Target, kinds: &TargetKinds<'_>) -> Vec<Right> {
    let mut rights = rights_of_controller(target, kinds.objects);
    let makes = matches!(target.correct.destination, Some(Destination::Kubernetes(_)));
    if let Some((read, kind)) = kinds.of_read(target).filter(|_| makes && target.correct.mode.corrects()) {
        rights.extend(rights_on_resource(target, read.namespace.as_deref(), kind));
    }
    rights
}
