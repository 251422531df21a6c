package main

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"drift-poller.dev/examples/go-operator/drift"
)

type quotas map[string]int64

func (quotas quotas) SetQuota(_ context.Context, bucket string, bytes int64) error {
	quotas[bucket] = bytes
	return nil
}

func condition(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Test", ObservedGeneration: 1, LastTransitionTime: metav1.Unix(1, 0)}
}

// reconciled gives the bucket and what was sent outside after one reconciliation of a bucket with these conditions.
func reconciled(t *testing.T, conditions ...metav1.Condition) (*Bucket, quotas) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	bucket := &Bucket{Spec: BucketSpec{Quota: 5}, Status: BucketStatus{Conditions: conditions}}
	bucket.Name, bucket.Namespace, bucket.Generation = "logs", "team", 1
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(bucket).WithStatusSubresource(bucket).Build()
	sent := quotas{}
	reconciler := Reconciler{Client: api, Store: sent, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	name := types.NamespacedName{Namespace: "team", Name: "logs"}
	if _, err := reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	var after Bucket
	if err := api.Get(context.Background(), client.ObjectKey(name), &after); err != nil {
		t.Fatal(err)
	}
	return &after, sent
}

func TestWhatIsInSyncIsLeftAlone(t *testing.T) {
	after, sent := reconciled(t, condition(Ready, metav1.ConditionTrue), condition(drift.ConditionType, metav1.ConditionFalse))
	if len(sent) != 0 || after.Annotations != nil {
		t.Errorf("sent %v, annotations %v", sent, after.Annotations)
	}
}

func TestANewBucketIsBroughtOutside(t *testing.T) {
	after, sent := reconciled(t)
	if sent["logs"] != 5 || !meta.IsStatusConditionTrue(after.Status.Conditions, Ready) {
		t.Errorf("sent %v, conditions %v", sent, after.Status.Conditions)
	}
}

func TestDriftIsCorrectedAndPolledAgain(t *testing.T) {
	after, sent := reconciled(t, condition(Ready, metav1.ConditionTrue), condition(drift.ConditionType, metav1.ConditionTrue))
	if sent["logs"] != 5 || after.Annotations[drift.PollRequestedAnnotation] != "2027-01-15T08:00:00Z" {
		t.Errorf("sent %v, annotations %v", sent, after.Annotations)
	}
	if !meta.IsStatusConditionTrue(after.Status.Conditions, drift.ConditionType) {
		t.Errorf("the poller's condition is its own: %v", after.Status.Conditions)
	}
}
