package notification_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Digests are sent at the right time in zones with unusual offsets and changes of clocks. The
// oracle walks through every minute, and looks at the clock.
func TestNextDigest(t *testing.T) {
	t.Parallel()

	zones := []string{
		"UTC", "Europe/Rome", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Kiritimati", "Etc/GMT+12",
		"Etc/GMT-14", "Pacific/Apia", "America/Nuuk", "Africa/Casablanca", "America/Havana", "nowhere",
	}
	days := []string{"", "", "mon", "sun", "mon,fri", "sat,sun,tue"}
	changes := []time.Time{ // of the clocks; most tests are close to one
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC),
		time.Date(2026, 2, 15, 2, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
	}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		zone, on := zones[random.IntN(len(zones))], days[random.IntN(len(days))]
		at := time.Duration(random.IntN(24*60)) * time.Minute
		if random.IntN(2) == 0 {
			at = time.Duration(random.IntN(4*60)) * time.Minute // when clocks change
		}
		after := changes[random.IntN(len(changes))].Add(time.Duration(random.IntN(72*60)-36*60) * time.Minute)

		got := notification.NextDigest(at, on, zone, after)

		require.Equal(t, nextByWalking(at, on, zone, after), got, "seed %d: %s on %q in %s after %s", seed, at, on, zone, after)
	}
}

// nextByWalking looks at the clock at each minute. A date's digest is sent in the first minute whose
// clock shows the digest's time on that date, or a later time.
func nextByWalking(at time.Duration, days, timezone string, after time.Time) time.Time {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		zone = time.UTC
	}
	shown := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04") }
	sent := map[string]bool{}
	begin := after.Add(-72 * time.Hour).Truncate(time.Minute)
	for minute := begin; ; minute = minute.Add(time.Minute) {
		for day := -1; day <= 0; day++ {
			date := minute.In(zone).AddDate(0, 0, day)
			wanted := fmt.Sprintf("%s %02d:%02d", date.Format(time.DateOnly), int(at.Hours()), int(at.Minutes())%60)
			if sent[wanted] || shown(minute) < wanted {
				continue
			}
			sent[wanted] = true
			ofDay := days == "" || strings.Contains(days, strings.ToLower(date.Weekday().String()[:3]))
			if ofDay && minute.After(after) && minute.After(begin.Add(24*time.Hour)) {
				return minute
			}
		}
	}
}

// A recipient's own time replaces the routing's. The first of a digest is sent at once, and the
// digest is due a window after it.
func TestPlanDigest(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) // a Monday
	nine, seven := 9*time.Hour, 7*time.Hour
	first := func(ago time.Duration) []notification.Throttle {
		return []notification.Throttle{{ThrottleKey: notification.ThrottleKey{Channel: notification.Email, Key: notification.FirstOfDigest},
			DeliveryID: "evt-0-customer1-EMAIL", At: now.Add(-ago)}}
	}
	tests := []struct {
		name      string
		route     notification.Routing
		recipient notification.Recipient
		strategy  notification.Strategy
		due       time.Time // zero: none
	}{
		{name: "a window", strategy: notification.Aggregate},
		{name: "a time", route: notification.Routing{DigestAt: &nine}, strategy: notification.Aggregate, due: now.Add(21 * time.Hour)},
		{name: "their zone", route: notification.Routing{DigestAt: &nine}, recipient: notification.Recipient{Timezone: "America/New_York"},
			strategy: notification.Aggregate, due: now.Add(2 * time.Hour)},
		{name: "their own time", route: notification.Routing{DigestAt: &nine}, recipient: notification.Recipient{DigestAt: &seven},
			strategy: notification.Aggregate, due: now.Add(19 * time.Hour)},
		{name: "their own time, but a route with a window", recipient: notification.Recipient{DigestAt: &seven},
			strategy: notification.Aggregate},
		{name: "a day", route: notification.Routing{DigestAt: &nine, DigestDays: "wed,fri"}, strategy: notification.Aggregate,
			due: now.Add(45 * time.Hour)},
		{name: "the first", route: notification.Routing{DigestFirst: true}, strategy: notification.Immediate},
		{name: "after the first", route: notification.Routing{DigestFirst: true},
			recipient: notification.Recipient{Throttles: first(20 * time.Minute)}, strategy: notification.Aggregate, due: now.Add(40 * time.Minute)},
		{name: "the first after a window", route: notification.Routing{DigestFirst: true},
			recipient: notification.Recipient{Throttles: first(time.Hour)}, strategy: notification.Immediate},
		{name: "after the first, at a time", route: notification.Routing{DigestFirst: true, DigestAt: &nine},
			recipient: notification.Recipient{Throttles: first(2 * time.Hour)}, strategy: notification.Aggregate, due: now.Add(21 * time.Hour)},
		{name: "the first after that time", route: notification.Routing{DigestFirst: true, DigestAt: &nine},
			recipient: notification.Recipient{Throttles: first(4 * time.Hour)}, strategy: notification.Immediate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.route.Channel, tt.route.Strategy, tt.route.DigestWindow = notification.Email, notification.Aggregate, time.Hour
			tt.recipient.UserType, tt.recipient.UserID, tt.recipient.Who, tt.recipient.Email = notification.Customer, "1", "customer",
				"ada@example.com"
			setup := notification.EventSetup{
				Event: notification.Event{ID: "evt-1"}, Routing: []notification.Routing{tt.route},
				Supported: map[notification.Channel][]notification.UserType{notification.Email: {notification.Customer}},
			}

			choice := setup.Decide(tt.recipient, now, notification.Used{})[0]

			require.Equal(t, notification.DecisionSelected, choice.Decision)
			require.Equal(t, tt.strategy, choice.Strategy)
			require.True(t, tt.due.Equal(choice.SendAfter("evt-1-customer1-EMAIL")), "%v", choice.Wait)
		})
	}
}
