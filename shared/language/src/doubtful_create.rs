//! The creates of a target whose result may be unknown: the effect of a repetition, and how the read shows it.

use std::time::Duration;

use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::step_timeout::STEP_TIMEOUT;
use crate::target::Target;

/// Minimum time for which absence must be found before it counts after a create in doubt. Gateways and replicas of
/// common systems show a new resource within seconds, and a request whose connection broke ends within that time.
const CREATE_SHOWS_WITHIN: Duration = Duration::from_secs(30);

impl Target {
    /// The effect of its create if that is sent again.
    #[must_use]
    pub fn repeated_create(&self) -> RepeatedCreate {
        self.correct.section().map(|section| section.repeated_create()).unwrap_or_default()
    }

    /// Returns true if the read finds a resource whose creating response was lost: no field that selects the read is
    /// stored or published by the target itself, or a look-up of `create` stores them all before its first write.
    #[must_use]
    pub fn read_finds_created(&self) -> bool {
        let selecting = self.read.selecting_fields();
        let looked_up = self.correct.section().map(|section| section.stored_by_look_up()).unwrap_or_default();
        let own = |name: &&str| !looked_up.contains(name);
        let stored: Vec<&str> = self.correct.stored().filter(own).chain(self.publish.names()).collect();
        let is_own = |path: &[String]| {
            path.first().is_some_and(|first| first == "status")
                && path.get(1).is_none_or(|field| stored.contains(&field.as_str()))
        };
        stored.is_empty() || !selecting.iter().any(is_own)
    }

    /// Time for which absence must last before it counts after a create that no poll has found.
    #[must_use]
    pub fn create_shows_within(&self) -> Duration {
        if self.repeated_create() != RepeatedCreate::Duplicates {
            return Duration::ZERO;
        }
        let timeout = self.correct.section().and_then(|section| section.longest_create_step());
        self.correct.settle.max(timeout.unwrap_or(STEP_TIMEOUT)).max(CREATE_SHOWS_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::target;

    fn of_http(read: &str, create: &str) -> Target {
        target(&format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: {{apiVersion: \
             g/v1, kind: K}}\n  identity: \"${{self.metadata.name}}\"\n  base: https://h\n  read: {{http: {{{read}}}}}\n  \
             compare: {{desired: {{a: 1}}}}\n  correct: {{mode: Correct, http: {{create: [{create}]}}}}\n"
        ))
    }

    #[test]
    fn only_a_post_without_key_makes_a_second_resource() {
        use RepeatedCreate::{Duplicates, Harmless, Keyed};
        let name = "/x/${self.metadata.name}";
        let (put, post) = (format!("{{method: PUT, url: \"{name}\"}}"), "{method: POST, url: /x".to_owned());
        for (create, expected) in [
            (put.clone(), Harmless),
            (format!("{post}}}"), Duplicates),
            (format!("{post}, idempotent: true}}"), Keyed),
            (format!("{put}, {post}, idempotent: true}}"), Keyed),
            (format!("{post}, idempotent: true}}, {post}}}"), Duplicates),
            (format!("{post}, reads: true, name: a}}, {put}"), Harmless),
        ] {
            assert_eq!(of_http(&format!("url: \"{name}\""), &create).repeated_create(), expected, "{create}");
        }
    }

    #[test]
    fn a_read_by_a_stored_id_finds_no_lost_resource() {
        let post = "{method: POST, url: /x, store: {externalId: \"${response.body.id}\"}}";
        let look_up = "{name: a, method: GET, url: /x, store: {externalId: \"${response.body.id}\"}}";
        let by_id = "url: \"/x/${self.status.externalId}\", absentUntil: \"${has(self.status.externalId)}\"";
        let waiting = "url: \"/x/${self.metadata.name}\", absentUntil: \"${has(self.status.externalId)}\"";
        for (read, create, expected) in [
            ("url: \"/x/${self.metadata.name}\"", post.to_owned(), true),
            ("url: \"/x/${self.status.zone}\"", post.to_owned(), true),
            (by_id, post.to_owned(), false),
            (waiting, post.to_owned(), false),
            (by_id, format!("{look_up}, {post}"), true),
        ] {
            assert_eq!(of_http(read, &create).read_finds_created(), expected, "{read} {create}");
        }
    }

    #[test]
    fn a_row_by_a_published_id_is_not_found_again() {
        let read = |object: &str| {
            let query = format!("query: SELECT id FROM t, key: {{row: \"${{row.id}}\"{object}}}");
            target(&format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: \
                 {{apiVersion: g/v1, kind: K}}\n  identity: \"${{self.metadata.name}}\"\n  read: {{postgres: \
                 {{connection: {{secretRef: {{name: s}}}}, {query}}}}}\n  compare: {{desired: {{a: 1}}}}\n  publish: \
                 {{id: \"${{observed.id}}\"}}\n"
            ))
        };
        assert!(read("").read_finds_created());
        assert!(!read(", object: \"${self.status.id}\"").read_finds_created());
    }

    #[test]
    fn absence_lasts_as_long_as_the_slowest_of_read_and_create() {
        let within =
            |create: &str| of_http("url: \"/x/${self.metadata.name}\"", create).create_shows_within().as_secs();
        assert_eq!(within("{method: POST, url: /x}"), 30);
        assert_eq!(within("{method: POST, url: /x, timeout: 5m}"), 300);
        assert_eq!(within("{method: POST, url: /x, idempotent: true}"), 0);
        assert_eq!(within("{method: PUT, url: \"/x/${self.metadata.name}\"}"), 0);
    }
}
