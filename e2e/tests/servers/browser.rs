//! The poller's page in a real browser, on a screen and on a phone: it loads what it needs under its own rules for content,
//! and asks for what is new.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::{Launch, log_tail};
use drift_e2e::systems::outside::Outside;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

use crate::installed::program;

/// Of a screen, and of a phone.
const WINDOWS: [(&str, &str); 2] = [("screen", "1280,900"), ("phone", "390,844")];

/// The time that a browser may take for one page on a busy machine.
const BROWSING: Duration = Duration::from_secs(60);

/// Opens a page until it has asked for what is new once, and keeps what it shows as `<name>.png`.
async fn open(url: &str, (name, size): (&str, &str), folder: &Path) -> Result<()> {
    let picture = folder.join(format!("{name}.png"));
    let launch = Launch::new(format!("chromium-{name}"), program("chromium", "chromium")?).arguments([
        "--headless=new".to_owned(),
        // The tests may run as root, where the browser's own sandbox does not start.
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--no-first-run".to_owned(),
        format!("--user-data-dir={}", folder.join(format!("profile-{name}")).display()),
        format!("--window-size={size}"),
        // Time passes as fast as the page allows; its first question for what is new comes after five seconds of it.
        "--virtual-time-budget=12000".to_owned(),
        format!("--screenshot={}", picture.display()),
        url.to_owned(),
    ]);
    let mut browser = launch.start(folder)?;
    let ended = browser.ended_within(BROWSING).await?;
    ensure!(picture.exists(), "{ended:?}\n{}", log_tail(browser.log(), 20));
    Ok(())
}

#[tokio::test]
async fn the_page_lives_in_a_browser() -> Result<()> {
    World::run("browser", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, toxiproxy.url())?.polled_when_asked()).await?;
        let poller = world.start_poller().await?;
        world.create_proxy("missing", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9"})).await?;
        wait::until("the object on the page", wait::DEADLINE, async || {
            let (_, page) = poller.page("/").await?;
            Ok(if page.contains("NotCreated") { Seen::Met(()) } else { Seen::Instead(page) })
        })
        .await?;
        let between = Outside::start().await?;
        between.forward_to(&poller.admin_url());
        for window in WINDOWS {
            between.forget_requests();
            open(&format!("{}/?shown=drifted", between.url()), window, world.folder()).await?;
            let seen: Vec<String> = between.requests().iter().map(|request| request.path.clone()).collect();
            let count = |path: &str| seen.iter().filter(|seen| seen.split('?').next() == Some(path)).count();
            ensure!(count("/page.css") == 1 && count("/page.js") == 1, "{window:?}: {seen:?}");
            ensure!(count("/") > 1, "{window:?}: its program did not run: {seen:?}");
        }
        Ok(())
    })
    .await
    .context("the page in a browser")
}
