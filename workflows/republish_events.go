package workflows

import (
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

var republishOptions = operatorOptions("publish the messages of events to RabbitMQ again")

// RepublishEvents publishes the messages of events to RabbitMQ again. An operator starts it after RabbitMQ
// has lost its queues.
func RepublishEvents(ctx workflow.Context, in activities.RepublishInput) (notification.Republished, error) {
	return execute[notification.Republished](ctx, republishOptions, acts.RepublishEvents, in)
}
