//! Time as a value: points in time, delays, rates and the queue of what is due.

pub mod backoff;
pub mod moment;
pub mod token_bucket;
pub mod work_queue;
