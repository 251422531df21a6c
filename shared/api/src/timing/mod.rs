//! Time as a value: points in time, delays, rates and queues.

pub mod backoff;
pub mod moment;
pub mod quiet_budget;
pub mod time_queue;
pub mod token_bucket;
pub mod work_queue;
