//! Kinds of other operators keep their drift in a DriftReport beside the object, and a nudge wakes their operator.

mod kinds;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, NUDGE_VERB, REPORT_API_VERSION, REPORT_KIND, REPORT_PLURAL};
use drift_api::object::report::report_name;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{History, Target, World, condition, describe, message, right, tag};
use kinds::{Foreign, Wakes};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Name of the single object.
const NAME: &str = "web";
/// More than two polls.
const QUIET: Duration = Duration::from_secs(7);
/// Time after which a program removes what a target left.
const PATIENCE: &str = "2s";
const IN_SYNC: &str = "False/InSync";
const DIFFERS: &str = "True/FieldsDiffer";

/// One object of a foreign kind, and what its operator manages outside.
struct Bed<'w> {
    world: &'w World,
    kind: Foreign,
    group: String,
    toxiproxy: Toxiproxy,
}

impl<'w> Bed<'w> {
    /// Defines the kind, and creates the object after what it describes.
    async fn make(world: &'w World, kind: Foreign) -> Result<Self> {
        let bed = Self { world, kind, group: kind.group(world.group()), toxiproxy: world.start_toxiproxy().await? };
        world.apply(&kind.definition(&bed.group)).await?;
        bed.allow().await?;
        bed.toxiproxy.create_disabled(NAME, "127.0.0.1:1", kind.desired).await?;
        wait::until(format!("{} to be served", kind.kind), wait::DEADLINE, async || {
            Ok(Seen::Met(world.apply(&bed.object_document()).await?))
        })
        .await?;
        Ok(bed)
    }

