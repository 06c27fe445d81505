package activities

import (
	"context"
	"errors"
	"time"

	"herald/internal/notification"
)

// DigestStore is the part of the database that digests need.
type DigestStore interface {
	DigestPlace(ctx context.Context, deliveryID string) (notification.DigestPlace, error)
	DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error)
	SealDigest(ctx context.Context, in notification.Sealing) (notification.SealedDigest, error)
	DigestItems(ctx context.Context, digestID string) ([]string, error)
	ReadDigest(ctx context.Context, digestID string, key notification.DigestKey) (notification.Digest, error)
	// GiveUpDigest returns the reasons for items that the rules dropped earlier, by delivery id.
	GiveUpDigest(ctx context.Context, digestID string, status notification.Status, reason string) (map[string]string, error)
}

// DigestJoiner signals a new item to a digest, and starts the digest if it does not run. It returns
// the digest's workflow ID. If a digest gets two signals for one item, it lists the item once, but
// may be full one item earlier.
type DigestJoiner interface {
	JoinDigest(ctx context.Context, join Join) (string, error)
}

// Join is one item on its way into its digest.
type Join struct {
	DeliveryID string
	Place      notification.DigestPlace
	Policy     DeliveryPolicy // of its channel
}

// FailedBefore is the type of failure of a delivery that is FAILED before it joins:
// it has no text, or its digest failed before its workflow began.
const FailedBefore = "FailedBefore"

// JoinInput is the input of [Activities.JoinDigest].
type JoinInput struct {
	DeliveryID string
	Channel    notification.Channel
}

// JoinResult is the result of [Activities.JoinDigest].
type JoinResult struct {
	Status   notification.Status // PENDING: it waits in the digest; any other: it has ended
	DigestID string              // workflow ID of the digest
	Window   time.Duration       // the approximate time until the digest is sent
}

// JoinDigest hands a delivery to the digest of its recipient, channel and event
// type. The digest reads its items from the database when its window ends. The signal for
// each item only starts the digest and counts. A crash after the signal repeats it.
func (a *Activities) JoinDigest(ctx context.Context, in JoinInput) (JoinResult, error) {
	place, err := a.Digests.DigestPlace(ctx, in.DeliveryID)
	switch {
	case err != nil:
		return JoinResult{}, failure(err)
	case place.Problem != "":
		return JoinResult{}, permanent(errors.New(place.Problem), FailedBefore)
	case place.Status != notification.Pending:
		return JoinResult{Status: place.Status}, nil
	}
	id, err := a.Joiner.JoinDigest(ctx, Join{DeliveryID: in.DeliveryID, Place: place, Policy: a.Policies[in.Channel]})
	if err != nil {
		return JoinResult{}, err
	}
	return JoinResult{Status: notification.Pending, DigestID: id, Window: max(place.Window, time.Until(place.Due))}, nil
}
