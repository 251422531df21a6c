//! Tests of templates, escaping and filters.
