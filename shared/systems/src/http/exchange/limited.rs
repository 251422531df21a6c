//! `limitedWhen`: responses that mean throttling under another status, as those of AWS do.

use drift_language::Format;
use drift_language::cel::{Expression, Variables};
use http::StatusCode;
use serde_json::Value;

use crate::http::exchange::answer::Answer;
use crate::http::exchange::reply::HttpReply;

/// Counts the reply as a 429 if the target's rule recognizes it. So it pauses the host, and no other rule judges it.
///
/// A rule that cannot be evaluated counts as false: it reads an error, which most responses do not have.
#[must_use]
pub fn count_as_limited(mut reply: HttpReply, rule: Option<&Expression>, format: &Format) -> HttpReply {
    let is_limited = |rule: &Expression, answer: &Answer| {
        let variables = Variables { response: Some(&answer.variable), ..Variables::of_object(&Value::Null) };
        rule.evaluate_bool(&variables).unwrap_or(false)
    };
    if let Some(rule) = rule
        && let Ok(answer) = Answer::of(&reply, format)
        && is_limited(rule, &answer)
    {
        reply.status = StatusCode::TOO_MANY_REQUESTS;
    }
    reply
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::http::exchange::reply::ReplyBody;
    use drift_language::cel::{Scope, Site};
    use http::HeaderMap;

    #[test]
    fn only_a_response_that_fits_the_rule_counts_as_429() {
        let rule = "${response.status in [200, 400] && response.body.?Error.?Code.orValue('') == 'Throttling'}";
        let by_body = "${response.body.Error.Code == 'Throttling'}";
        let throttled = "<Error><Code>Throttling</Code></Error>";
        let table = [
            (rule, 400, throttled, 429),
            (rule, 200, throttled, 429),
            (rule, 403, throttled, 403),
            (rule, 400, "<Error><Code>Other</Code></Error>", 400),
            (by_body, 403, throttled, 429),
            (by_body, 200, "<R/>", 200),
            (by_body, 403, "Throttling", 403),
            (by_body, 200, "", 200),
        ];
        let format = Format::Xml { lists: Vec::new() };
        for (rule, status, body, expected) in table {
            let expression = Expression::parse(rule, &Site::new("here", Scope::Page)).unwrap();
            let body = ReplyBody::Whole(body.into());
            let status = StatusCode::from_u16(status).unwrap();
            let reply = HttpReply { status, headers: HeaderMap::new(), body };
            assert_eq!(count_as_limited(reply.clone(), None, &format).status, status);
            let counted = count_as_limited(reply.clone(), Some(&expression), &format);
            assert_eq!(counted.status.as_u16(), expected, "{rule} {reply:?}");
        }
    }
}
