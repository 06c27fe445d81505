package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The worked examples of the architecture document.
func TestWorkedExamples(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name      string
		recipient notification.Recipient
		settings  []notification.Setting
		localTime string
		want      map[notification.Channel]notification.Decision
	}{
		{
			name:      "staff1 at 15:00",
			recipient: staff1(),
			settings:  limitedTo(3, settings(restaurant5, notification.SMS)),
			localTime: "15:00",
			want:      decisions("SELECTED", "SELECTED", "SELECTED", "USER_DISABLED"),
		},
		{
			name:      "staff1 at 23:00",
			recipient: staff1(),
			settings:  limitedTo(3, settings(restaurant5, notification.SMS)),
			localTime: "23:00",
			want:      decisions("SELECTED", "QUIET_HOURS", "QUIET_HOURS", "USER_DISABLED"),
		},
		{
			name:      "restaurant: SMS for managers only, and this one wants none",
			recipient: staff1(),
			settings:  onlyFor("MANAGER", notification.SMS, settings(restaurant5)),
			localTime: "15:00",
			want:      decisions("SELECTED", "SELECTED", "SELECTED", "USER_DISABLED"),
		},
		{
			name:      "agency: agent1, no push on either side",
			recipient: agent1(),
			settings:  settings(agency10, notification.Push),
			localTime: "23:00",
			want:      decisions("SELECTED", "SELECTED", "USER_DISABLED", "SELECTED"),
		},
		{
			name:      "customer42: no group, everything on",
			recipient: customer42(),
			settings:  settings(notification.Entity{Type: "CUSTOMER", ID: "0"}),
			localTime: "15:00",
			want:      decisions("SELECTED", "SELECTED", "SELECTED", "SELECTED"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			rules := notification.EventSetup{Routing: reservationRouting(), Supported: supported(), Settings: tt.settings}
			now := at(t, "2026-11-21T"+tt.localTime+":00+01:00", "Europe/Rome")

			got := map[notification.Channel]notification.Decision{}
			for _, choice := range rules.Decide(tt.recipient, now.UTC(), notification.Used{}) {
				got[choice.Channel] = choice.Decision
			}
			require.Equal(t, tt.want, got)
		})
	}
}

var agency10 = notification.Entity{Type: "AGENCY", ID: "10"}

// reservationRouting has a mandatory WEBSOCKET, and optional EMAIL, PUSH and SMS.
func reservationRouting() []notification.Routing {
	return []notification.Routing{
		{Channel: notification.WebSocket, Mandatory: true, Strategy: notification.Immediate},
		{Channel: notification.Email, Strategy: notification.Immediate},
		{Channel: notification.Push, Strategy: notification.Immediate},
		{Channel: notification.SMS, Strategy: notification.Immediate},
	}
}

// supported is the initial channel_user_type, for the users of the examples.
func supported() map[notification.Channel][]notification.UserType {
	three := []notification.UserType{notification.RestaurantUser, notification.Customer, notification.AgencyUser}
	return map[notification.Channel][]notification.UserType{
		notification.WebSocket: three, notification.Email: three, notification.Push: three, notification.SMS: three,
	}
}

func staff1() notification.Recipient {
	night := hours("22:00", "08:00")
	r := staff("1", "MANAGER")
	r.Timezone = "Europe/Rome"
	r.Preferences = []notification.Preference{
		{Channel: notification.WebSocket, Enabled: true, QuietHours: &night},
		{Channel: notification.Email, Enabled: true, QuietHours: &night},
		{Channel: notification.Push, Enabled: true, QuietHours: &night},
		{Channel: notification.SMS, Enabled: false, QuietHours: &night},
	}
	return r
}

func agent1() notification.Recipient {
	r := staff("1", "AGENT")
	r.UserType, r.Entity, r.Timezone = notification.AgencyUser, agency10, "Europe/Rome"
	r.Preferences = []notification.Preference{
		{Channel: notification.WebSocket, Enabled: true},
		{Channel: notification.Email, Enabled: true},
		{Channel: notification.Push, Enabled: false},
		{Channel: notification.SMS, Enabled: true},
	}
	return r
}

func customer42() notification.Recipient {
	r := staff("42", "")
	r.UserType, r.Entity = notification.Customer, notification.Entity{Type: "CUSTOMER", ID: "42"}
	return r
}

// settings returns an entity's settings: every channel is on, except the channels in off.
func settings(entity notification.Entity, off ...notification.Channel) []notification.Setting {
	var rows []notification.Setting
	for _, channel := range notification.Channels() {
		row := notification.Setting{Entity: entity, Channel: channel, Enabled: true}
		for _, c := range off {
			row.Enabled = row.Enabled && c != channel
		}
		rows = append(rows, row)
	}
	return rows
}

func limitedTo(limit int, rows []notification.Setting) []notification.Setting {
	for i := range rows {
		rows[i].MaxRecipients = &limit
	}
	return rows
}

func onlyFor(role string, channel notification.Channel, rows []notification.Setting) []notification.Setting {
	for i := range rows {
		if rows[i].Channel == channel {
			rows[i].AllowedRoles = []string{role}
		}
	}
	return rows
}

func decisions(websocket, email, push, sms notification.Decision) map[notification.Channel]notification.Decision {
	return map[notification.Channel]notification.Decision{
		notification.WebSocket: websocket, notification.Email: email, notification.Push: push, notification.SMS: sms,
	}
}
