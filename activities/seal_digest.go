package activities

import (
	"context"
	"time"

	"herald/internal/notification"
)

// SealInput is the input of [Activities.SealDigest].
type SealInput struct {
	DigestID   string
	Key        notification.DigestKey
	Window     time.Duration
	JudgeQuiet bool // look at the recipient's quiet hours first
}

// SealResult is the result of [Activities.SealDigest].
type SealResult struct {
	notification.SealedDigest
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sealed; it is quiet until then
	Wait      string    `json:",omitempty"` // the same for people
	Quiet     bool      `json:",omitempty"` // it is quiet, and the routing says DROP
}

// SealDigest decides what a digest lists, unless it is quiet and the routing
// says that it has to wait. A repeat returns the same items, and may add to them.
func (a *Activities) SealDigest(ctx context.Context, in SealInput) (SealResult, error) {
	var result SealResult
	if in.JudgeQuiet {
		check, err := a.Digests.DigestQuietCheck(ctx, in.Key)
		if err != nil {
			return SealResult{}, err
		}
		judged := judge(check, in.Key.String(), time.Now())
		if !judged.NotBefore.IsZero() {
			return SealResult{NotBefore: judged.NotBefore, Wait: judged.Wait}, nil
		}
		result.Quiet = judged.Quiet
	}
	sealed, err := a.Digests.SealDigest(ctx, in.DigestID, in.Key, in.Window)
	result.SealedDigest = sealed
	return result, err
}

// GiveUpDigestInput is the input of [Activities.GiveUpDigest].
type GiveUpDigestInput struct {
	DigestID string
	Channel  notification.Channel
	Status   notification.Status // FAILED or CANCELLED
	Reason   string              // never an address or a text
}

// GiveUpDigest records that what a digest lists will not be sent. The items'
// own workflows do the rest, dead letters included.
func (a *Activities) GiveUpDigest(ctx context.Context, in GiveUpDigestInput) error {
	if err := a.Digests.GiveUpDigest(ctx, in.DigestID, in.Status, in.Reason); err != nil {
		return err
	}
	countDigest(ctx, in.Channel, in.Status, 0)
	return nil
}
