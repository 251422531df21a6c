//! Counting what was written to this world's objects, by what the API server itself says.

use std::ops::Sub;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::World;
use crate::control_plane::AuditRecord;
use crate::programs::Which;

/// How late an answered request may be counted; seen to be some tens of milliseconds on a busy machine.
const COUNTED_WITHIN: Duration = Duration::from_millis(500);

/// How often it is looked whether a count stands still.
const LOOKS: usize = 5;

/// The API server's counter of answered requests.
const REQUESTS: &str = "apiserver_request_total";

/// Writes to this world's group since the world began, the test's own included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Accepted writes to `/status`.
    pub status: u64,
    /// Accepted writes to the objects themselves: creates, patches, deletes, the finalizer.
    pub objects: u64,
    /// Refused writes of either kind (a failed `test` of a JSON Patch is a 422).
    pub refused: u64,
}

impl Sub for Writes {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            status: self.status - before.status,
            objects: self.objects - before.objects,
            refused: self.refused - before.refused,
        }
    }
}

impl World {
    async fn look_at_writes(&self) -> Result<Writes> {
        let metrics = self.control_plane().metrics(&self.client, REQUESTS).await?;
        let mut writes = Writes::default();
        let labels = [("group", self.group())];
        for sample in metrics.matching(REQUESTS, &labels) {
            let label = |name: &str| sample.labels.get(name).map_or("", String::as_str);
            if matches!(label("verb"), "GET" | "LIST" | "WATCH" | "CONNECT") {
                continue;
            }
            // A counter of whole requests.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, far below 2^53")]
            let count = sample.value as u64;
            match (label("code").starts_with('2'), label("subresource")) {
                (false, _) => writes.refused += count,
                (true, "status") => writes.status += count,
                (true, _) => writes.objects += count,
            }
        }
        Ok(writes)
    }

    /// How many writes this world's objects have seen so far, from the API server's `apiserver_request_total`, once two
    /// looks agree: it counts a write after its answer is out, on a busy machine much later. Where somebody writes all
    /// the time, what the last of some looks says.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn writes(&self) -> Result<Writes> {
        let mut seen = self.look_at_writes().await?;
        for _ in 0..LOOKS {
            tokio::time::sleep(COUNTED_WITHIN).await;
            let before = std::mem::replace(&mut seen, self.look_at_writes().await?);
            if before == seen {
                break;
            }
        }
        Ok(seen)
    }

    /// Fails if anything at all is written to this world's objects within `span`: the steady state.
    ///
    /// # Errors
    /// When something is written, with what and by whom.
    pub async fn nothing_is_written_for(&self, span: Duration) -> Result<()> {
        let wait = async {
            tokio::time::sleep(span).await;
            Ok(())
        };
        self.nothing_is_written_while(wait).await
    }

    /// The same from now until `wait` is over.
    ///
    /// # Errors
    /// As [`World::nothing_is_written_for`], and when `wait` fails.
    pub async fn nothing_is_written_while(&self, wait: impl Future<Output = Result<()>>) -> Result<()> {
        // The log first: it may know of a write that the counter does not, and then one too many is named, never too few.
        let noted = self.audit(None)?.len();
        let before = self.writes().await?;
        let began = Instant::now();
        wait.await?;
        let span = began.elapsed().as_secs();
        let written = self.writes().await? - before;
        let records = self.audit(None)?;
        let fresh = records.get(noted..).unwrap_or_default();
        ensure!(written == Writes::default(), "within {span} s there were {written:?}: {fresh:#?}");
        Ok(())
    }

    /// Every answered write by one of the programs, whatever it was to: objects, Leases, Events.
    ///
    /// # Errors
    /// When the audit log cannot be read.
    pub fn writes_by(&self, which: Which) -> Result<Vec<AuditRecord>> {
        let user = format!("system:serviceaccount:{}:{}", self.programs_namespace(), which.name());
        self.audit(Some(&user))
    }

    /// Every answered write to this world's objects, by anybody; or every write by one user.
    fn audit(&self, user: Option<&str>) -> Result<Vec<AuditRecord>> {
        let records = self.control_plane().audit(user.unwrap_or(self.group()))?;
        let ours = |record: &AuditRecord| match user {
            Some(user) => record.user == user,
            None => record.group == self.group(),
        };
        Ok(records.into_iter().filter(ours).collect())
    }
}
