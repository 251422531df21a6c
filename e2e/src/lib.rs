//! The end-to-end test bed: everything that a behaviour test or the demo needs around the two programs.
//!
//! Behaviours are tested against real systems: kube-apiserver and etcd, a REST service (toxiproxy), the shipped
//! ServiceAccounts and RBAC, and the two programs as separate processes. [`systems::outside::Outside`] is our own
//! server for faults that no real system produces on demand (a truncated response, a dropped connection, a 429 with a
//! date).
//!
//! # A behaviour test
//!
//! ```no_run
//! use drift_e2e::world::{Target, World};
//! use serde_json::json;
//!
//! #[tokio::test]
//! async fn a_proxy_that_was_changed_outside_is_healed() -> anyhow::Result<()> {
//!     World::run("changed outside is healed", async |world| {
//!         let toxiproxy = world.start_toxiproxy().await?;
//!         world.apply_target(&Target::shipped(world, toxiproxy.url())?).await?;
//!         world.start_poller().await?;
//!         world.start_controller().await?;
//!
//!         let listen = world.free_listen_address()?;
//!         world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
//!         world.wait_for_verdict("web", "False", "InSync").await?;
//!
//!         let history = world.watch_object("web").await?;
//!         toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
//!         history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
//!         anyhow::ensure!(toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"));
//!         Ok(())
//!     })
//!     .await
//! }
//! ```

pub mod binaries;
pub mod cluster;
pub mod demo;
pub mod http_client;
pub mod manifests;
pub mod metrics;
pub mod node;
pub mod pages;
pub mod process;
pub mod programs;
pub mod progress;
pub mod systems;
pub mod wait;
pub mod world;
