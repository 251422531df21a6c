//! Counts the writes to this world's objects from the API server's audit log.

use std::ops::Sub;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jiff::Timestamp;

use super::World;
use crate::cluster::control_plane::AuditRecord;
use crate::programs::Which;

/// Maximum delay of an audit record after the response.
const NOTED_WITHIN: Duration = Duration::from_millis(500);

/// Maximum number of reads until a count is stable.
const LOOKS: usize = 5;

/// Number of writes to this world's group since the start of the world, including the test's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Accepted writes to `/status`.
    pub status: u64,
    /// Accepted writes to the objects themselves: creates, patches, deletes, the finalizer.
    pub objects: u64,
    /// Rejected writes of either kind (a failed `test` of a JSON Patch is a 422).
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

impl Writes {
    fn of(records: &[AuditRecord]) -> Self {
        let mut writes = Self::default();
        for record in records {
            match (record.accepted(), record.subresource.as_str()) {
                (false, _) => writes.refused += 1,
                (true, "status") => writes.status += 1,
                (true, _) => writes.objects += 1,
            }
        }
        writes
    }
}

impl World {
    /// Returns the number of writes to this world's objects so far. Reads the audit log until two reads agree, because
    /// the API server logs a long response after sending it. With continuous writes, the last read counts.
    pub async fn writes(&self) -> Result<Writes> {
        Ok(Writes::of(&self.settled_audit(None).await?))
    }

    async fn settled_audit(&self, user: Option<&str>) -> Result<Vec<AuditRecord>> {
        let mut seen = self.audit(user)?;
        for _ in 0..LOOKS {
            tokio::time::sleep(NOTED_WITHIN).await;
            // A paused API server logs nothing meanwhile. It continues once it answers. A killed one logs nothing more.
            let _ = self.client.apiserver_version().await;
            let before = std::mem::replace(&mut seen, self.audit(user)?).len();
            if before == seen.len() {
                break;
            }
        }
        Ok(seen)
    }

    /// Fails if this world's objects are written within `span`: the steady state. The error lists the writes.
    pub async fn nothing_is_written_for(&self, span: Duration) -> Result<()> {
        let wait = async {
            tokio::time::sleep(span).await;
            Ok(())
        };
        self.nothing_is_written_while(wait).await
    }

    /// Fails if this world's objects are written before `wait` completes.
    pub async fn nothing_is_written_while(&self, wait: impl Future<Output = Result<()>>) -> Result<()> {
        let noted = self.settled_audit(None).await?.len();
        let (began, began_at) = (Instant::now(), Timestamp::now());
        wait.await?;
        let span = began.elapsed().as_secs();
        let records = self.settled_audit(None).await?;
        // A late record may belong to an earlier write.
        let fresh = records.get(noted..).unwrap_or_default().iter().filter(|record| record.received >= began_at);
        let fresh: Vec<AuditRecord> = fresh.cloned().collect();
        ensure!(fresh.is_empty(), "within {span} s there were {:?}: {fresh:#?}", Writes::of(&fresh));
        Ok(())
    }

    /// Returns every logged write by one program: to objects, Leases and Events. The most recent one may be missing.
    pub fn writes_by(&self, which: Which) -> Result<Vec<AuditRecord>> {
        self.audit(Some(&self.user(which)))
    }

    /// Returns every write by one of the programs, once two reads agree as in [`World::writes`]. Used for counts.
    pub async fn all_writes_by(&self, which: Which) -> Result<Vec<AuditRecord>> {
        self.settled_audit(Some(&self.user(which))).await
    }

    fn user(&self, which: Which) -> String {
        format!("system:serviceaccount:{}:{}", self.programs_namespace(), which.name())
    }

    /// Returns every answered write to this world's objects, or every write by one user.
    fn audit(&self, user: Option<&str>) -> Result<Vec<AuditRecord>> {
        let records = self.log.lock().unwrap_or_else(PoisonError::into_inner).read()?;
        let ours = |record: &AuditRecord| match user {
            Some(user) => record.user == user,
            None => record.group == self.group(),
        };
        Ok(records.into_iter().filter(ours).collect())
    }
}
