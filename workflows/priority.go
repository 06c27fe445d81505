package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"

	"herald/internal/notification"
)

// Priority maps a delivery's priority to Temporal's keys: 1 comes first and 5 last. The fairness
// key keeps one entity's broadcast from delaying another entity's reservation. The zero aggregate
// has no fairness key.
func Priority(p notification.Priority, aggregate notification.Entity) temporal.Priority {
	priority := temporal.Priority{PriorityKey: 3}
	switch p {
	case notification.High:
		priority.PriorityKey = 1
	case notification.Low:
		priority.PriorityKey = 5
	}
	if aggregate != (notification.Entity{}) {
		priority.FairnessKey = fairnessKey(aggregate)
	}
	return priority
}

// maxFairnessKey is Temporal's limit, in bytes.
const maxFairnessKey = 64

// fairnessKey cuts an entity's name to the limit. Entities whose names differ only after the limit
// share a key.
func fairnessKey(aggregate notification.Entity) string {
	key := aggregate.String()
	if len(key) <= maxFairnessKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxFairnessKey], "")
}
