//! Secrets that their owners labelled for the programs.

pub mod labelled_secrets;
pub mod secret_names;
