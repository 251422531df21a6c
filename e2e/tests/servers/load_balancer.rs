//! docs/cookbook/load-balancer.md: resources that a cloud creates and names by itself.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::load_balancers::LoadBalancers;
use drift_e2e::systems::outside::Answer;
use drift_e2e::world::{Target, World};
use drift_kube::process::kill_point::KillPoint;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::page::{self, Subject};

/// Long enough for several polls of the test's interval.
const SOME_POLLS: Duration = Duration::from_secs(10);

/// Applies the page in the world's own group, so that its writes are counted separately from other worlds.
async fn apply(world: &World, cloud: &str, replaced: &[(&str, &str)]) -> Result<Subject> {
    let address = cloud.trim_start_matches("http://");
    let roles = ["poller", "controller"].map(|program| {
        let written = format!("drift-{program}-load-balancers");
        (written, format!("drift-{program}-{}", world.objects_namespace()))
    });
    let mut own = vec![("cloud.net.svc:8080", address), ("cloud.example", world.group())];
    own.extend(replaced);
    own.extend(roles.iter().map(|(written, own)| (written.as_str(), own.as_str())));
    page::apply(world, "load-balancer.md", &own).await
}

fn id(object: &Value) -> Result<String> {
    object["status"]["externalId"].as_str().map(str::to_owned).with_context(|| format!("no id: {object}"))
}

