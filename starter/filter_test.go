package main

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// parsedFilter is what a command line's flags mean.
func parsedFilter(args ...string) (filter report.DeliveryFilter, err error) {
	cmd := &cobra.Command{Use: "x"}
	(&app{}).filterFlags(cmd, &filter)
	err = errors.Join(cmd.ParseFlags(args), console.FlagErrors(cmd.Flags()), checkTimes(filter))
	return filter, err
}

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		args []string
		want report.DeliveryFilter
	}{
		{name: "none"},
		{name: "comma, repeated and any case", args: []string{"--status", "failed,Sent", "--status=PENDING,sent"},
			want: report.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Sent, notification.Pending}}},
		{name: "channels", args: []string{"--channel", "sms, email"}, want: report.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Email}}},
		{name: "type, as of events", args: []string{"--type", "T"}, want: report.DeliveryFilter{EventType: "T"}},
		{name: "event", args: []string{"--event", "evt,1", "--event-type", "T"}, want: report.DeliveryFilter{EventID: "evt,1", EventType: "T"}},
		{name: "recipient", args: []string{"--recipient", "restaurant_user/a/B"}, want: report.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "a/B"}},
		{name: "group and correlation", args: []string{"--entity", "RESTAURANT/5", "--correlation-id", "c-1"},
			want: report.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, CorrelationID: "c-1"}},
		{name: "times", args: []string{"--since", "2025-11-21T08:00:00Z", "--until", "2025-11-21T09:00:00Z"}, want: report.DeliveryFilter{
			Since: time.Date(2025, 11, 21, 8, 0, 0, 0, time.UTC), Until: time.Date(2025, 11, 21, 9, 0, 0, 0, time.UTC)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			filter, err := parsedFilter(tt.args...)

			require.NoError(t, err)
			require.Equal(t, tt.want, filter)
		})
	}
}
