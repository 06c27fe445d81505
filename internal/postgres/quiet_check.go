package postgres

import (
	"context"

	"herald/internal/notification"
)

// QuietCheck reads what judging a delivery's quiet hours takes, as it is now.
// Where there is no such delivery, the error is [notification.ErrNoDelivery].
func (s *Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	found, err := readWaited(ctx, s.Pool, "n.delivery_id = $1", deliveryID)
	if err == nil && len(found) == 0 {
		err = notification.ErrNoDelivery
	}
	return quietCheck(found), err
}

// DigestQuietCheck reads what judging the quiet hours of a digest takes, as it is
// now: the recipient's, and those of every entity whose notifications it may list.
func (s *Store) DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error) {
	const waiting = `n.user_type = $1
		AND    n.user_id = $2
		AND    n.channel = $3
		AND    n.event_type = $4
		AND    n.strategy = 'AGGREGATE'
		AND    n.status = 'PENDING'
		ORDER BY n.id
		LIMIT  $5`

	found, err := readWaited(ctx, s.Pool, waiting, key.UserType, key.UserID, key.Channel, key.EventType, notification.MaxDigestItems)
	return quietCheck(found), err
}

// quietCheck is what deliveries to one recipient have in common, and the quiet
// hours of each of their entities.
func quietCheck(deliveries []waited) notification.QuietCheck {
	var check notification.QuietCheck
	seen := map[notification.Entity]bool{}
	for _, d := range deliveries {
		facts := d.Setup.Facts(d.Recipient, d.Channel, d.now, nil)
		check.Action, check.Preference, check.Timezone = facts.Routing.QuietHoursAction, facts.Preference, d.Recipient.Timezone
		if facts.Setting.QuietHours != nil && !seen[facts.Setting.Entity] {
			seen[facts.Setting.Entity] = true
			check.Groups = append(check.Groups, facts.Setting)
		}
	}
	return check
}