#[tokio::test]
async fn a_load_balancer_is_kept_by_its_id() -> Result<()> {
    World::run("load balancer", async |world| {
        let cloud = LoadBalancers::start().await?;
        // Its API, which sometimes does not answer.
        let api = world.start_outside().await?;
        api.forward_to(cloud.url());
        let subject = apply(world, api.url(), &[]).await?;
        world.start_both().await?;
        let created = subject.wait_until_healed_by(1).await?;
        let first = id(&created)?;
        ensure!(cloud.all().len() == 1 && cloud.all()[0]["id"] == json!(first), "{:?}", cloud.all());
        ensure!(created["status"]["address"] == cloud.all()[0]["address"], "{created}");

        // Ports in another order are no drift, and a steady state writes nothing.
        cloud.change(&first, &json!({"ports": [443, 80]}));
        let before = world.writes().await?;
        tokio::time::sleep(SOME_POLLS).await;
        ensure!(world.writes().await? == before, "a steady state was written");

        let history = subject.watch().await?;
        cloud.change(&first, &json!({"size": "large"}));
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(cloud.all()[0]["size"] == "small", "{:?}", cloud.all());

        // An unreachable resource is Unknown, keeps its address, and is not corrected.
        api.on("*", "*", Answer::reset());
        cloud.change(&first, &json!({"size": "large"}));
        let unknown = subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        ensure!(unknown["status"]["address"] == created["status"]["address"], "{unknown}");
        api.nothing_is_written_for(SOME_POLLS).await?;
        api.forget();
        subject.wait_until_healed_by(3).await?;
        ensure!(cloud.all()[0]["size"] == "small", "{:?}", cloud.all());

        // Its observed fields are published, and nothing else is written.
        cloud.change(&first, &json!({"address": "192.0.2.77"}));
        subject.wait_for("another address", |object| object["status"]["address"] == "192.0.2.77").await?;

        cloud.remove(&first);
        let anew = subject.wait_until_healed_by(4).await?;
        ensure!(id(&anew)? != first && cloud.made() == 2, "{anew}");
        ensure!(anew["status"]["address"] == cloud.all()[0]["address"], "{anew}");

        subject.delete().await?;
        ensure!(cloud.all().is_empty() && cloud.made() == 2, "{:?}", cloud.all());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_death_before_the_note_makes_no_second_one() -> Result<()> {
    let deaths = [
        (KillPoint::ControllerAfterStep, 2),
        (KillPoint::ControllerBeforeNote, 2),
        (KillPoint::ControllerAfterNote, 1),
    ];
    for (point, corrections) in deaths {
        World::run(&format!("lb {}", point.as_str()), async |world| {
            let cloud = LoadBalancers::start().await?;
            let subject = apply(world, cloud.url(), &[]).await?;
            world.start_poller().await?;
            let victim = world.start(Which::Controller, Options::dying_at(point, 1).named("victim".to_owned())).await?;
            victim.wait_until_ended().await?;
            ensure!(cloud.made() == 1, "it died before it had made anything");
            world.clear_lease(Which::Controller.name()).await?;
            world.start_controller().await?;
            let healed = subject.wait_until_healed_by(corrections).await?;
            ensure!(cloud.made() == 1 && cloud.all()[0]["id"] == json!(id(&healed)?), "{:?} {healed}", cloud.all());
            subject.delete().await?;
            ensure!(cloud.all().is_empty(), "{:?}", cloud.all());
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_id_is_found_by_name_and_published() -> Result<()> {
    World::run("load balancers by name", async |world| {
        let cloud = LoadBalancers::start().await?;
        for size in 0..5 {
            let _ = cloud.put(&json!({"name": format!("foreign-{size}")}));
        }
        let subject = apply(world, cloud.url(), &[("verbs: [patch, store]", "verbs: [patch]")]).await?;
        let objects = json!({"apiVersion": format!("{}/v1", world.group()), "kind": "LoadBalancer"});
        let url = format!("{}/v1/load-balancers", cloud.url());
        let one = json!({"method": "PATCH", "url": format!("{url}/${{self.status.externalId}}"), "body": "${desired}"});
        let target = Target::from_document(json!({
            "apiVersion": names::TARGET_API_VERSION, "kind": names::TARGET_KIND, "metadata": {"name": "load-balancers"},
            "spec": {
                "objects": objects, "identity": "${self.metadata.name}", "interval": "3s",
                "read": {"http": {
                    "url": url, "each": "${response.body.items}", "key": {"item": "${item.name}"}, "next": "${response.body.?next}",
                }},
                "compare": {"desired": {"size": "${self.spec.size}"}},
                "publish": {"externalId": "${observed.id}"},
                "correct": {"mode": "Correct", "http": {
                    "create": [{"method": "POST", "url": url, "body": {"name": "${self.metadata.name}", "size": "${desired.size}"}}],
                    "update": [one],
                }},
            },
        }));
        world.apply_target_texts("targets-load-balancers", &[("load-balancers.yaml", &target.text()?)]).await?;
        world.start_both().await?;
        let made = subject.wait_until_healed_by(1).await?;
        let first = id(&made)?;
        ensure!(cloud.made() == 6, "{:?}", cloud.all());

        cloud.change(&first, &json!({"size": "large"}));
        subject.wait_until_healed_by(2).await?;
        ensure!(cloud.all().iter().any(|one| one["id"] == json!(first) && one["size"] == "small"), "{:?}", cloud.all());

        cloud.remove(&first);
        let anew = subject.wait_until_healed_by(3).await?;
        ensure!(id(&anew)? != first && cloud.made() == 7, "{anew}");
        let forged = json!({"status": {"externalId": "lb-0"}});
        let said = answer_to(world, Which::Controller, &forged).await?;
        ensure!(said.contains("without the right to store"), "{said}");
        let conditions = json!({"status": {"conditions": []}});
        let said = answer_to(world, Which::Poller, &conditions).await?;
        ensure!(said.contains("may change driftObserved only"), "{said}");
        Ok(())
    })
    .await
}

/// Returns the API server's response to a merge patch of the object's status with the token of a program.
async fn answer_to(world: &World, which: Which, patch: &Value) -> Result<String> {
    let access = world.control_plane().service_account(world.programs_namespace(), which.name()).await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(world.group(), "v1", "LoadBalancer"));
    let api: Api<DynamicObject> = Api::namespaced_with(access.client().await?, world.objects_namespace(), &kind);
    let answer = api.patch_status("shop", &PatchParams::default(), &Patch::Merge(patch)).await;
    Ok(answer.err().map_or_else(|| "it was taken".to_owned(), |error| error.to_string()))
}
