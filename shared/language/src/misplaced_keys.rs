//! Explains keys of one section that are written in another, where they have no meaning, and suggests a fix.

/// The message about `idempotent` in a step that sends no key.
const NO_KEY: &str = "only a step of correct.http sends an Idempotency-Key; leave it out";

/// Returns the reason why this key has no meaning at this place, and the fix. `None` for an unknown key.
pub(crate) fn why_misplaced(place: &str, key: &str) -> Option<&'static str> {
    let is_within =
        |section: &str| place.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_step_of =
        |action: &str| place.strip_prefix(action).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'));
    match key {
        "timeout" if is_within("correct.job") => Some("a Job has a deadline of its own; write activeDeadlineSeconds"),
        "timeout" if ["correct.http", "correct.postgres", "correct.mysql"].contains(&place) => {
            Some("each step has its own; write it in a step")
        }
        "timeout" if place == "correct.kubernetes" || place == "correct.nudge" => {
            Some("a request to the API server has a fixed deadline; leave it out")
        }
        "timeout" if is_within("read.http") || ["read.postgres", "read.mysql"].contains(&place) => {
            Some("one deadline holds for the whole poll; write spec.timeout")
        }
        "idempotent"
            if ["correct.postgres", "correct.mysql", "correct.job", "correct.kubernetes", "correct.nudge"]
                .iter()
                .any(|section| place.starts_with(section)) =>
        {
            Some(NO_KEY)
        }
        "transaction" if place == "correct.mysql" => {
            Some("MySQL commits each statement that defines an account or a table; leave it out")
        }
        "idempotent"
            if ["update", "delete", "replace"].iter().any(|action| is_step_of(&format!("correct.http.{action}"))) =>
        {
            Some("only a step of create says that; leave it out")
        }
        "key" if [".bearer", ".header"].iter().any(|section| place.ends_with(section)) => {
            Some("it belongs to secretRef: {name: …, key: …}")
        }
        "role" | "roleArn" if place.ends_with(".awsSigV4") => {
            Some("it belongs to webIdentity: {roleArn: …, serviceAccountToken: {name: …}}")
        }
        _ => None,
    }
}
