package main

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
)

var filterNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// parsedFilter is what a command line's flags mean.
func parsedFilter(t *testing.T, args ...string) (deliveryFilter, postgres.DeliveryFilter, error) {
	t.Helper()
	var f deliveryFilter
	cmd := &cobra.Command{Use: "x"}
	f.register(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	filter, err := f.parse(filterNow)
	return f, filter, err
}

func TestDeliveryFilterFlags(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want postgres.DeliveryFilter
	}{
		{"none", nil, postgres.DeliveryFilter{}},
		{"comma, repeated and any case", []string{"--status", "failed,Sent", "--status=PENDING,sent"},
			postgres.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Sent, notification.Pending}}},
		{"channels", []string{"--channel", "sms, email"}, postgres.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Email}}},
		{"event", []string{"--event", "evt,1", "--event-type", "T"}, postgres.DeliveryFilter{EventID: "evt,1", EventType: "T"}},
		{"recipient", []string{"--recipient", "restaurant_user/a/B"}, postgres.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "a/B"}},
		{"group and correlation", []string{"--entity", "RESTAURANT/5", "--correlation-id", "c-1"},
			postgres.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, CorrelationID: "c-1"}},
		{"ages", []string{"--since", "7d", "--until", "1d12h"}, postgres.DeliveryFilter{Since: filterNow.Add(-7 * day), Until: filterNow.Add(-36 * time.Hour)}},
		{"times", []string{"--since", "2026-11-21T09:00:00+01:00"}, postgres.DeliveryFilter{Since: filterNow.Add(-4 * time.Hour)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			f, filter, err := parsedFilter(t, tt.args...)

			require.NoError(t, err)
			require.Equal(t, len(tt.args) == 0, f.empty())
			require.True(t, tt.want.Since.Equal(filter.Since), filter.Since)
			require.True(t, tt.want.Until.Equal(filter.Until), filter.Until)
			tt.want.Since, tt.want.Until, filter.Since, filter.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
			require.Equal(t, tt.want, filter)
		})
	}
}

func TestDeliveryFilterMisused(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"status", []string{"--status", "failed,lost"}, `--status: "lost" is none of PENDING, SENT, DELIVERED, FAILED, CANCELLED`},
		{"channel", []string{"--channel", "fax"}, `--channel: "fax" is none of WEBSOCKET, EMAIL, PUSH, SMS, SLACK`},
		{"recipient without an id", []string{"--recipient", "CUSTOMER/"}, `--recipient: "CUSTOMER/" is not a user type and an id`},
		{"recipient of no type", []string{"--recipient", "42"}, "the types are RESTAURANT_USER, CUSTOMER, AGENCY_USER, ADMIN, GUEST"},
		{"group without an id", []string{"--entity", "RESTAURANT"}, `--entity: "RESTAURANT" is not a type and an id, such as RESTAURANT/5`},
		{"since", []string{"--since", "yesterday"}, "--since: must be an age such as 90m, 24h or 7d"},
		{"until", []string{"--until", "21.11.2026"}, "--until: must be an age"},
		{"the future", []string{"--since", "2026-11-21T12:00:01Z"}, "--since: 2026-11-21T12:00:01Z is in the future"},
		{"no time between", []string{"--since", "1h", "--until", "1h"}, "--since must be before --until"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, _, err := parsedFilter(t, tt.args...)

			require.ErrorContains(t, err, tt.want)
			var misuse *usageError
			require.ErrorAs(t, err, &misuse)
		})
	}
}

func TestParseAge(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]time.Duration{"90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "1d1h30m": 25*time.Hour + 30*time.Minute, "0.5h": 30 * time.Minute} {
		age, err := parseAge(value)
		require.NoError(t, err, value)
		require.Equal(t, want, age, value)
	}
	for _, value := range []string{"", "0s", "0d", "-1h", "1d-1h", "d", "7", "99999999d", "40000d", "2562047h", "1d2d", "7D"} {
		_, err := parseAge(value)
		require.ErrorIs(t, err, errNoWhen, value)
	}
}
