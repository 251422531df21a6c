//! Counting what was written to this world's objects, by what the API server itself says.

use std::ops::Sub;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jiff::Timestamp;

use super::World;
use crate::cluster::control_plane::AuditRecord;
use crate::programs::Which;

/// How late an answered request may be noted.
const NOTED_WITHIN: Duration = Duration::from_millis(500);

/// How often it is looked whether a count stands still.
const LOOKS: usize = 5;

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
    /// Returns the number of writes that this world's objects have seen so far, from the API server's audit log, once two looks agree: it
    /// notes a long answer after it is out. Where somebody writes all the time, what the last of some looks says.
    ///
    /// # Errors
    /// When the audit log cannot be read.
    pub async fn writes(&self) -> Result<Writes> {
        Ok(Writes::of(&self.settled_audit(None).await?))
    }

    async fn settled_audit(&self, user: Option<&str>) -> Result<Vec<AuditRecord>> {
        let mut seen = self.audit(user)?;
        for _ in 0..LOOKS {
            tokio::time::sleep(NOTED_WITHIN).await;
            // An API server that stood still all the time has noted nothing in it; once it answers, it goes on. One that was
            // killed notes nothing more.
            let _ = self.client.apiserver_version().await;
            let before = std::mem::replace(&mut seen, self.audit(user)?).len();
            if before == seen.len() {
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
        let noted = self.settled_audit(None).await?.len();
        let (began, began_at) = (Instant::now(), Timestamp::now());
        wait.await?;
        let span = began.elapsed().as_secs();
        let records = self.settled_audit(None).await?;
        // What was noted late may have been done before.
        let fresh = records.get(noted..).unwrap_or_default().iter().filter(|record| record.received >= began_at);
        let fresh: Vec<AuditRecord> = fresh.cloned().collect();
        ensure!(fresh.is_empty(), "within {span} s there were {:?}: {fresh:#?}", Writes::of(&fresh));
        Ok(())
    }

    /// Every write by one of the programs that is noted by now, whatever it was to: objects, Leases, Events. One that was
    /// just answered may be missing.
    ///
    /// # Errors
    /// When the audit log cannot be read.
    pub fn writes_by(&self, which: Which) -> Result<Vec<AuditRecord>> {
        self.audit(Some(&self.user(which)))
    }

    /// The same once two looks agree, as in [`World::writes`]: for counting.
    ///
    /// # Errors
    /// When the audit log cannot be read.
    pub async fn all_writes_by(&self, which: Which) -> Result<Vec<AuditRecord>> {
        self.settled_audit(Some(&self.user(which))).await
    }

    fn user(&self, which: Which) -> String {
        format!("system:serviceaccount:{}:{}", self.programs_namespace(), which.name())
    }

    /// Every answered write to this world's objects, by anybody; or every write by one user.
    fn audit(&self, user: Option<&str>) -> Result<Vec<AuditRecord>> {
        let records = self.log.lock().unwrap_or_else(PoisonError::into_inner).read()?;
        let ours = |record: &AuditRecord| match user {
            Some(user) => record.user == user,
            None => record.group == self.group(),
        };
        Ok(records.into_iter().filter(ours).collect())
    }
}
