//! Live reads of the objects that held an external resource before.

use drift_api::identity::{ObjectRef, ResourceName};
use drift_api::object::ObjectId;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::kinds::{KindError, locate_served_kind};

use super::Run;

impl Run<'_> {
    /// Returns true if one of the objects claims the resource, or cannot be read. A kind without a served version
    /// has no objects.
    pub(super) async fn is_claimed(&mut self, holders: &[ObjectRef], resource: &ResourceName) -> bool {
        // Each read takes its own call slot.
        self.call = None;
        for holder in holders {
            if self.claims(holder, resource).await {
                return true;
            }
        }
        false
    }

    async fn claims(&self, holder: &ObjectRef, resource: &ResourceName) -> bool {
        let (writer, target) = (&self.executor.writer, &self.executor.target.name);
        let (kind, group) = holder.kind_and_group();
        let _call = writer.slots.enter().await;
        let kind = match locate_served_kind(writer.objects.client(), group, kind, std::iter::empty()).await {
            Ok(kind) => kind,
            Err(KindError::Missing { .. }) => return false,
            Err(error) => {
                tracing::warn!(
                    target,
                    %holder,
                    cause = %error,
                    "the kind of an object that has an external resource cannot be read"
                );
                return true;
            }
        };
        let id = ObjectId { namespace: holder.namespace.clone(), name: holder.name.clone(), uid: "".into() };
        match writer.objects.find(&kind, &id, &FieldPaths::default()).await {
            Ok(found) => found.is_some_and(|object| object.claims(resource)),
            Err(error) => {
                tracing::warn!(target, %holder, cause = %error, "an object that has an external resource cannot be read");
                true
            }
        }
    }
}
