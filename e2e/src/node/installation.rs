//! The complete shipped manifests on a cluster, with an external system outside of it. Each node test begins with it.
//!
//! The manifests fix the namespaces, so there is one installation and tests take turns.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use super::{Cluster, Usage, cgroup};
use crate::binaries;
use crate::cluster::kubectl::Kubectl;
use crate::manifests::{self, NAMESPACE, OBJECTS_NAMESPACE};
use crate::process::run_folder;
use crate::programs::Which;
use crate::progress;
use crate::systems::outside::Outside;
use crate::systems::toxiproxy::Toxiproxy;
use crate::wait::{self, Seen};

/// The port in the shipped target.
pub const PORT: u16 = 8474;

/// Deadline for ready Pods after `kubectl apply`, if the images are on the node. Measured: 2 to 8 s. A killed container
/// waits ten seconds before its next start.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// The two programs of an installation.
pub const BOTH: [Which; 2] = [Which::Poller, Which::Controller];

/// The installation, in use by one test.
pub struct Installation {
    cluster: &'static Cluster,
    kubectl: Kubectl,
    outside: Outside,
    toxiproxy: Toxiproxy,
    _turn: MutexGuard<'static, ()>,
}

impl Installation {
    /// Runs one test on the installation as shipped, with both Pods ready and without objects. Cleans up afterwards.
    ///
    /// # Errors
    /// The test's error, with the logs of the Pods.
    pub async fn run(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let installation = Self::begin(label).await?;
        let result = Box::pin(behaviour(&installation)).await;
        let result = match result {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(installation.account().await)),
        };
        let cleared = installation.clear().await;
        result.and(cleared)
    }

    async fn begin(label: &str) -> Result<Self> {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let cluster = Cluster::shared().await?;
        let folder = run_folder::path()?.join(label);
        std::fs::create_dir_all(&folder)?;
        let toxiproxy = Toxiproxy::start(&binaries::locate().await?.toxiproxy, &folder, "toxiproxy").await?;
        let outside = Outside::start_on(SocketAddr::new(cluster.outside().into(), PORT)).await?;
        outside.forward_to(toxiproxy.url());
        let installation = Self { cluster, kubectl: cluster.kubectl(), outside, toxiproxy, _turn: turn };
        installation.apply_all().await?;
        Ok(installation)
    }

    /// Runs `kubectl apply -k manifests`, connects the external system and waits for both Pods.
    async fn apply_all(&self) -> Result<()> {
        let began = Instant::now();
        let folder = manifests::folder();
        self.kubectl.run(&["apply", "-k", folder.to_str().context("no UTF-8")?]).await?;
        for document in self.way_outside() {
            self.apply(&document).await?;
        }
        let mut restarts = 0;
        for which in BOTH {
            restarts += self.wait_for_pod(which).await?.restarts;
        }
        let took = began.elapsed();
        let seconds = took.as_secs_f64();
        progress::say(format!("both Pods ready {seconds:.1} s after apply -k, {restarts} restarts so far"));
        // A foreign cluster may have to pull the images first.
        ensure!(!self.cluster.is_own() || took <= READY_WITHIN, "the Pods took {seconds:.1} s");
        Ok(())
    }

    /// Returns the Service of the shipped target. It has no selector: its endpoint is the external system's address.
    /// The address belongs to no Pod in the namespace of the shipped policy, so it needs its own NetworkPolicy.
    fn way_outside(&self) -> [Value; 4] {
        let metadata = |name: &str| json!({"name": name, "namespace": OBJECTS_NAMESPACE});
        let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata("toxiproxy"),
            "spec": {"ports": [{"name": "api", "port": PORT}]}});
        if let Some(address) = self.cluster.service_address() {
            service["spec"]["clusterIP"] = json!(address);
        }
        let mut endpoints = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": metadata("toxiproxy-outside"), "addressType": "IPv4",
            "endpoints": [{"addresses": [self.cluster.outside()]}], "ports": [{"name": "api", "port": PORT}]});
        endpoints["metadata"]["labels"] = json!({"kubernetes.io/service-name": "toxiproxy"});
        // Only Jobs run in the objects' namespace, so it enforces the strictest standard.
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": OBJECTS_NAMESPACE, "labels": labels}});
        [namespace, service, endpoints, self.policy_for_outside()]
    }

    fn policy_for_outside(&self) -> Value {
        let address = json!({"ipBlock": {"cidr": format!("{}/32", self.cluster.outside())}});
        let rule = json!({"to": [address], "ports": [{"port": PORT, "protocol": "TCP"}]});
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "to-outside", "namespace": NAMESPACE},
            "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [rule]}})
    }

    /// Returns the cluster of the installation.
    #[must_use]
    pub fn cluster(&self) -> &'static Cluster {
        self.cluster
    }

    /// Returns kubectl as the cluster's administrator.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Returns the proxy between both programs and toxiproxy. It records their requests and can delay them.
    #[must_use]
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Returns the external system behind the proxy, for changes outside of the programs.
    #[must_use]
    pub fn toxiproxy(&self) -> &Toxiproxy {
        &self.toxiproxy
    }

    /// Runs `kubectl apply` with one document.
    pub async fn apply(&self, document: &Value) -> Result<()> {
        self.kubectl.run_with_input(&["apply", "-f", "-"], &document.to_string()).await.map(drop)
    }

    /// Applies the shipped target with another interval.
    pub async fn set_interval(&self, interval: &str) -> Result<()> {
        self.apply_target(|spec| spec["interval"] = json!(interval)).await
    }

    /// Applies the shipped target with a changed `spec`.
    pub async fn apply_target(&self, edit: impl FnOnce(&mut Value)) -> Result<()> {
        let documents = manifests::shipped(&binaries::locate().await?.kubectl)?;
        let targets = documents.iter().find(|document| manifests::is(document, "ConfigMap", manifests::TARGETS));
        let mut targets = targets.cloned().context("no ConfigMap of targets")?;
        let text = targets["data"]["proxies.yaml"].as_str().context("no shipped target")?;
        let mut target: Value = serde_saphyr::from_str(text)?;
        ensure!(target["spec"]["interval"] == "30s", "the shipped interval changed: {text}");
        edit(&mut target["spec"]);
        targets["data"]["proxies.yaml"] = json!(target.to_string());
        self.apply(&targets).await
    }

    /// Returns the resource usage of a program's Pod from the node's kernel, or `None` on a foreign node.
    pub async fn usage(&self, which: Which) -> Result<Option<Usage>> {
        let pod = self.wait_for_pod(which).await?;
        if self.cluster.is_own() { cgroup::usage(&pod.uid).map(Some) } else { Ok(None) }
    }

    /// Kills a program without warning, as an exhausted node does. On a foreign node it deletes the Pod with
    /// `--grace-period=0 --force` instead.
    pub async fn kill(&self, which: Which) -> Result<()> {
        if !self.cluster.is_own() {
            return self.delete_pod(which, &["--grace-period=0", "--force"]).await;
        }
        let pod = self.wait_for_pod(which).await?;
        let killed = cgroup::kill(&pod.uid, which.name())?;
        ensure!(killed == 1, "{killed} processes of {} killed", which.name());
        Ok(())
    }

    /// Deletes all objects and waits until the programs release them.
    async fn clear(&self) -> Result<()> {
        self.outside.forget();
        // A single request, because kubectl's own loop over hundreds of objects hits its rate limit.
        let path = format!("/apis/{}/v1/namespaces/{OBJECTS_NAMESPACE}/proxies", manifests::GROUP);
        self.kubectl.run(&["delete", "--raw", &path]).await.context("clearing the objects away")?;
        wait::until("all objects to be gone", wait::DEADLINE, async || {
            let left = self.kubectl.run(&["get", "proxies", "-n", OBJECTS_NAMESPACE, "-o", "name"]).await?.output;
            Ok(if left.is_empty() { Seen::Met(()) } else { Seen::Instead(left) })
        })
        .await
    }

    /// Returns the report of a failed test.
    async fn account(&self) -> String {
        let mut account = String::from("on the node");
        for which in BOTH {
            let label = format!("app.kubernetes.io/name={}", which.name());
            for command in [
                vec!["get", "pods", "-n", NAMESPACE, "-l", &label, "-o", "wide"],
                vec!["logs", "-n", NAMESPACE, "-l", &label, "--tail=15"],
            ] {
                let said = match self.kubectl.run(&command).await {
                    Ok(printed) => printed.output,
                    Err(error) => error.to_string(),
                };
                account = format!("{account}\n--- kubectl {}\n{said}", command.join(" "));
            }
        }
        let events = self.kubectl.run(&["get", "events", "-n", NAMESPACE, "--sort-by=.lastTimestamp"]).await;
        let events = events.map_or_else(|error| error.to_string(), |printed| printed.output);
        let lines: Vec<&str> = events.lines().collect();
        format!("{account}\n--- events\n{}", lines[lines.len().saturating_sub(15)..].join("\n"))
    }
}
