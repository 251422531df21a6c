//! Creates a world and takes it down.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::{PlaneHandle, World};
use crate::manifests::Names;
use crate::process::run_folder;
use crate::programs::Which;
use crate::wait::{self, Seen};

/// Keeps `<id>-programs` within the 63 characters of a namespace's name.
const LONGEST_SLUG: usize = 40;

/// Returns the label as a part of names: lower-case letters, digits and dashes.
pub(super) fn slug(label: &str) -> String {
    let letters =
        label.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let slug: String = letters.take(LONGEST_SLUG).collect();
    slug.trim_matches('-').to_owned()
}

/// Returns a right to a resource or subresource of a namespace.
pub fn right(group: &str, resource: &str, verb: &str, namespace: &str) -> ResourceAttributes {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let text = |text: &str| Some(text.to_owned());
    ResourceAttributes {
        group: text(group),
        resource: text(resource),
        subresource: text(subresource),
        verb: text(verb),
        namespace: text(namespace),
        ..ResourceAttributes::default()
    }
}

impl World {
    pub(super) async fn begin(label: &str, control_plane: PlaneHandle) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = format!("w{number}-{}", slug(label));
        let names = Names {
            programs: format!("{id}{}", crate::manifests::PROGRAMS),
            group: format!("w{number}.{}", crate::manifests::GROUP),
            id,
        };
        let folder = run_folder::path()?.join(&names.id);
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let plane = match &control_plane {
            PlaneHandle::Shared(plane) => plane,
            PlaneHandle::Own(plane) => &**plane,
        };
        let client = plane.admin_client().await?;
        let objects = names.id.clone();
        let programs = tokio::sync::Mutex::default();
        let log = plane.audit_from_now(vec![names.group.clone(), names.programs.clone()])?.into();
        let world = Self { names, objects, folder, control_plane, client, programs, log };
        world.furnish().await.with_context(|| format!("making the world {}", world.names.id))?;
        Ok(world)
    }

    async fn furnish(&self) -> Result<()> {
        let kubectl = &self.control_plane().binaries().kubectl;
        for document in self.names.surroundings(kubectl)? {
            self.apply(&document).await?;
        }
        self.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.objects}})).await?;
        self.wait_until_served().await?;
        for which in [Which::Poller, Which::Controller] {
            // One right of each of its ClusterRoles and one of its Role, because each kind arrives through its own
            // watch.
            let status = right(self.group(), "proxies/status", "patch", &self.objects);
            let events = right("events.k8s.io", "events", "create", self.programs_namespace());
            let targets = right("", "configmaps", "list", self.programs_namespace());
            for attributes in [status, events, targets] {
                self.wait_for_right(which, attributes, true).await?;
            }
        }
        Ok(())
    }

    /// Waits until the kind is served and its schema is published, to avoid an unrelated race in the test.
    async fn wait_until_served(&self) -> Result<()> {
        let path = format!("/openapi/v3/apis/{}/v1", self.group());
        wait::until(format!("{path} to be published"), wait::DEADLINE, async || {
            let request = http::Request::get(&path).body(Vec::new())?;
            let schema: Value = self.client.request(request).await?;
            let listed = self.proxies().list(&ListParams::default().limit(1)).await?;
            drop(listed);
            Ok(if schema["components"]["schemas"].is_object() {
                Seen::Met(())
            } else {
                Seen::Instead(schema.to_string())
            })
        })
        .await
    }

    /// Waits until the API server, which watches roles and bindings, allows a program this, or no longer does.
    pub async fn wait_for_right(&self, which: Which, attributes: ResourceAttributes, allowed: bool) -> Result<()> {
        let user = format!("system:serviceaccount:{}:{}", self.programs_namespace(), which.name());
        let what = format!("{user} to be allowed ({allowed}) {attributes:?}");
        let spec = SubjectAccessReviewSpec {
            user: Some(user),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client());
        wait::until(what, wait::DEADLINE, async || {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            let status = answer.status.context("a review without a status")?;
            Ok(if status.allowed == allowed { Seen::Met(()) } else { Seen::Instead(format!("{status:?}")) })
        })
        .await
    }

    /// Deletes the world's kind together with its objects, so that the rest costs the API server nothing. The test's
    /// result does not depend on it.
    pub(super) async fn withdraw(&self) {
        for program in self.programs.lock().await.iter() {
            let _ = program.kill().await;
        }
        // The controller is gone, so its finalizers would block the deletion forever.
        for object in self.proxies().list(&ListParams::default()).await.into_iter().flatten() {
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            let _ = self.proxies().patch(&object.name_any(), &PatchParams::default(), &patch).await;
        }
        let name = format!("proxies.{}", self.group());
        let kinds = self.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None);
        if let Ok(kinds) = kinds {
            let _ = kinds.delete(&name, &DeleteParams::background()).await;
        }
    }
}
