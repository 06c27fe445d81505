// Package activities does what workflows decide: each activity is one step that
// touches the world. It is the only package that turns a provider's answer into
// Temporal's decision to retry.
package activities

import (
	"time"

	"herald/internal/notification"
)

// Activities holds what the activities share. The worker builds it once, with
// every field set.
type Activities struct {
	Outbox     Outbox
	Launcher   EventLauncher
	Plans      PlanStore
	Deliveries DeliveryStore
	Digests    DigestStore
	Joiner     DigestJoiner
	Retries    RetryStore
	Events     EventStore
	Sweeps     SweepStore
	Sweeper    Sweeper
	Executions Executions
	Broker     Broker
	Senders    map[notification.Channel]Sender // a channel without one is off
	Policies   map[notification.Channel]DeliveryPolicy
	Poll       PollSettings

	rejected rejections
}

// DeliveryPolicy is how the deliveries of one channel are made. It comes from
// the worker's settings and travels in the histories, so that a running
// delivery keeps the policy that it was started with.
type DeliveryPolicy struct {
	TaskQueue   string
	MaxAttempts int           // failures of the provider; crashes of ours do not count
	FirstRetry  time.Duration // between the first attempt and the second
	Coefficient float64       // by which each further interval grows
	Timeout     time.Duration // of one call to the provider
}
