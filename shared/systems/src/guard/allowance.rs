//! What one answer of an external system may cost. A decoder takes from it before it keeps or computes something, so
//! that no answer fills the memory.

/// The limits of one kind of answer, and what exceeds them in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum bytes that are read.
    pub(crate) bytes: usize,
    /// The message about an answer with more bytes.
    pub(crate) too_large: &'static str,
    /// Maximum values that are kept. A value takes up to 100 bytes of memory, however short it is on the wire.
    pub(crate) values: usize,
    /// The message about an answer with more values.
    pub(crate) too_many: &'static str,
}

/// The rest of one answer's limits.
#[derive(Debug)]
pub(crate) struct Allowance(Limits);

impl Allowance {
    /// Returns the whole allowance.
    pub(crate) const fn of(limits: Limits) -> Self {
        Self(limits)
    }

    /// Takes bytes that are about to be read.
    ///
    /// # Errors
    /// Returns the message if fewer are left.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.0.bytes = self.0.bytes.checked_sub(bytes).ok_or(self.0.too_large)?;
        Ok(())
    }

    /// Returns the values that may still be kept.
    pub(crate) const fn values_left(&self) -> usize {
        self.0.values
    }

    /// Takes values that are about to be kept.
    ///
    /// # Errors
    /// Returns the message if fewer are left.
    pub(crate) fn take_values(&mut self, values: usize) -> Result<(), &'static str> {
        self.0.values = self.0.values.checked_sub(values).ok_or(self.0.too_many)?;
        Ok(())
    }
}
