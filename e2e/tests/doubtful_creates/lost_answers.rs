//! Answers that are lost after the effect, an object or a target that is edited meanwhile, and refusals of the repeated
//! request, side by side.

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::systems::outside::Answer;
use drift_e2e::world::{World, message};
use serde_json::{Value, json};

use super::{Keyless, Reaction, create_labelled, keep_ids, prove_reads, wait_for_told_doubt, wait_until_named_in_sync};

/// Objects with one fault each. The first part of a name is the fault, the second one is the label of the target.
const RESET_BY_NAME: &str = "reset-name";
const RESET_BY_ID: &str = "reset-id";
const GATEWAY_BY_NAME: &str = "gateway-name";
const LATE_BY_NAME: &str = "late-name";
const EDITED_BY_ID: &str = "edited-id";
const OTHER_STEPS_BY_ID: &str = "other-steps";
const REFUSED_BY_NAME: [(&str, u16); 2] = [("refused-409", 409), ("refused-422", 422)];

/// Objects whose first answer is lost, with the label of their target.
const LOST: [(&str, &str); 6] = [
    (RESET_BY_NAME, "name"),
    (GATEWAY_BY_NAME, "name"),
    (LATE_BY_NAME, "name"),
    (RESET_BY_ID, "id"),
    (EDITED_BY_ID, "id"),
    (OTHER_STEPS_BY_ID, "steps"),
];

fn react(number: usize, item: &Value) -> Reaction {
    let name = item["name"].as_str().unwrap_or_default();
    let refused = REFUSED_BY_NAME.into_iter().find(|(refused, _)| *refused == name);
    match (name, refused) {
        (RESET_BY_NAME | RESET_BY_ID, _) => Reaction::Makes(Answer::reset()),
        (LATE_BY_NAME, _) => Reaction::Hides(Answer::status(502)),
        (_, Some((_, status))) if number > 1 => Reaction::Refuses(Answer::status(status)),
        (_, Some(_)) => Reaction::Hides(Answer::status(502)),
        _ if name.starts_with("first-") => Reaction::Makes(Answer::json(201, item)),
        _ => Reaction::Makes(Answer::status(502)),
    }
}

#[tokio::test]
async fn a_lost_answer_makes_one_resource() -> Result<()> {
    World::run("lost-answers", async |world| {
        let server = Keyless::start_with(world, react).await?;
        keep_ids(world).await?;
        let update = json!([{"method": "PUT", "url": "/items/${self.metadata.name}",
            "body": {"upstream": "${self.spec.upstream}"}}]);
        let by_name = server.labelled_target(world, "name", false)?.with("/spec/correct/http/update", update);
        let mut targets = vec![
            // Absence counts after this time, so that a slow machine shows the late resource early enough.
            by_name.with("/spec/correct/http/create/0/timeout", json!("2m")),
            server.labelled_target(world, "id", true)?,
            server.labelled_target(world, "steps", true)?,
        ];
        world.apply_targets(&targets).await?;
        world.start_both().await?;
        prove_reads(world, &["name", "id", "steps"]).await?;
        for (name, label) in LOST {
            create_labelled(world, name, label).await?;
        }
        for (name, _) in LOST {
            server.wait_for_posts(name, 1).await?;
        }
        for name in [LATE_BY_NAME, EDITED_BY_ID, OTHER_STEPS_BY_ID] {
            world.wait_for_note(name, "False", "CorrectionFailed").await?;
        }

        let late = format!("/items/{LATE_BY_NAME}");
        let edit = |port: u16| json!({"spec": {"upstream": format!("127.0.0.1:{port}")}});
        world.patch_proxy(LATE_BY_NAME, edit(3)).await?;
        let polls = server.outside.requests_to("GET", &late).len();
        world.patch_proxy(EDITED_BY_ID, edit(3)).await?;
        targets[2] = targets[2].clone().with("/spec/correct/http/create/0/body/note", json!("second"));
        world.apply_targets(&targets).await?;
        server.outside.wait_for_next("GET", &late, polls + 1).await?;
        server.show_all();
        for name in [RESET_BY_NAME, GATEWAY_BY_NAME, LATE_BY_NAME] {
            wait_until_named_in_sync(world, name).await?;
        }
        for name in [RESET_BY_ID, EDITED_BY_ID, OTHER_STEPS_BY_ID] {
            wait_for_told_doubt(world, name, 1).await?;
        }
        world.patch_proxy(EDITED_BY_ID, edit(4)).await?;
        targets[2] = targets[2].clone().with("/spec/correct/http/create/0/body/note", json!("third"));
        world.apply_targets(&targets).await?;
        server.wait_for_no_more_than(server.outside.count("POST")).await?;
        wait_for_told_doubt(world, EDITED_BY_ID, 1).await?;
        for (name, _) in LOST {
            ensure!(server.posts_of(name) == 1 && server.count_of(name) == 1, "{name}: {:?}", server.made);
        }
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_refused_repetition_is_the_last_create() -> Result<()> {
    World::run("refused-repetition", async |world| {
        let server = Keyless::start_with(world, react).await?;
        world.apply_target(&server.labelled_target(world, "name", false)?).await?;
        world.start_both().await?;
        prove_reads(world, &["name"]).await?;
        for (name, _) in REFUSED_BY_NAME {
            create_labelled(world, name, "name").await?;
        }
        for (name, _) in REFUSED_BY_NAME {
            server.wait_for_posts(name, 2).await?;
        }
        wait_for_told_doubt(world, "refused-422", 1).await?;
        let told = world.wait_for_verdict("refused-409", "Unknown", "AbsenceContradicted").await?;
        let text = message(&told, names::DRIFT_CORRECTED);
        ensure!(text.contains("it seems to exist already, so the create is tried once an hour"), "{text}");
        server.wait_for_no_more_than(5).await?;
        for (name, _) in REFUSED_BY_NAME {
            ensure!((server.posts_of(name), server.count_of(name)) == (2, 1), "{name}: {:?}", server.made);
        }
        Ok(())
    })
    .await
}
