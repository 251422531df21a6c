//! One-line faults of the engines, by which the random histories prove that they find faults.
//!
//! A build without debug assertions, as every release is, has none of them: [`is_planted`] is false there.

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// A fault that a test plants into the engines of its own thread.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $($(#[$doc])* $name),+
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

mutants! {
    /// A verdict from before the last correction is acted on.
    OtherCorrection,
    /// A void claim is kept.
    VoidClaimKept,
    /// A resource is made or adopted without a claim on the object.
    Unclaimed,
    /// Nothing is read live before a correction.
    NoLiveRead,
    /// A correction that a crash interrupted is taken for one that never began.
    InterruptionForgotten,
    /// The correction number is not raised by an outcome.
    SameNumber,
    /// The claim of a create or an adoption that was refused is kept.
    RefusedClaimKept,
    /// The delay between corrections is ignored.
    NoDelay,
    /// A resource is deleted though the object names another one by now.
    RenamedDeleted,
    /// Two executions work on one object.
    TwoAtOnce,
    /// An older state of an object replaces a newer one in the controller.
    OlderObject,
    /// A condition is written over another one than was read.
    PatchOverAnything,
    /// A failed poll is taken for absence.
    FailedIsAbsent,
    /// The result of a poll counts for an object that changed since it began.
    LatePoll,
    /// A verdict that stands is written again.
    WrittenAgain,
}

#[cfg(debug_assertions)]
std::thread_local! {
    static PLANTED: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Returns true if the calling thread has planted this mutant. Always false in a release build.
#[must_use]
#[inline]
pub fn is_planted(mutant: Mutant) -> bool {
    #[cfg(debug_assertions)]
    let is_planted = PLANTED.get() == Some(mutant);
    #[cfg(not(debug_assertions))]
    let is_planted = {
        let _ = mutant;
        false
    };
    is_planted
}

/// Plants a mutant into the engines of the calling thread, in place of the one before; `None` takes it out.
#[cfg(debug_assertions)]
pub fn plant(mutant: Option<Mutant>) {
    PLANTED.set(mutant);
}
