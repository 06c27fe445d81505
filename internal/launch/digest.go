package launch

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// JoinDigest tells the digest of a delivery's kind that the delivery is there, and
// starts the digest if it does not run. It returns the digest's workflow ID.
func (l *Launcher) JoinDigest(ctx context.Context, join activities.Join) (string, error) {
	key := join.Place.Key
	id := workflows.DigestID(l.Prefix, join.Place)
	recipient := string(key.UserType) + "/" + key.UserID
	options := client.StartWorkflowOptions{
		TaskQueue: join.Policy.TaskQueue,
		Priority:  workflows.Priority(join.Place.Priority, notification.Entity{}),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.EventTypeAttribute.ValueSet(key.EventType),
			workflows.RecipientAttribute.ValueSet(recipient),
			workflows.ChannelAttribute.ValueSet(string(key.Channel)),
		),
		StaticSummary: fmt.Sprintf("%s digest to %s: %s", key.Channel, recipient, key.EventType),
	}
	in := workflows.DigestInput{Key: key, Window: join.Place.Window, Policy: join.Policy}
	if _, err := l.Client.SignalWithStartWorkflow(ctx, id, workflows.DigestJoined, join.DeliveryID, options, workflows.Digest, in); err != nil {
		return "", fmt.Errorf("join digest: %w", err)
	}
	return id, nil
}
