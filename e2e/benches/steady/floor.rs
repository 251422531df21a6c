//! The least that a poller on reqwest must spend: the request, the parse and the comparison. It knows no Kubernetes, no
//! schedule of its own and no failures.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use drift_e2e::progress;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::load::{AT_ONCE, document, name, path};

/// Time between two wake-ups, as in the poller at an interval of ten seconds.
const TICK: Duration = Duration::from_millis(10);

/// Reads the resource of each object once in an interval, until the process ends.
pub(crate) fn read_for_ever(url: &str, objects: usize, interval: Duration) -> Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(read_all(url, objects, interval))
}

async fn read_all(url: &str, objects: usize, interval: Duration) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let wanted: Arc<Vec<Value>> = Arc::new((0..objects).map(|number| document(&name(number), false)).collect());
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let mut ticks = tokio::time::interval(TICK);
    let (mut next, mut due) = (0, 0.0);
    loop {
        ticks.tick().await;
        due += objects as f64 * TICK.div_duration_f64(interval);
        while due >= 1.0 {
            due -= 1.0;
            let slot = slots.clone().acquire_owned().await?;
            let (client, wanted, number) = (client.clone(), wanted.clone(), next % objects);
            let resource = format!("{url}{}", path(&name(number)));
            next += 1;
            tokio::spawn(async move {
                let _slot = slot;
                if !is_as_wanted(&client, &resource, &wanted[number]).await.unwrap_or_default() {
                    progress::say(format!("{resource} differs"));
                }
            });
        }
    }
}

async fn is_as_wanted(client: &reqwest::Client, resource: &str, wanted: &Value) -> Result<bool> {
    let body = client.get(resource).send().await?.bytes().await?;
    let found: Value = serde_json::from_slice(&body)?;
    Ok(["listen", "upstream"].iter().all(|field| found[field] == wanted[field]))
}
