//! Limits on one answer of an external system. A decoder takes from one before it keeps or computes something, so that no
//! answer fills the memory.

/// The rest of one limit: bytes that are read, or values that are kept. A value takes up to 100 bytes of memory, however
/// short it is on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    left: usize,
    exceeded: &'static str,
}

impl Allowance {
    /// Creates a limit, with the message about an answer above it.
    pub(crate) const fn of(limit: usize, exceeded: &'static str) -> Self {
        Self { left: limit, exceeded }
    }

    /// Returns the rest.
    pub(crate) const fn left(&self) -> usize {
        self.left
    }

    /// Takes a part of the rest.
    ///
    /// # Errors
    /// Returns the message if less is left.
    pub(crate) fn take(&mut self, part: usize) -> Result<(), &'static str> {
        self.left = self.left.checked_sub(part).ok_or(self.exceeded)?;
        Ok(())
    }
}
