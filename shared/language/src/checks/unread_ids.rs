//! Finds ids that a step stores and that nothing reads.
//!
//! `store` keeps an id that only the external system knows. If neither the read nor a correction reads it, nothing finds
//! the resource by it.

use crate::target::Target;

impl Target {
    /// The names of stored status fields that neither the read nor a correction reads.
    #[must_use]
    pub fn unread_ids(&self) -> Vec<&str> {
        let fields = [self.read.source.section().fields(), self.correct.fields()];
        let is_read = |name: &str| {
            let is_it = |path: &[String]| match path {
                [status] => status == "status",
                [status, first, ..] => status == "status" && first == name,
                [] => false,
            };
            fields.iter().any(|fields| fields.iter().any(is_it))
        };
        self.correct.stored().filter(|name| !is_read(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{self, proxies::TEXT};

    #[test]
    fn an_id_counts_where_a_request_or_rule_reads_it() {
        let correct = |update: &str| {
            format!(
                "{}\n  correct: {{mode: Correct, http: {{create: [{{method: POST, url: 'http://h/x', store: {{key: \
                 '${{response.body.id}}'}}}}], update: [{{method: PUT, url: '{update}'}}]}}}}\n",
                TEXT.trim_end()
            )
        };
        let absent =
            |text: &str, rule: &str| text.replacen("{http: {", &format!("{{http: {{absentUntil: '{rule}', "), 1);
        let unread = correct("http://h/x");
        for (text, expected) in [
            (unread.clone(), &["key"][..]),
            (correct("http://h/x/${self.status.key}"), &[]),
            (correct("http://h/x/${self.status.?key.orValue(\"\")}"), &[]),
            (absent(&unread, "${has(self.status.key)}"), &[]),
            (absent(&unread, "${has(self.status.other)}"), &["key"]),
        ] {
            assert_eq!(fixtures::target(&text).unread_ids(), expected, "{text}");
        }
    }
}
