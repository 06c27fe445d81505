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
		// the digest is due by Temporal's clock: a slower one must not find quiet hours that are over
		now := latest(check.Now, activity.GetInfo(ctx).ScheduledTime)
		silence, deferred := check.Silence(now)
		if deferred {
			return SealResult{
				NotBefore: silence.Release(in.DigestID).UTC(),
				Wait:      notification.WaitText(silence.Until, now, check.Timezone, notification.WaitQuietHours),
			}, nil
		}
		own := notification.Quiet(check.Preference, check.Timezone, now)
		result.Quiet = silence.Quiet && own.Quiet // quiet hours of a group alone do not drop a digest
	}
	sealed, err := a.Digests.SealDigest(ctx, notification.Sealing{
		DigestID: in.DigestID, Key: in.Key, Window: notification.DigestWindow{Length: in.Window, Timed: in.Timed, ReadyOnly: in.ReadyOnly},
		Fits: func(digest notification.Digest, items []notification.DigestItem) bool {
			return in.Unsent || a.fits(in, digest, items)
		},
	})
	result.SealedDigest = sealed
	return result, err
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fits reports whether the channel takes a digest with the items, by its text. If not even the first item
// has a text, the template is the cause, and a smaller digest would not help.
func (a *Activities) fits(in SealInput, digest notification.Digest, items []notification.DigestItem) bool {
	recipient := notification.Recipient{UserType: in.Key.UserType, UserID: in.Key.UserID, Name: digest.Name, Locale: digest.Locale}
	write := func(items []notification.DigestItem) (notification.Text, error) {
		return a.DigestText(digest.Templates, in.Key.EventType, in.Key.Channel, recipient, items)
	}
	text, err := write(items)
	if err != nil {
		_, err := write(items[:1])
		return err != nil
	}
	return in.Key.Channel.Carries(in.DigestID, text)
}
