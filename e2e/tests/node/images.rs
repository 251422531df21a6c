//! The same sources give the same programs, so that users can verify the sources of a published image.

use anyhow::{Result, ensure};
use drift_e2e::node::{Again, build_again};
use drift_e2e::progress;

async fn play(again: Again) -> Result<()> {
    for built in build_again(again).await? {
        progress::say(format!("{} built twice: SHA-256 {}, then {}", built.program, built.first, built.second));
        ensure!(built.first == built.second, "{built:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "builds both programs twice: .ci/release"]
async fn a_second_build_gives_the_same_programs() -> Result<()> {
    play(Again::OwnCrates).await
}

#[tokio::test]
#[ignore = "builds every dependency anew, twice: cargo e2e-node --ignored a_second_build_of_everything"]
async fn a_second_build_of_everything_gives_the_same() -> Result<()> {
    play(Again::Everything).await
}
