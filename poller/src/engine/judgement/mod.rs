//! The judgement of an observation: how it differs from the desired state, what that finding is called, and the verdict.

pub mod comparison;
pub mod confirmation;
pub mod credentials;
pub mod description;
pub mod difference;
pub mod drift;
pub mod finding;
pub mod flapping;
pub mod observation;
pub mod rendered;
pub mod verdict;
