//! Steps that are sent once for each item of a list.

use super::*;

/// An update whose first item was accepted.
fn first_item_accepted() -> Execution {
    let mut execution = ready(update(), plan("ww"));
    assert_eq!(execution.next(item("0[a]")), send(0, true));
    assert_eq!(execution.next(ACCEPTED), Step::Render(0));
    execution
}

#[test]
fn items_follow_each_other_before_the_next_step() {
    let mut execution = first_item_accepted();
    assert_eq!(execution.next(item("0[b]")), send(0, false));
    assert_eq!(execution.next(ACCEPTED), Step::Render(0));
    assert_eq!(execution.next(SKIPPED), Step::Render(1), "no item is left");
    assert_eq!(execution.next(READY), send(1, false));
    assert_eq!(outcome(&execution.next(ACCEPTED)).reason, Some(CorrectedReason::CorrectionApplied));
}

#[test]
fn the_first_item_that_fails_ends_the_correction() {
    let in_doubt = answered(StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)));
    let table = [
        (answered(no(409)), 8, "update, step 0[b]: the external system refuses it with status 409"),
        (in_doubt, 7, "update, step 0[b]: no answer from the external system; it is tried again"),
        (Event::NotSent, 7, "update, step 0[b]: the controller had to stop before the answer came; it is tried again"),
    ];
    for (event, correction, text) in table {
        let mut execution = first_item_accepted();
        execution.next(item("0[b]"));
        let step = execution.next(event);
        assert_eq!((outcome(&step).correction, &*outcome(&step).text), (correction, text));
    }
    let mut fails = first_item_accepted();
    let text = "update, step 0: a template cannot be evaluated with the answers; the steps before it were done";
    assert_eq!(outcome(&fails.next(FAILS)).text, text, "the log names the item");
}

#[test]
fn too_many_items_are_a_definite_refusal() {
    let too_many = || Event::Rendered(Rendered::Fails(Doubt::TooManyItems));
    let mut execution = ready(update(), plan("lww"));
    execution.next(READY);
    assert_eq!(execution.next(ACCEPTED), Step::Render(1));
    let step = execution.next(too_many());
    let refused = outcome(&step);
    assert_eq!((refused.correction, &*refused.text), (8, "update, step 1: forEach gives more than 100 items"));
    let mut create = claimed();
    create.next(ACCEPTED);
    let text =
        "create, step 1: forEach gives more than 100 items; the steps before it were done, and the next poll tells";
    assert_eq!(outcome(&create.next(too_many())).text, text);
}

#[test]
fn one_unfinished_item_keeps_a_deletion_under_way() {
    let ended = |answers: [StepOutcome; 2]| {
        let delete = Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Delete))));
        let mut delete = ready(delete, deletion("w", 1));
        for answer in answers {
            delete.next(item("0[a]"));
            assert_eq!(delete.next(answered(answer)), Step::Render(0));
        }
        matches!(delete.next(SKIPPED), Step::End(ExecutionEnd::Corrected { outcome: Outcome::Applied, .. }))
    };
    let underway = || StepOutcome::Underway { retry_after: None };
    assert!(!ended([underway(), StepOutcome::Accepted]));
    assert!(!ended([StepOutcome::NotThere, underway()]));
    assert!(ended([StepOutcome::NotThere, StepOutcome::Accepted]));
}

fn has_ended(step: &Step) -> bool {
    matches!(step, Step::End(ExecutionEnd::Corrected { outcome: Outcome::Applied, .. }))
}

#[test]
fn a_deletion_by_a_page_of_items_looks_again() {
    let delete = Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Delete))));
    let listing = |kinds: &str, index: usize| {
        let mut plan = deletion(kinds, kinds.len());
        plan.steps[index].lists_answers = true;
        plan
    };
    let mut one_page = ready(delete.clone(), listing("w", 0));
    one_page.next(item("0[a]"));
    assert_eq!(one_page.next(ACCEPTED), Step::Render(0));
    assert!(!has_ended(&one_page.next(SKIPPED)));

    let mut nothing_left = ready(delete.clone(), listing("lw", 1));
    nothing_left.next(READY);
    nothing_left.next(ACCEPTED);
    assert!(has_ended(&nothing_left.next(SKIPPED)));

    let mut then_the_whole = ready(delete, listing("ww", 0));
    then_the_whole.next(item("0[a]"));
    then_the_whole.next(ACCEPTED);
    assert_eq!(then_the_whole.next(SKIPPED), Step::Render(1));
    then_the_whole.next(READY);
    assert!(has_ended(&then_the_whole.next(ACCEPTED)));
}

#[test]
fn an_unfinished_item_of_a_replacement_waits_for_the_others() {
    let mut execution = ready(update(), plan("ww"));
    execution.next(item("0[a]"));
    let underway = || answered(StepOutcome::Underway { retry_after: None });
    assert_eq!(execution.next(underway()), Step::Render(0));
    execution.next(item("0[b]"));
    assert_eq!(execution.next(ACCEPTED), Step::Render(0));
    let mut alone = ready(update(), plan("w"));
    alone.next(READY);
    assert_eq!(outcome(&execution.next(SKIPPED)).text, outcome(&alone.next(underway())).text);
}