    /// Makes it, and starts both programs.
    async fn start(world: &'w World, kind: Foreign) -> Result<Self> {
        let bed = Self::make(world, kind).await?;
        world.apply_target(&bed.target()?).await?;
        world.start_both().await?;
        bed.wait(IN_SYNC).await?;
        Ok(bed)
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.kind.stored_version())
    }

    fn object_document(&self) -> Value {
        json!({"apiVersion": self.api_version(), "kind": self.kind.kind,
            "metadata": {"name": NAME, "namespace": self.world.objects_namespace()},
            "spec": {self.kind.field: self.kind.desired}})
    }

    /// Grants what such a target needs: nothing on the status of the kind, and to the controller only the nudge.
    async fn allow(&self) -> Result<()> {
        const RBAC: &str = "rbac.authorization.k8s.io/v1";
        for which in [Which::Poller, Which::Controller] {
            let mut verbs = vec!["get", "list", "watch"];
            if which == Which::Controller && self.kind.nudge().is_some() {
                verbs.extend(["patch", NUDGE_VERB]);
            }
            let group = json!([self.group]);
            let mut rules = vec![json!({"apiGroups": group, "resources": [self.kind.plural], "verbs": verbs})];
            if self.kind.is_plain {
                let status = format!("{}/status", self.kind.plural);
                rules.push(json!({"apiGroups": group, "resources": [status], "verbs": ["patch"]}));
            }
            let name = format!("{}-{}-foreign", self.world.programs_namespace(), which.name());
            let role = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
            self.world.apply(&role).await?;
            let subject =
                json!({"kind": "ServiceAccount", "name": which.name(), "namespace": self.world.programs_namespace()});
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
            let binding = json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": role, "subjects": [subject]});
            self.world.apply(&binding).await?;
            let listing = right(&self.group, self.kind.plural, "list", self.world.objects_namespace());
            self.world.wait_for_right(which, listing, true).await?;
        }
        Ok(())
    }

    fn target(&self) -> Result<Target> {
        let place = if self.kind.is_plain { "Object" } else { "Report" };
        let objects = json!({"apiVersion": self.api_version(), "kind": self.kind.kind,
            "namespaces": [self.world.objects_namespace()], "conditions": place});
        let correct = self.kind.nudge().map_or_else(
            || json!({"mode": "Observe"}),
            |annotation| {
                json!({"mode": "Correct", "settle": "1s", "limits": {"maxDriftedPercent": 100},
                    "nudge": {"annotations": {annotation: "drift-${correction}"}}})
            },
        );
        Ok(Target::shipped(self.world, self.toxiproxy.url())?
            .with("/spec/objects", objects)
            .with("/spec/compare/desired", json!({"upstream": format!("${{self.spec.{}}}", self.kind.field)}))
            .with("/spec/correct", correct))
    }

    fn objects(&self) -> Result<Api<DynamicObject>> {
        self.world.api(&self.api_version(), self.kind.kind, Some(self.world.objects_namespace()))
    }

    fn reports(&self) -> Result<Api<DynamicObject>> {
        self.world.api(REPORT_API_VERSION, REPORT_KIND, Some(self.world.objects_namespace()))
    }

    fn report_name(&self) -> String {
        report_name(&self.group, self.kind.kind, NAME)
    }

    async fn object(&self) -> Result<Value> {
        Ok(serde_json::to_value(self.objects()?.get(NAME).await?)?)
    }

    /// Returns the report, or null without one.
    async fn report(&self) -> Result<Value> {
        let found = self.reports()?.get_opt(&self.report_name()).await?;
        Ok(found.map(serde_json::to_value).transpose()?.unwrap_or_default())
    }

    /// Starts to record what has the conditions.
    async fn record(&self) -> Result<History> {
        if self.kind.is_plain {
            return History::of(self.objects()?, NAME).await;
        }
        History::of(self.reports()?, &self.report_name()).await
    }

    async fn wait_until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        wait::until(format!("the conditions of {NAME}: {what}"), wait::DEADLINE, async || {
            let place = if self.kind.is_plain { self.object().await? } else { self.report().await? };
            Ok(if wanted(&place) { Seen::Met(place) } else { Seen::Instead(place.to_string()) })
        })
        .await
    }

    async fn wait(&self, verdict: &str) -> Result<Value> {
        self.wait_until(verdict, |place| describe(place, DRIFT_OBSERVED) == verdict).await
    }

    /// Waits until a later poll has verified this correction.
    async fn wait_until_healed_by(&self, correction: u64) -> Result<Value> {
        self.wait_until(&format!("healed by correction {correction}"), |place| {
            describe(place, DRIFT_OBSERVED) == IN_SYNC && tag(place).correction == correction
        })
        .await
    }

    async fn drift(&self) -> Result<()> {
        self.toxiproxy.update(NAME, json!({"upstream": self.kind.drifted})).await.map(drop)
    }

    /// Returns the number of writes of both programs to the object and to reports.
    async fn writes(&self) -> Result<usize> {
        let mut count = 0;
        for which in [Which::Poller, Which::Controller] {
            let writes = self.world.all_writes_by(which).await?;
            count += writes.iter().filter(|it| [self.kind.plural, REPORT_PLURAL].contains(&&*it.resource)).count();
        }
        Ok(count)
    }

    async fn ensure_quiet(&self) -> Result<()> {
        let before = self.writes().await?;
        tokio::time::sleep(QUIET).await;
        let writes = self.writes().await? - before;
        ensure!(writes == 0, "{writes} writes at rest");
        Ok(())
    }

    /// The stand-in operator: brings the spec outside when it is woken after this, and then writes its own status.
    async fn operate(&self, mut handled: String) -> Result<()> {
        loop {
            let seen = self.wakes_by(&self.object().await?);
            if handled != seen {
                self.reconcile().await?;
                handled = seen;
            }
            tokio::time::sleep(wait::ASK_EVERY).await;
        }
    }

    fn wakes_by(&self, object: &Value) -> String {
        let metadata = &object["metadata"];
        match self.kind.wakes {
            Wakes::Change => metadata["resourceVersion"].to_string(),
            Wakes::Annotation(name) => json!([metadata["annotations"][name], object["spec"]]).to_string(),
            Wakes::Spec => object["spec"].to_string(),
        }
    }

    async fn reconcile(&self) -> Result<()> {
        let (objects, object) = (self.objects()?, self.object().await?);
        let desired = object["spec"][self.kind.field].as_str().context("a spec without its field")?;
        self.toxiproxy.update(NAME, json!({"upstream": desired})).await?;
        let status = Patch::Merge(json!({"status": (self.kind.reconciled)()}));
        if self.kind.has_status_subresource {
            objects.patch_status(NAME, &PatchParams::default(), &status).await?;
        } else {
            objects.patch(NAME, &PatchParams::default(), &status).await?;
        }
        Ok(())
    }

    /// Checks that nothing of ours is on the object, besides a nudge.
    async fn ensure_object_is_untouched(&self) -> Result<()> {
        let object = self.object().await?;
        let marks = [DRIFT_OBSERVED, DRIFT_CORRECTED].map(|kind| condition(&object, kind).is_some());
        ensure!(marks == [false, false] && object["metadata"].get("finalizers").is_none(), "{object}");
        let is_unedited = object["metadata"]["generation"] == 1 || !self.kind.has_status_subresource;
        ensure!(is_unedited, "a nudge is no edit: {object}");
        Ok(())
    }

    /// Checks that the report belongs to the present object.
    async fn ensure_report_is_of_object(&self) -> Result<()> {
        let (object, report) = (self.object().await?, self.report().await?);
        let owner = json!({"apiVersion": self.api_version(), "kind": self.kind.kind, "name": NAME,
            "uid": object["metadata"]["uid"]});
        ensure!(report["object"] == owner, "{report}");
        ensure!(report["metadata"]["ownerReferences"] == json!([owner]), "{report}");
        Ok(())
    }

    /// Plays drift, healing and rest.
    async fn story(&self) -> Result<()> {
        let history = self.record().await?;
        self.drift().await?;
        // Without the subresource, the status of the operator was an edit, and a poll may have found it in sync.
        let verdicts = ["True/FieldsDiffer", "True/NotUpdated"];
        let verdicts = &verdicts[..if self.kind.has_status_subresource { 1 } else { 2 }];
        history.wait_for("drift", |object| verdicts.contains(&&*describe(object, DRIFT_OBSERVED))).await?;
        if let Some(annotation) = self.kind.nudge() {
            let healed = self.wait_until_healed_by(1).await?;
            ensure!(message(&healed, DRIFT_CORRECTED).starts_with("correction 1: nudged"), "{healed}");
            let object = self.object().await?;
            ensure!(object["metadata"]["annotations"][annotation] == "drift-1", "{object}");
            self.toxiproxy.wait_for(NAME, |it| it.is_some_and(|it| it.upstream == self.kind.desired)).await?;
        } else {
            let drifted = self.wait(DIFFERS).await?;
            ensure!(drifted["status"]["fields"] == "/upstream", "{drifted}");
            self.ensure_quiet().await?;
            self.toxiproxy.update(NAME, json!({"upstream": self.kind.desired})).await?;
            let healed = self.wait(IN_SYNC).await?;
            ensure!(condition(&healed, DRIFT_CORRECTED).is_none(), "{healed}");
        }
        self.ensure_quiet().await?;
        if !self.kind.is_plain {
            ensure!(self.report().await?["status"].get("fields").is_none(), "fields are left");
            self.ensure_object_is_untouched().await?;
            self.ensure_report_is_of_object().await?;
        }
        Ok(())
    }
}

