package drift

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AttestedTargetsAnnotation lists, on the poller's Lease, the targets whose verdicts are the poller's own at present.
const AttestedTargetsAnnotation = "driftpoller.dev/attested-targets"

// FreshFor is for how long an unchanged Lease counts: the poller renews it every 3 s, and a new one takes over within 15 s.
const FreshFor = 40 * time.Second

// Attestations remembers when the poller's Lease changed last, by this machine's own clock: clocks of two machines differ, so the
// times that are written in a Lease are never compared with ours.
type Attestations struct {
	mutex   sync.Mutex
	version string
	changed time.Time
	targets map[string]string
}

// Observe takes in the Lease as a watch or a read shows it.
func (attestations *Attestations) Observe(lease *coordinationv1.Lease, now time.Time) {
	attestations.mutex.Lock()
	defer attestations.mutex.Unlock()
	if lease.ResourceVersion == attestations.version {
		return
	}
	// The first look says nothing of how old the record is.
	if attestations.version != "" {
		attestations.changed = now
	}
	attestations.version = lease.ResourceVersion
	attestations.targets = nil
	isReleased := lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == ""
	if isReleased || json.Unmarshal([]byte(lease.Annotations[AttestedTargetsAnnotation]), &attestations.targets) != nil {
		attestations.targets = nil
	}
}

// For tells whether the verdict of this target on the object of this namespace (none for a cluster-scoped kind) and uid is kept
// up to date now.
func (attestations *Attestations) For(target, namespace string, uid types.UID, now time.Time) bool {
	attestations.mutex.Lock()
	defer attestations.mutex.Unlock()
	word, isListed := attestations.targets[target]
	isFresh := !attestations.changed.IsZero() && now.Sub(attestations.changed) <= FreshFor
	return isListed && isFresh && holds(word, namespace, uid)
}

// holds reads "HASH", "HASH except UID UID", or "HASH except-namespaces NAMESPACE,NAMESPACE" with or without "except UID UID"
// behind. A word of another shape may except anything, and holds for nothing.
func holds(word, namespace string, uid types.UID) bool {
	words := strings.Split(word, " ")
	hash, rest := words[0], words[1:]
	if len(rest) > 1 && rest[0] == "except-namespaces" {
		names := strings.Split(rest[1], ",")
		if slices.Contains(names, "") || slices.Contains(names, namespace) {
			return false
		}
		rest = rest[2:]
	}
	if len(rest) == 0 {
		return hash != ""
	}
	isUnknown := func(uid string) bool { return uid == "" || strings.HasPrefix(uid, "except") }
	if hash == "" || rest[0] != "except" || len(rest) == 1 || slices.ContainsFunc(rest[1:], isUnknown) {
		return false
	}
	return !slices.Contains(rest[1:], string(uid))
}
