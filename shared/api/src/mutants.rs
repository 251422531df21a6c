//! One-line faults of the engines, with which the random histories prove that they detect faults.
//!
//! Builds without debug assertions, including every release, have none of them: [`is_planted`] is always false.

macro_rules! mutants {
    ($(#[doc = $fault:literal] $name:ident),+ $(,)?) => {
        /// A fault that a test plants into the engines of its own thread.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $(#[doc = $fault] $name),+
        }

        impl Mutant {
            /// All of the faults.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the fault in one line.
            #[must_use]
            pub const fn fault(self) -> &'static str {
                match self {
                    $(Self::$name => $fault),+
                }
            }
        }
    };
}

mutants! {
    /// A verdict from before the last correction is acted on.
    OtherCorrection,
    /// A resource is corrected that several objects claim.
    ContestedCorrected,
    /// An object that was refused acts without a poll.
    FreedUnpolled,
    /// An object that was refused acts though the one that had the resource claims it still.
    HolderUnread,
    /// The claim of an object that gives it up is kept.
    GivenUpKept,
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
    /// An existing resource is updated although the target does not adopt.
    AdoptedUnasked,
    /// An idempotency key is the same for every desired state.
    AnyKey,
    /// A verdict is written though the object changed since it was reached.
    BelievedOn,
    /// A request is sent though the object changed after the decision.
    ChangedMeanwhile,
    /// A resource is claimed before every object is known that may have it.
    ClaimedAmongSome,
    /// A resource is deleted before every object is known that may name it.
    DeletedAmongSome,
    /// Corrections that heal nothing go on after the allowed attempts.
    EndlessAttempts,
    /// An object is corrected that does not meet the requirements of its target.
    ForbiddenCorrected,
    /// A resource is made without the finalizer that its deletion needs.
    NoFinalizer,
    /// The resource of an orphaned object is deleted.
    OrphanDeleted,
    /// A verdict of another desired state is acted on.
    OtherDesired,
    /// A verdict of another generation is acted on.
    OtherGeneration,
    /// A verdict is written onto any generation of its object.
    PatchAnyGeneration,
    /// A paused object is corrected.
    PausedCorrected,
    /// Verdicts without news are written without a limit.
    QuietAtOnce,
    /// The finalizer of a deleted object is taken off before its resource is deleted.
    ReleasedEarly,
    /// A resource is corrected though the object owns another one.
    RenamedCorrected,
    /// Notes that another writer undoes are put back without a limit.
    RepairedAtOnce,
    /// A resource is deleted that another object names.
    SharedDeleted,
    /// An object is polled that another target owns.
    SkippedPolled,
    /// A note that another writer removed is not put back.
    StatusLost,
    /// An object is corrected while its target is suspended.
    SuspendedCorrected,
    /// A resource is corrected that another object has.
    TakenCorrected,
    /// A verdict is acted on that the poller does not attest.
    Unattested,
    /// A target is attested before its list is read.
    UnlistedAttested,
    /// A poll that began before a request answers it.
    EarlyAnswer,
    /// A request for a poll is never answered.
    Unanswered,
    /// A create is not recorded before it is sent.
    CreateUnrecorded,
    /// A poll calls a resource absent as soon as it finds nothing after a create in doubt.
    AbsentAtOnce,
    /// A deletion ends although the create may have made a resource.
    DeletedInDoubt,
    /// A second create begins before a poll has found what the first one made.
    ReadUntested,
    /// A target is corrected by another text than the poller reads by.
    OtherText,
    /// A target corrects although no live text governs it.
    NotGoverned,
    /// The loss of all resources of a target is believed.
    LossBelieved,
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

/// Plants a mutant into the engines of the calling thread, in place of the previous one. `None` removes it.
#[cfg(debug_assertions)]
pub fn plant(mutant: Option<Mutant>) {
    PLANTED.set(mutant);
}
