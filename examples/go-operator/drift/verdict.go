// Package drift reads what drift-poller says of an object, for an operator that corrects its own external system.
//
// It knows conditions and the poller's Lease, and nothing of any kind or external system. Copy it, or write the like: the
// contract is the condition, not this package.
package drift

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ConditionType is the type of the condition that drift-poller keeps.
const ConditionType = "driftObserved"

// PollRequestedAnnotation asks for a poll at once, whenever its value changes.
const PollRequestedAnnotation = "driftpoller.dev/poll-requested-at"

// Object is a Kubernetes object with conditions.
type Object interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Drifted tells whether the external system differs from the spec as it is now.
//
// A verdict on an older generation says nothing of this one: the poller polls again as soon as it sees the edit. Unknown is not
// drift: the poller could not read.
func Drifted(object Object) bool {
	condition := meta.FindStatusCondition(object.GetConditions(), ConditionType)
	return condition != nil &&
		condition.Status == metav1.ConditionTrue &&
		condition.ObservedGeneration == object.GetGeneration()
}

// Turned passes updates that bring another verdict. The usual GenerationChangedPredicate drops all of them, since a
// verdict changes the status and never the generation; use both, with predicate.Or.
func Turned() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return true },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(update event.UpdateEvent) bool {
			before, isObject := update.ObjectOld.(Object)
			after, isToo := update.ObjectNew.(Object)
			return isObject && isToo && !Drifted(before) && Drifted(after)
		},
	}
}
