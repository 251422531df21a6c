//! What differs though nobody can read it back: fields whose Secrets moved since they were sent.
//!
//! It must not know how the controller finds that out.

use drift_target::{Mode, Target};

use super::{Change, Difference, Segment};

/// The differences of these secrets. A target that only looks has nobody who would send them.
pub fn moved<'t>(target: &'t Target, names: &[String]) -> Vec<Difference<'t, 't>> {
    let corrects = target.correct.mode == Mode::Correct;
    let fields = target.compare.write_only.iter().filter(|field| corrects && names.contains(&field.secret));
    let difference = |field: &'t drift_target::WriteOnly| Difference {
        path: field.path.iter().map(|name| Segment::field(name)).collect(),
        place: field.path.iter().fold(target.compare.rules.root(), |place, name| place.field(name)),
        change: Change::Moved,
    };
    fields.map(difference).collect()
}
