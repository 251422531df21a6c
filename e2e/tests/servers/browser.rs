//! The poller's status page in a real browser, on a screen and on a phone, light and dark.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::{Launch, log_tail};
use drift_e2e::programs::Program;
use drift_e2e::systems::outside::{Answer, Outside};
use drift_e2e::systems::toxiproxy::ToxiproxyApi;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

use crate::installed::program;

/// Set to write the pictures of the documentation into `docs/images`.
const WRITE: &str = "DRIFT_WRITE_IMAGES";

/// The largest picture of the documentation, in bytes: three of them load within a second at 5 Mbit/s.
const MOST_BYTES: u64 = 200_000;

/// The time that a browser may take for one page on a busy machine.
const BROWSING: Duration = Duration::from_secs(60);

/// The narrowest window of the browser in pixels. A picture may be narrower, but the measures are of this width.
const NARROWEST: u32 = 500;

/// Put at the end of the page's script: notes on the root element how wide the window is, which elements reach past its right
/// edge, and which words have a line break inside.
const MEASURE: &str = r#"
setInterval(() => {
  const name = (element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 60)}`;
  const elements = [...document.querySelectorAll("body *")];
  const wide = elements.filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1);
  const words = elements.filter((element) => element.matches("time, .word, h1 a"));
  const broken = words.filter((element) => element.getClientRects().length > 1);
  root.dataset.wide = wide.map(name).join(", ");
  root.dataset.broken = broken.map(name).join(", ");
  root.dataset.width = innerWidth;
}, 500);
"#;

/// A window of the browser.
struct Window {
    /// The name of its picture.
    name: &'static str,
    /// Width and height in pixels of the page.
    size: (u32, u32),
    /// True for a dark colour scheme.
    dark: bool,
    /// True if the picture belongs to the documentation.
    documented: bool,
}

const WINDOWS: [Window; 4] = [
    Window { name: "page-light", size: (1280, 900), dark: false, documented: true },
    Window { name: "page-dark", size: (1280, 900), dark: true, documented: true },
    Window { name: "page-phone", size: (390, 844), dark: false, documented: true },
    Window { name: "page-phone-dark", size: (390, 844), dark: true, documented: false },
];

impl Window {
    /// Opens a page until it has refreshed once. Returns its document and the path of its picture.
    async fn open(&self, url: &str, folder: &Path) -> Result<(String, PathBuf)> {
        let picture = folder.join(format!("{}.png", self.name));
        let launch = Launch::new(format!("chromium-{}", self.name), program("chromium", "chromium")?).arguments([
            "--headless=new".to_owned(),
            // The tests may run as root, where the browser's own sandbox does not start.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--no-first-run".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--user-data-dir={}", folder.join(format!("profile-{}", self.name)).display()),
            format!("--window-size={},{}", self.size.0, self.size.1),
            // 0 is dark, 1 is light.
            format!("--blink-settings=preferredColorScheme={}", u8::from(!self.dark)),
            // Time passes as fast as the page allows. The page refreshes after five seconds of it.
            "--virtual-time-budget=12000".to_owned(),
            format!("--screenshot={}", picture.display()),
            "--dump-dom".to_owned(),
            url.to_owned(),
        ]);
        let mut browser = launch.start(folder)?;
        let ended = browser.ended_within(BROWSING).await?;
        ensure!(picture.exists(), "{ended:?}\n{}", log_tail(browser.log(), 20));
        Ok((fs::read_to_string(browser.log())?, picture))
    }
}

/// Creates objects of two targets: two drifted ones, one of them paused, twelve Unknown ones, and six in sync.
async fn populate(world: &World, toxiproxy: &ToxiproxyApi) -> Result<()> {
    let proxies = Target::shipped(world, toxiproxy.url())?.polled_when_asked();
    let unreachable = format!("http://{}", world.free_listen_address()?);
    let flags = Target::shipped(world, &unreachable)?.named("flags").with("/spec/interval", json!("5s"));
    let targets = [
        proxies.with("/spec/objects/labelSelector", json!("team=web")),
        flags.with("/spec/objects/labelSelector", json!("team=flags")),
    ];
    world.apply_targets(&targets).await?;
    for name in ["search", "checkout", "legacy-flag-1", "legacy-flag-2", "legacy-flag-10", "payments", "mail"] {
        let upstream = if name == "checkout" { "10.0.7.12:8080" } else { "10.0.7.31:8443" };
        let address = world.free_listen_address()?;
        toxiproxy.create_disabled(name, &address, upstream).await?;
        let spec = json!({"listen": address, "upstream": "10.0.7.31:8443", "enabled": false});
        world.create_proxy_with(name, json!({"labels": {"team": "web"}}), spec).await?;
    }
    let paused = json!({"labels": {"team": "web"}, "annotations": {"driftpoller.dev/paused": "true"}});
    let spec = json!({"listen": world.free_listen_address()?, "upstream": "10.0.7.31:8443"});
    world.create_proxy_with("invoices", paused, spec).await?;
    for number in 1..=12 {
        let spec = json!({"listen": world.free_listen_address()?, "upstream": "10.0.9.4:6379"});
        world.create_proxy_with(&format!("dark-mode-{number}"), json!({"labels": {"team": "flags"}}), spec).await?;
    }
    Ok(())
}

/// Waits until the page has its headline.
async fn wait_for_headline(poller: &Program, headline: &str) -> Result<()> {
    wait::until(format!("the headline {headline}"), wait::DEADLINE, async || {
        let (_, page) = poller.page("/").await?;
        // Until its first poll an object is Unknown without a verdict.
        let is_met = page.contains(&format!("<title>{headline} – ")) && !page.contains("no verdict yet");
        Ok(if is_met { Seen::Met(()) } else { Seen::Instead(page) })
    })
    .await
}

/// Checks the measures of [`MEASURE`].
fn check_layout(window: &Window, document: &str) -> Result<()> {
    let measure = |name: &str| {
        let (_, rest) = document.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let found = ["data-width", "data-wide", "data-broken"].map(measure);
    let width = window.size.0.max(NARROWEST).to_string();
    ensure!(found == [Some(width.as_str()), Some(""), Some("")], "{}: {found:?}\n{document}", window.name);
    Ok(())
}

/// Copies a picture into the documentation if the environment asks for it.
fn keep(window: &Window, picture: &Path) -> Result<()> {
    let size = fs::metadata(picture)?.len();
    ensure!(!window.documented || size < MOST_BYTES, "{}: {size} bytes", window.name);
    if window.documented && std::env::var_os(WRITE).is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images");
        fs::create_dir_all(&folder)?;
        fs::copy(picture, folder.join(format!("{}.png", window.name)))?;
    }
    Ok(())
}

#[tokio::test]
async fn the_page_fits_screen_and_phone() -> Result<()> {
    World::run("browser", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        populate(world, &toxiproxy).await?;
        let poller = world.start_poller().await?;
        let headline = "2 drifted · 12 unknown · 6 in sync";
        wait_for_headline(&poller, headline).await?;
        let between = Outside::start().await?;
        between.forward_to(&poller.admin_url());
        let (_, script) = poller.page("/page.js").await?;
        between.on("GET", "/page.js", Answer::text(200, "text/javascript", &(script + MEASURE)));
        for window in &WINDOWS {
            between.forget_requests();
            let (document, picture) = window.open(&format!("{}/", between.url()), world.folder()).await?;
            let seen: Vec<String> = between.requests().iter().map(|request| request.path.clone()).collect();
            let count = |path: &str| seen.iter().filter(|seen| seen.split('?').next() == Some(path)).count();
            ensure!(count("/page.css") == 1 && count("/page.js") == 1, "{}: {seen:?}", window.name);
            ensure!(count("/") > 1, "{}: the page did not refresh: {seen:?}", window.name);
            ensure!(document.contains(&format!("<title>{headline} – ")), "{document}");
            check_layout(window, &document)?;
            keep(window, &picture)?;
        }
        let (_, objects) = poller.page("/objects?shown=drifted").await?;
        let objects: Value = serde_json::from_str(&objects)?;
        ensure!(objects["matching"] == 2, "{objects}");
        Ok(())
    })
    .await
    .context("the page in a browser")
}
