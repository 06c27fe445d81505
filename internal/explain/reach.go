package explain

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// ReachState tells whether a channel reaches a person now, as far as their own settings tell.
type ReachState string

// The states of a channel. The first that holds counts.
const (
	Unsupported ReachState = "UNSUPPORTED"
	NoAddress   ReachState = "NO_ADDRESS"
	Suppressed  ReachState = "SUPPRESSED"
	SwitchedOff ReachState = "SWITCHED_OFF"
	QuietNow    ReachState = "QUIET_NOW"
	Reachable   ReachState = "REACHABLE"
)

// Reach is a channel of a person.
type Reach struct {
	Channel    notification.Channel
	State      ReachState
	Suppressed notification.Suppression // of a Suppressed one
	Until      time.Time                // the end of QuietNow; zero: none within 48 hours
	Categories []string                 // that they switched off over the channel
}

// Supported reads the channels that may serve a user type.
func (e Explainer) Supported(ctx context.Context, userType notification.UserType) ([]notification.Channel, error) {
	const query = `
		SELECT channel_type
		FROM   channel_user_type
		WHERE  user_type = $1
		ORDER BY channel_type`

	return db.Collect(ctx, e.DB.Pool, "read the channels of a user type", pgx.RowTo[notification.Channel], query, userType)
}

// ReachOf tells for each channel whether it reaches a person now. supported are the channels that may serve
// their user type. The settings of their entities and the rules of an event type may forbid more.
func ReachOf(r notification.Recipient, supported []notification.Channel, now time.Time) []Reach {
	var all []Reach
	for _, channel := range notification.Channels() {
		reach := Reach{Channel: channel, State: Reachable}
		for _, off := range r.CategoriesOff {
			if off.Channel == channel {
				reach.Categories = append(reach.Categories, off.Category)
			}
		}
		silence := notification.Silence{}
		if channel.Quieted() {
			silence = notification.Quiet(r.Preference(channel), r.Timezone, now)
		}
		i := slices.IndexFunc(r.Suppressions, func(s notification.Suppression) bool { return s.Channel == channel })
		switch {
		case !slices.Contains(supported, channel):
			reach.State = Unsupported
		case !r.Reachable(channel):
			reach.State = NoAddress
		case i >= 0:
			reach.State, reach.Suppressed = Suppressed, r.Suppressions[i]
		case !r.Preference(channel).Enabled:
			reach.State = SwitchedOff
		case silence.Quiet:
			reach.State, reach.Until = QuietNow, silence.Until
		}
		all = append(all, reach)
	}
	return all
}
