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
	Quiet     bool      `json:",omitempty"` // it is quiet for the recipient, and what comes then is dropped

	// JudgeItems says that some of the items' groups want quiet, and that what comes
	// then is dropped: the others are sent.
	JudgeItems bool `json:",omitempty"`
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
		now := time.Now()
		judged := judge(check, in.Key.String(), now)
		if !judged.NotBefore.IsZero() {
			return SealResult{NotBefore: judged.NotBefore, Wait: judged.Wait}, nil
		}
		own := notification.Quiet(check.Preference, check.Timezone, now)
		result.Quiet = judged.Quiet && own.Quiet
		result.JudgeItems = judged.Quiet && !own.Quiet
	}
	sealed, err := a.Digests.SealDigest(ctx, in.DigestID, in.Key, in.Window)
	result.SealedDigest = sealed
	return result, err
}

// judgement is what quiet hours mean for a message that is about to be sent.
type judgement struct {
	NotBefore time.Time // set: it has to wait until then
	Wait      string    // the same for people: the end of the quiet hours
	Quiet     bool      // it is not to be sent at all
}

// judge releases what has to wait at a moment that its key decides.
func judge(check notification.QuietCheck, key string, now time.Time) judgement {
	silence, deferred := check.Silence(now)
	if !deferred {
		return judgement{Quiet: silence.Quiet}
	}
	return judgement{
		NotBefore: silence.Release(key).UTC(),
		Wait:      notification.WaitText(silence.Until, now, check.Timezone, notification.WaitQuietHours),
	}
}

// GiveUpDigestInput is the input of [Activities.GiveUpDigest].
type GiveUpDigestInput struct {
	DigestID string
	Channel  notification.Channel
	Status   notification.Status // FAILED or CANCELLED
	Reason   string              // never an address or a text
}

// GiveUpDigestResult is the result of [Activities.GiveUpDigest].
type GiveUpDigestResult struct {
	Dropped map[string]string `json:",omitempty"` // as in [SendDigestResult]: these items ended otherwise
}

// GiveUpDigest records that what a digest lists will not be sent. The items'
// own workflows do the rest, dead letters included.
func (a *Activities) GiveUpDigest(ctx context.Context, in GiveUpDigestInput) (GiveUpDigestResult, error) {
	dropped, err := a.Digests.GiveUpDigest(ctx, in.DigestID, in.Status, in.Reason)
	if err != nil {
		return GiveUpDigestResult{}, err
	}
	countDigest(ctx, in.Channel, in.Status, 0)
	return GiveUpDigestResult{Dropped: dropped}, nil
}
