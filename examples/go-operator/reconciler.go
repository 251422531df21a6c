package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"drift-poller.dev/examples/go-operator/drift"
)

// Ready is this operator's own condition.
const Ready = "Ready"

// LookAgain is how long a correction has until the object is looked at once more: the poller answers a request for a poll
// within seconds, and while nothing was healed its condition does not change, so nothing would wake us. An operator whose corrections
// cost something lets it grow with each that did not help.
const LookAgain = 30 * time.Second

// Store is the external system.
type Store interface {
	SetQuota(ctx context.Context, bucket string, bytes int64) error
}

// Reconciler brings buckets outside to what their objects say.
type Reconciler struct {
	Client client.Client
	Store  Store
	Now    func() time.Time
}

// SetupWithManager wakes the reconciler for edits and for drift.
func (reconciler *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	wakes := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, drift.Turned())
	return ctrl.NewControllerManagedBy(manager).For(&Bucket{}, builder.WithPredicates(wakes)).Complete(reconciler)
}

// Reconcile writes what the spec says when it is new or the external system has drifted from it, and asks for a poll.
func (reconciler *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var bucket Bucket
	if err := reconciler.Client.Get(ctx, request.NamespacedName, &bucket); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ready := meta.FindStatusCondition(bucket.Status.Conditions, Ready)
	isApplied := ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == bucket.Generation
	if isApplied && !drift.Drifted(&bucket) {
		return ctrl.Result{}, nil
	}
	// An error is tried again with the work queue's growing pauses.
	if err := reconciler.Store.SetQuota(ctx, bucket.Name, bucket.Spec.Quota); err != nil {
		return ctrl.Result{}, err
	}
	if err := reconciler.sayApplied(ctx, &bucket); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: LookAgain}, reconciler.requestPoll(ctx, &bucket)
}

// sayApplied patches this operator's condition. The lock matters: a merge patch sends the whole list of conditions, and without it
// a verdict that came since the object was read would be taken back. An update of the status, or a list written anew, does the same
// harm.
func (reconciler *Reconciler) sayApplied(ctx context.Context, bucket *Bucket) error {
	before := bucket.DeepCopyObject().(*Bucket)
	condition := metav1.Condition{
		Type: Ready, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: bucket.Generation,
	}
	if !meta.SetStatusCondition(&bucket.Status.Conditions, condition) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return reconciler.Client.Status().Patch(ctx, bucket, patch)
}

// requestPoll makes the poller look now instead of at its next interval.
func (reconciler *Reconciler) requestPoll(ctx context.Context, bucket *Bucket) error {
	before := bucket.DeepCopyObject().(*Bucket)
	if bucket.Annotations == nil {
		bucket.Annotations = map[string]string{}
	}
	bucket.Annotations[drift.PollRequestedAnnotation] = reconciler.Now().UTC().Format(time.RFC3339)
	return reconciler.Client.Patch(ctx, bucket, client.MergeFrom(before))
}
