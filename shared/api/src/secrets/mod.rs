//! Secrets that their owners labelled for the programs, and secrets in foreign texts.

pub mod labelled_secrets;
pub mod secret_lines;
pub mod secret_names;
pub mod secret_texts;
pub mod session_names;
