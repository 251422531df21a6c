package drift

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// object is a Pod with conditions of our own: any object with a generation will do.
type object struct {
	corev1.Pod
	conditions []metav1.Condition
}

func (object *object) GetConditions() []metav1.Condition { return object.conditions }

func observed(status metav1.ConditionStatus, generation int64) *object {
	observed := &object{conditions: []metav1.Condition{{Type: ConditionType, Status: status, ObservedGeneration: generation}}}
	observed.Generation = 3
	return observed
}

func TestOnlyTrueOfThisGenerationIsDrift(t *testing.T) {
	for _, row := range []struct {
		object  *object
		drifted bool
	}{
		{observed(metav1.ConditionTrue, 3), true},
		{observed(metav1.ConditionTrue, 2), false},
		{observed(metav1.ConditionFalse, 3), false},
		{observed(metav1.ConditionUnknown, 3), false},
		{&object{}, false},
	} {
		if Drifted(row.object) != row.drifted {
			t.Errorf("%+v: want %v", row.object.conditions, row.drifted)
		}
	}
}

func TestTheTurnToDriftedWakes(t *testing.T) {
	in, out := observed(metav1.ConditionFalse, 3), observed(metav1.ConditionTrue, 3)
	for _, row := range []struct {
		before, after *object
		wakes         bool
	}{{in, out, true}, {out, in, false}, {out, out, false}, {in, in, false}} {
		if Turned().Update(event.UpdateEvent{ObjectOld: row.before, ObjectNew: row.after}) != row.wakes {
			t.Errorf("%v -> %v: want %v", row.before.conditions, row.after.conditions, row.wakes)
		}
	}
}

func TestAVerdictCountsWhileItsLeaseIsRenewed(t *testing.T) {
	lease := func(version, holder string) *coordinationv1.Lease {
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
		lease.ResourceVersion = version
		lease.Annotations = map[string]string{AttestedTargetsAnnotation: `{"buckets":"3f2a9c71d0e4b5a6 except u7 u9"}`}
		return lease
	}
	var attestations Attestations
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	expect := func(what, target string, seconds int, want bool) {
		t.Helper()
		if got := attestations.For(target, "team-a", "u1", at(seconds)); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	attestations.Observe(lease("1", "a"), at(0))
	expect("a record of unknown age", "buckets", 0, false)
	attestations.Observe(lease("2", "a"), at(3))
	expect("a renewed record", "buckets", 4, true)
	expect("another target", "proxies", 4, false)
	if attestations.For("buckets", "team-a", "u9", at(4)) {
		t.Error("an object that is excepted")
	}
	attestations.Observe(lease("2", "a"), at(30))
	expect("a record that did not change", "buckets", 44, false)
	attestations.Observe(lease("3", ""), at(45))
	expect("a released one", "buckets", 45, false)
}

func TestAWordHoldsForWhatItDoesNotExcept(t *testing.T) {
	for _, row := range []struct {
		word, namespace string
		uid             types.UID
		want            bool
	}{
		{"3f2a", "team-a", "u1", true},
		{"3f2a", "", "u1", true},
		{"3f2a except u1 u2", "team-a", "u2", false},
		{"3f2a except u1 u2", "team-a", "u3", true},
		{"3f2a except-namespaces team-a,team-b", "team-b", "u1", false},
		{"3f2a except-namespaces team-a,team-b", "team-c", "u1", true},
		{"3f2a except-namespaces team-a,team-b", "", "u1", true},
		{"3f2a except-namespaces team-a except u1", "team-c", "u1", false},
		{"3f2a except-namespaces team-a except u1", "team-c", "u2", true},
		{"3f2a except-namespaces except except u1", "except", "u2", false},
		{"3f2a except-namespaces except except u1", "team-a", "u1", false},
		{"3f2a except-namespaces except,except-namespaces", "except-namespaces", "u1", false},
		// What is not known wholly holds for nothing.
		{"", "team-c", "u3", false},
		{"3f2a ", "team-c", "u3", false},
		{"3f2a u1", "team-c", "u3", false},
		{"3f2a except", "team-c", "u3", false},
		{"3f2a except u1  u2", "team-c", "u3", false},
		{"3f2a except u1 except-kinds Bucket", "team-c", "u3", false},
		{"3f2a except-kinds Bucket", "team-c", "u3", false},
		{"3f2a except-namespaces", "team-c", "u3", false},
		{"3f2a except-namespaces team-a team-b", "team-c", "u3", false},
		{"3f2a except-namespaces team-a,", "team-c", "u3", false},
	} {
		if holds(row.word, row.namespace, row.uid) != row.want {
			t.Errorf("%q for %s in %q: want %v", row.word, row.uid, row.namespace, row.want)
		}
	}
}
