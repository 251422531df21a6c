//! Tests of the page's HTML.
