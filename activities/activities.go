// Package activities executes the decisions of workflows. Each activity is one step with
// an external system. Only this package decides from a provider's answer whether Temporal
// retries.
package activities

import (
	"time"

	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/planner"
)

// Activities holds the dependencies of the activities. The worker builds it once, with
// every field set.
type Activities struct {
	Sources     map[string]Source // by name; notification.HeraldSource is always there
	Launcher    EventLauncher
	Planner     planner.Planner
	Attempts    AttemptStore
	Lanes       LaneStore
	Deliveries  DeliveryStore
	Batches     BatchStore
	Failures    FailedStore
	Digests     DigestStore
	Joiner      DigestJoiner
	Cancels     CancelStore
	Canceller   Canceller
	Retries     RetryStore
	Followers   EscalationStore
	Events      EventStore
	Messages    EventPublisher
	Sweeps      SweepStore
	Expired     ExpiredStore
	Reputation  ReputationStore
	Sweeper     Sweeper
	SweepTime   time.Duration // of one sweep; 0: 8 minutes
	Executions  Executions
	Cleaners    map[string]Cleaner // by the name of a source
	DeadLetters DeadLetterQueue
	FollowUps   FollowUpStore
	Escalations EscalationWorkflows
	DigestText  DigestText
	Senders     map[notification.Channel]Sender // a channel without a sender is off
	Off         map[notification.Channel]error  // why a channel is off: which settings it lacks
	Policies    map[notification.Channel]DeliveryPolicy
	Pace        *limit.Pace     // nil: no channel has a rate limit
	Circuits    *limit.Circuits // nil: no sender is paused
	// An event with more recipients than BulkThreshold sends its deliveries in batches. In other
	// events each delivery has a workflow. 0: no event sends batches.
	BulkThreshold int

	warnings warnings
	underWay underWay
	singles  singles
}

// DigestText writes the text of a digest by the template of its event type and channel.
type DigestText func(templates []notification.Template, eventType string, channel notification.Channel,
	recipient notification.Recipient, items []notification.DigestItem) (notification.Text, error)

// DeliveryPolicy holds the settings for the deliveries of one channel. It comes from
// the worker's settings and is stored in the histories, so that a running
// delivery keeps the policy that it was started with.
type DeliveryPolicy struct {
	TaskQueue string
	Local     bool `json:",omitempty"` // no rate limit: a first attempt may be a local activity, see [Activities.SendFirst]
	AttemptPolicy
}

// AttemptPolicy limits and spaces the attempts at one message.
type AttemptPolicy struct {
	Timeout     time.Duration // of one call to the provider
	MaxAttempts int           // failures of the provider; crashes of a worker do not count
	// time from the first of them during which a provider that is busy or out of reach does not count
	Outage      time.Duration `json:",omitempty"`
	FirstRetry  time.Duration `json:",omitempty"` // between the first attempt and the second; 0: Temporal's retry policy decides
	Coefficient float64       `json:",omitempty"` // factor by which each further interval grows
}