async fn drift_is_seen_and_healed(kind: Foreign) -> Result<()> {
    World::run(&format!("foreign {}", kind.kind.to_lowercase()), async |world| {
        let bed = Bed::start(world, kind).await?;
        bed.reconcile().await?;
        let handled = bed.wakes_by(&bed.object().await?);
        tokio::select! {
            told = bed.story() => told,
            ended = bed.operate(handled) => ended.context("the operator ended"),
        }
    })
    .await
}

#[tokio::test]
async fn a_status_replaced_at_each_change_loses_nothing() -> Result<()> {
    drift_is_seen_and_healed(kinds::QUEUE).await
}

#[tokio::test]
async fn an_operator_that_hears_the_spec_is_observed() -> Result<()> {
    drift_is_seen_and_healed(kinds::RECORD_SET).await
}

#[tokio::test]
async fn a_status_without_conditions_needs_no_change() -> Result<()> {
    drift_is_seen_and_healed(kinds::DNS_ENDPOINT).await
}

#[tokio::test]
async fn a_status_with_required_fields_stays_valid() -> Result<()> {
    drift_is_seen_and_healed(kinds::POSTGRES_USER).await
}

#[tokio::test]
async fn a_status_of_one_word_needs_no_change() -> Result<()> {
    drift_is_seen_and_healed(kinds::REALM_USER).await
}

#[tokio::test]
async fn a_kind_in_lower_case_needs_no_change() -> Result<()> {
    drift_is_seen_and_healed(kinds::POSTGRESQL).await
}

#[tokio::test]
async fn a_kind_without_a_status_subresource_is_nudged() -> Result<()> {
    drift_is_seen_and_healed(kinds::APPLICATION).await
}

#[tokio::test]
async fn a_kind_with_all_six_fields_needs_no_report() -> Result<()> {
    drift_is_seen_and_healed(kinds::KUSTOMIZATION).await
}

