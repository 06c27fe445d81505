package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// SealInput is the input of [Activities.SealDigest].
type SealInput struct {
	DigestID   string
	Key        notification.DigestKey
	Window     time.Duration
	JudgeQuiet bool // check the recipient's quiet hours first
	Timed      bool `json:",omitempty"` // as in [notification.DigestWindow]
	ReadyOnly  bool `json:",omitempty"` // as in [notification.DigestWindow]
	Unsent     bool `json:",omitempty"` // the items are cancelled, so they need not fit into one message
}

// SealResult is the result of [Activities.SealDigest].
type SealResult struct {
	notification.SealedDigest
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sealed; quiet hours last until then
	Wait      string    `json:",omitempty"` // NotBefore as text
	Quiet     bool      `json:",omitempty"` // the digest is dropped because of the recipient's quiet hours
}

// SealDigest decides which items a digest lists. It seals nothing if the digest has to wait for the
// end of quiet hours. A repeat returns the same items, and may add items.
func (a *Activities) SealDigest(ctx context.Context, in SealInput) (SealResult, error) {
	var result SealResult
	if in.JudgeQuiet {
		check, err := a.Digests.DigestQuietCheck(ctx, in.Key)
		if err != nil {
			return SealResult{}, err
		}
		result = inQuietHours(in.DigestID, check, activity.GetInfo(ctx).ScheduledTime)
		if !result.NotBefore.IsZero() {
			return result, nil
		}
	}
	sealed, err := a.Digests.SealDigest(ctx, notification.Sealing{
		DigestID: in.DigestID, Key: in.Key, Window: notification.DigestWindow{Length: in.Window, Timed: in.Timed, ReadyOnly: in.ReadyOnly},
		Fits: func(digest notification.Digest, items []notification.DigestItem) bool {
			return in.Unsent || fits(in, digest, items, a.DigestText)
		},
	})
	result.SealedDigest = sealed
	return result, err
}

// inQuietHours returns until when a digest waits for the end of quiet hours (NotBefore), or that quiet
// hours drop the digest (Quiet). Quiet hours of a group alone do not drop it.
//
// Temporal's clock wakes a digest when quiet hours end, and the database's clock may be slower. So the
// later of both times counts: otherwise a digest would find the same quiet hours again.
func inQuietHours(digestID string, check notification.QuietCheck, scheduled time.Time) SealResult {
	now := latest(check.Now, scheduled)
	quietNow, waits := check.Silence(now)
	if waits {
		return SealResult{
			NotBefore: quietNow.Release(digestID).UTC(),
			Wait:      notification.WaitText(quietNow.Until, now, check.Timezone, notification.WaitQuietHours),
		}
	}
	withoutGroups := notification.Quiet(check.Preference, check.Timezone, now)
	return SealResult{Quiet: quietNow.Quiet && withoutGroups.Quiet}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fits reports whether the channel takes a digest with the items, by its text. If not even the first item
// has a text, the template is the cause, and a smaller digest would not help.
func fits(in SealInput, digest notification.Digest, items []notification.DigestItem, textOf DigestText) bool {
	recipient := digest.Recipient.WithAddress(in.Key.Channel, "any") // links have the same length with every address
	write := func(items []notification.DigestItem) (notification.Text, error) {
		return textOf(digest.Templates, in.Key.EventType, in.Key.Channel, recipient, items)
	}
	text, err := write(items)
	if err != nil {
		_, err := write(items[:1])
		return err != nil
	}
	return in.Key.Channel.Carries(in.DigestID, text)
}
