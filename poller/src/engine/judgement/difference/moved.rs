//! What differs though nobody can read it back: fields whose Secrets moved since they were sent.
//!
//! It must not know how the controller finds that out.

use drift_language::{Mode, Target};

use super::{Change, Difference, Segment};

/// Calls `found` with the difference of each of these secrets. A target that only looks has nobody who would send them.
pub fn find_moved<'t>(target: &'t Target, names: &[String], found: &mut dyn FnMut(&Difference<'t, '_>)) {
    let corrects = target.correct.mode == Mode::Correct;
    for field in target.compare.write_only.iter().filter(|field| corrects && names.contains(&field.secret)) {
        let path: Vec<_> = field.path.iter().map(|name| Segment::field(name)).collect();
        let place = field.path.iter().fold(target.compare.rules.root(), |place, name| place.field(name));
        found(&Difference { path: &path, place, change: Change::Moved, more: 0 });
    }
}