/// Writes another status several times a second, without our conditions.
async fn replace_status(bed: &Bed<'_>) -> Result<()> {
    for number in 1_u64.. {
        let mut status = (bed.kind.reconciled)();
        status["observedGeneration"] = json!(number);
        let patch = Patch::Merge(json!({ "status": status }));
        bed.objects()?.patch_status(NAME, &PatchParams::default(), &patch).await?;
        tokio::time::sleep(wait::ASK_EVERY).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_second_writer_of_the_status_causes_no_writes() -> Result<()> {
    World::run("foreign second writer", async |world| {
        let bed = Bed::start(world, kinds::QUEUE).await?;
        tokio::select! {
            told = bed.ensure_quiet() => told?,
            ended = replace_status(&bed) => ended.context("the other writer ended")?,
        }
        bed.wait(IN_SYNC).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_lost_report_is_written_again() -> Result<()> {
    World::run("foreign lost report", async |world| {
        let bed = Bed::start(world, kinds::RECORD_SET).await?;
        let former = bed.report().await?["metadata"]["uid"].clone();
        bed.reports()?.delete(&bed.report_name(), &DeleteParams::default()).await?;
        let is_back =
            |report: &Value| describe(report, DRIFT_OBSERVED) == IN_SYNC && report["metadata"]["uid"] != former;
        bed.wait_until("back", is_back).await?;
        bed.ensure_report_is_of_object().await?;
        bed.ensure_quiet().await
    })
    .await
}

/// No garbage collector runs here, so the report of the former object is still there.
#[tokio::test]
async fn a_new_object_takes_over_the_report() -> Result<()> {
    World::run("foreign anew", async |world| {
        let bed = Bed::start(world, kinds::RECORD_SET).await?;
        bed.drift().await?;
        bed.wait(DIFFERS).await?;
        let former = bed.report().await?["object"]["uid"].clone();
        bed.objects()?.delete(NAME, &DeleteParams::default()).await?;
        bed.toxiproxy.update(NAME, json!({"upstream": bed.kind.desired})).await?;
        let object = serde_json::from_value(bed.object_document())?;
        bed.objects()?.create(&PostParams::default(), &object).await?;
        let is_anew = |report: &Value| report["object"]["uid"] != former && describe(report, DRIFT_OBSERVED) == IN_SYNC;
        bed.wait_until("of the new object", is_anew).await?;
        bed.ensure_report_is_of_object().await?;
        bed.ensure_quiet().await
    })
    .await
}

#[tokio::test]
async fn a_restart_writes_no_report() -> Result<()> {
    World::run("foreign restart", async |world| {
        let bed = Bed::make(world, kinds::QUEUE).await?;
        world.apply_target(&bed.target()?).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        bed.wait(IN_SYNC).await?;
        for program in programs {
            ensure!(program.stop().await?.success(), "{} failed to stop", program.instance());
        }
        let before = bed.writes().await?;
        for which in [Which::Poller, Which::Controller] {
            let options = Options::default().named(format!("{}-again", which.name()));
            world.start(which, options).await?;
        }
        tokio::time::sleep(QUIET).await;
        let writes = bed.writes().await? - before;
        ensure!(writes == 0, "{writes} writes after a restart");
        bed.drift().await?;
        bed.wait_until("nudged", |report| tag(report).correction == 1).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn switching_the_place_leaves_nothing_behind() -> Result<()> {
    // Its poller looks for reports to clean up in the whole cluster.
    World::run("foreign switch", async |world| {
        let bed = Bed::make(world, kinds::KUSTOMIZATION).await?;
        world.apply_target(&bed.target()?).await?;
        for which in [Which::Poller, Which::Controller] {
            let arguments = vec!["--clean-up-after".to_owned(), PATIENCE.to_owned()];
            world.start(which, Options { arguments, ..Options::default() }).await?;
        }
        bed.wait(IN_SYNC).await?;
        for (place, wanted) in [("Report", ("-", IN_SYNC)), ("Object", (IN_SYNC, "-"))] {
            world.apply_target(&bed.target()?.with("/spec/objects/conditions", json!(place))).await?;
            wait::until(format!("the conditions only with {place}"), wait::DEADLINE, async || {
                let (object, report) = (bed.object().await?, bed.report().await?);
                let found = [&object, &report].map(|it| describe(it, DRIFT_OBSERVED));
                let is_so = found == [wanted.0, wanted.1] && (place == "Report" || report.is_null());
                Ok(if is_so { Seen::Met(()) } else { Seen::Instead(format!("{object} {report}")) })
            })
            .await?;
            bed.ensure_quiet().await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn two_versions_of_a_kind_share_one_report() -> Result<()> {
    World::run("foreign versions", async |world| {
        let bed = Bed::start(world, kinds::QUEUE).await?;
        let [other, stored] = bed.kind.versions else { anyhow::bail!("the kind has two versions") };
        for version in [other, stored] {
            let api_version = format!("{}/{version}", bed.group);
            world.apply_target(&bed.target()?.with("/spec/objects/apiVersion", json!(api_version))).await?;
            bed.ensure_quiet_after_change().await?;
            bed.drift().await?;
            bed.wait(DIFFERS).await?;
            bed.toxiproxy.update(NAME, json!({"upstream": bed.kind.desired})).await?;
            bed.wait(IN_SYNC).await?;
            let reports = bed.reports()?.list(&ListParams::default()).await?.items;
            ensure!(reports.len() == 1, "{reports:?}");
        }
        Ok(())
    })
    .await
}

impl Bed<'_> {
    /// Waits until both programs have taken over an edited target.
    async fn ensure_quiet_after_change(&self) -> Result<()> {
        tokio::time::sleep(QUIET).await;
        self.wait(IN_SYNC).await.map(drop)
    }
}
