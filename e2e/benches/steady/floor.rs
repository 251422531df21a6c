//! The floor: a loop on reqwest that sends the request of each object, parses the answer and compares it. It has no
//! Kubernetes, no schedule of each object and no failures.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use drift_e2e::{http_client, progress};
use drift_poller::engine::schedule::tick_of;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::load::{AT_ONCE, MOST_WAIT, document, name, path};

/// Reads the resource of each object once in an interval, until the process ends.
pub(crate) fn read_for_ever(url: &str, objects: usize, interval: Duration) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(read_all(url, objects, interval))
}

async fn read_all(url: &str, objects: usize, interval: Duration) -> Result<()> {
    http_client::choose_tls();
    let client = reqwest::Client::builder().no_proxy().timeout(interval.min(MOST_WAIT)).build()?;
    let wanted: Arc<Vec<Value>> = Arc::new((0..objects).map(|number| document(&name(number), false)).collect());
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let tick = tick_of(interval);
    let mut ticks = tokio::time::interval(tick);
    let (mut next, mut due) = (0, 0.0);
    loop {
        ticks.tick().await;
        due += objects as f64 * tick.div_duration_f64(interval);
        while due >= 1.0 {
            due -= 1.0;
            let slot = slots.clone().acquire_owned().await?;
            let (client, wanted, number) = (client.clone(), wanted.clone(), next % objects);
            let resource = format!("{url}{}", path(&name(number)));
            next += 1;
            tokio::spawn(async move {
                let _slot = slot;
                match is_as_wanted(&client, &resource, &wanted[number]).await {
                    Ok(true) => {}
                    other => progress::say(format!("{resource}: {other:?}")),
                }
            });
        }
    }
}

async fn is_as_wanted(client: &reqwest::Client, resource: &str, wanted: &Value) -> Result<bool> {
    let body = client.get(resource).send().await?.error_for_status()?.bytes().await?;
    let found: Value = serde_json::from_slice(&body)?;
    Ok(["listen", "upstream"].iter().all(|field| found[field] == wanted[field]))
}
