//! Judgement of an observation: its differences from the desired state, the finding, and the verdict.

pub mod comparison;
pub mod confirmation;
pub mod credentials;
pub mod description;
pub mod difference;
pub mod drift;
pub mod finding;
pub mod observation;
pub mod rendered;
pub mod total_loss;
pub mod verdict;
pub mod without_effect;

pub use confirmation::{Belief, Confirmation, NewFinding};
pub use credentials::Credentials;
pub use drift::{Drift, Subject};
pub use finding::{Failure, Finding, Found};
pub use observation::{Observation, ReadRules};
pub use rendered::Rendered;
pub use verdict::Basis;
