package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API of the example's kind.
var GroupVersion = schema.GroupVersion{Group: "storage.example.org", Version: "v1"}

// Bucket is the desired state of one bucket in an object store.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BucketSpec   `json:"spec"`
	Status            BucketStatus `json:"status,omitempty"`
}

// BucketSpec describes the bucket.
type BucketSpec struct {
	// Quota is the most that the bucket may hold, in bytes.
	Quota int64 `json:"quota"`
}

// BucketStatus is what is known.
type BucketStatus struct {
	// Conditions holds the operator's own and drift-poller's.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BucketList is a list of them.
type BucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bucket `json:"items"`
}

// GetConditions makes a Bucket a drift.Object.
func (bucket *Bucket) GetConditions() []metav1.Condition { return bucket.Status.Conditions }

// DeepCopyObject is what controller-gen writes for larger kinds.
func (bucket *Bucket) DeepCopyObject() runtime.Object {
	copied := *bucket
	bucket.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]metav1.Condition(nil), bucket.Status.Conditions...)
	return &copied
}

// DeepCopyObject is what controller-gen writes for larger kinds.
func (list *BucketList) DeepCopyObject() runtime.Object {
	copied := *list
	copied.Items = make([]Bucket, 0, len(list.Items))
	for index := range list.Items {
		copied.Items = append(copied.Items, *list.Items[index].DeepCopyObject().(*Bucket))
	}
	return &copied
}

// AddToScheme makes the kind known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Bucket{}, &BucketList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
