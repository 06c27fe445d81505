package notification

import (
	"hash/fnv"
	"time"
)

// The further steps of a poller in [BatchMode].
const (
	SendRow AdoptionStep = "send"
	HoldRow AdoptionStep = "hold" // and all later rows of its key
)

// RelayStep decides about a pending row in [BatchMode], as
// [SourceConfig.Step] does where each row has a workflow. An event that waits for its
// start, of either mode, is sent by the poller; one whose workflow runs is sent by that.
func (c SourceConfig) RelayStep(row SourceKey, known map[string]KnownEvent) (eventID string, step AdoptionStep) {
	eventID, step = c.Step(row, known)
	event := known[eventID]
	switch {
	case step == AdoptRow, step == AdoptClash:
		return eventID, SendRow
	case step != PassRow || !c.has(event, row):
		return eventID, step
	case event.Status == OutboxPending && event.Wait == 0:
		return eventID, SendRow
	case event.Status == OutboxPending, event.Status == OutboxProcessed && !event.Ended:
		return eventID, HoldRow
	default:
		return eventID, PassRow
	}
}

// Slot is the part, of [Slots], that a record's key falls into, or an event's id where the
// record has no key. It is the same in every process and release.
func Slot(record Record, eventID string) int {
	text := record.Key
	if len(text) == 0 {
		text = []byte(eventID)
	}
	hash := fnv.New32a()
	_, _ = hash.Write(text) // it returns no error
	return int(hash.Sum32() % Slots)
}

// PostponedEvent is an event that its topic has refused, and will be asked again.
type PostponedEvent struct {
	ID    string
	Delay time.Duration
	Why   string
}
