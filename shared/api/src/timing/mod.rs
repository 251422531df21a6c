//! Time as a value: points in time, delays, rates and the work queue.

pub mod backoff;
pub mod moment;
pub mod quiet_budget;
pub mod token_bucket;
pub mod work_queue;
