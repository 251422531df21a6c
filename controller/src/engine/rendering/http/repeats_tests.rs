use super::tests::{reply, target_of};
use super::*;
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::fixtures::{bare_object, correction};

/// The look-up's answer wraps the resource, which no template shows when the target loads.
const UPDATE: &str = r#"
      - {name: look, method: GET, url: "https://h/look"}
      - {name: put, method: PUT, url: "https://h/put", body: "${mergeDeep(steps.look.body.data, desired)}"}
"#;

fn put(answer: &str) -> Result<Option<HttpRequest>, Unrenderable> {
    let target = target_of("{host: x}", UPDATE);
    let mut rendering = Rendering::new(&target, &bare_object(), &correction(Action::Update), ObjectSecrets::default())?;
    assert!(rendering.request(0)?.is_some());
    assert_eq!(rendering.take_answer(0, &reply(200, answer), None), StepOutcome::Accepted);
    rendering.request(1)
}

#[test]
fn no_mask_of_an_answer_is_sent_back() {
    let refused = put(r#"{"data": {"host": "y", "pool": 5, "apiKey": "***"}}"#).err();
    let refused = refused.map(|error| (error.doubt, error.label.as_deref().map(str::to_owned), error.cause));
    let cause = "the body repeats a mask that an answer shows in place of a secret: set the field or leave it out";
    assert_eq!(refused, Some((Doubt::RepeatsAnswer, Some("put".to_owned()), cause.to_owned())));
    for good in [r#"{"data": {"host": "y", "apiKey": "sk-1"}}"#, r#"{"data": {"host": "***"}}"#] {
        assert!(put(good).is_ok_and(|request| request.is_some()), "{good}");
    }
}
