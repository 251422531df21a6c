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

// InForceAnnotation lists, on the poller's Lease, the targets whose verdicts are the poller's own at present.
const InForceAnnotation = "driftpoller.dev/in-force"

// FreshFor is for how long an unchanged Lease counts: the poller renews it every 3 s, and a new one takes over within 15 s.
const FreshFor = 40 * time.Second

// Vouching remembers when the poller's Lease changed last, by this machine's own clock: clocks of two machines differ, so the
// times that are written in a Lease are never compared with ours.
type Vouching struct {
	mutex   sync.Mutex
	version string
	changed time.Time
	targets map[string]string
}

// Observe takes in the Lease as a watch or a read shows it.
func (vouching *Vouching) Observe(lease *coordinationv1.Lease, now time.Time) {
	vouching.mutex.Lock()
	defer vouching.mutex.Unlock()
	if lease.ResourceVersion == vouching.version {
		return
	}
	// The first look says nothing of how old the record is.
	if vouching.version != "" {
		vouching.changed = now
	}
	vouching.version = lease.ResourceVersion
	vouching.targets = nil
	isReleased := lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == ""
	if isReleased || json.Unmarshal([]byte(lease.Annotations[InForceAnnotation]), &vouching.targets) != nil {
		vouching.targets = nil
	}
}

// For tells whether the verdict of this target on the object of this uid is kept up to date now.
func (vouching *Vouching) For(target string, uid types.UID, now time.Time) bool {
	vouching.mutex.Lock()
	defer vouching.mutex.Unlock()
	word, isListed := vouching.targets[target]
	// "HASH", or "HASH except UID UID".
	_, except, _ := strings.Cut(word, " except ")
	isExcepted := slices.Contains(strings.Fields(except), string(uid))
	return isListed && !isExcepted && !vouching.changed.IsZero() && now.Sub(vouching.changed) <= FreshFor
}
