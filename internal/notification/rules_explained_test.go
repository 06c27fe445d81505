package notification_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Every decision about every channel has a sentence of its own, and all but
// being selected a remedy, unless the channel reaches everybody.
func TestDecisionsAreExplained(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		sentences := map[string]bool{}
		for _, decision := range notification.Decisions() {
			sentence := decision.Meaning(channel, notification.Customer)
			require.NotEqual(t, "an unknown decision", sentence, decision)
			require.False(t, sentences[sentence], sentence)
			sentences[sentence] = true
			impossible := decision == notification.DecisionNoAddress && notification.Recipient{}.Reachable(channel)
			require.Equal(t, decision == notification.DecisionSelected || impossible, decision.Remedy(channel) == "", decision)
		}
	}
	require.Equal(t, "an unknown decision", notification.Decision("NEW").Meaning(notification.SMS, notification.Customer))
}

func TestMeaning(t *testing.T) {
	t.Parallel()

	tests := []struct {
		decision notification.Decision
		channel  notification.Channel
		want     string
	}{
		{notification.DecisionUnsupported, notification.SMS, "SMS may not serve a recipient of type ADMIN"},
		{notification.DecisionUserDisabled, notification.Push, "the recipient had switched PUSH off, and it is not mandatory for this event type"},
		{notification.DecisionGroupDisabled, notification.SMS, "their entity had switched SMS off, and it is not mandatory for this event type"},
		{notification.DecisionRoleRestricted, notification.SMS, "their entity allows SMS to certain roles only, and theirs was none of them"},
		{notification.DecisionQuietHours, notification.SMS, "it was quiet hours for them or their entity, and what comes in quiet hours is dropped"},
		{notification.DecisionMaxRecipients, notification.Email, "as many recipients as their entity allows had been chosen for EMAIL before them"},
		{notification.DecisionNoAddress, notification.Email, "they had no e-mail address"},
		{notification.DecisionNoAddress, notification.Push, "they had no active device"},
		{notification.DecisionNoAddress, notification.SMS, "they had no phone number"},
		{notification.DecisionNoAddress, notification.Slack, "they had no Slack webhook"},
		{notification.DecisionSelected, notification.Slack, "they were chosen to be told over SLACK"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.decision.Meaning(tt.channel, notification.Admin))
	}
}

// The findings are the decision with a trace: the first rule that applies decided,
// in every situation.
func TestFindingsAreTheDecision(t *testing.T) {
	t.Parallel()

	for _, s := range situations() {
		used := notification.Used{}
		if s.full {
			used["RESTAURANT/5 "+string(s.channel)] = 1
		}
		facts := s.rules().Facts(s.recipient(), s.channel, noon, used)
		want := notification.DecisionSelected
		for i, finding := range facts.Findings() {
			require.Equal(t, notification.Decisions()[i], finding.Decision)
			require.NotEmpty(t, finding.Fact)
			if finding.Applies && want == notification.DecisionSelected {
				want = finding.Decision
			}
		}
		require.Equal(t, s.want(), want, "%+v", s)
		require.Equal(t, want, facts.Decision())
	}
}

// What a rule finds tells people what it looked at.
func TestFindings(t *testing.T) {
	t.Parallel()

	one, night := 1, hours("22:00", "07:00")
	group := func(change func(*notification.Setting)) func(*notification.EventSetup, *notification.Recipient) {
		return func(s *notification.EventSetup, _ *notification.Recipient) {
			row := notification.Setting{Entity: restaurant5, Channel: notification.SMS, Enabled: true}
			change(&row)
			s.Settings = append(s.Settings, row)
		}
	}
	preference := func(p notification.Preference) func(*notification.EventSetup, *notification.Recipient) {
		return func(_ *notification.EventSetup, r *notification.Recipient) {
			p.Channel = notification.SMS
			r.Preferences = []notification.Preference{p}
		}
	}
	tests := []struct {
		name   string
		change func(*notification.EventSetup, *notification.Recipient)
		rule   notification.Decision
		finds  string
	}{
		{"the channel serves some", nil, notification.DecisionUnsupported, "SMS may serve CUSTOMER, RESTAURANT_USER"},
		{"the channel serves nobody", func(s *notification.EventSetup, _ *notification.Recipient) { s.Supported = nil }, notification.DecisionUnsupported, "SMS may serve nobody"},
		{"no preference", nil, notification.DecisionUserDisabled, "no row: on"},
		{"a preference", preference(notification.Preference{QuietHours: &night, Priority: notification.High}), notification.DecisionUserDisabled, "off, quiet hours 22:00-07:00, priority HIGH"},
		{"no setting", nil, notification.DecisionGroupDisabled, "RESTAURANT/5 has no row: on"},
		{"a setting for every type", group(func(*notification.Setting) {}), notification.DecisionGroupDisabled, "RESTAURANT/5 for every event type: on"},
		{"a setting for the type", group(func(s *notification.Setting) { s.EventSpecific, s.Enabled = true, false }), notification.DecisionGroupDisabled, "RESTAURANT/5 for this event type: off"},
		{"two settings", func(s *notification.EventSetup, r *notification.Recipient) {
			group(func(row *notification.Setting) {
				row.AllowedRoles, row.MaxRecipients, row.QuietHours = []string{"CHEF"}, &one, &night
			})(s, r)
			group(func(row *notification.Setting) { row.EventSpecific = true })(s, r)
		}, notification.DecisionGroupDisabled, "RESTAURANT/5 for this event type: on; this replaces its row for every event type (on, only the roles CHEF, at most 1 recipients, quiet hours 22:00-07:00)"},
		{"an entity that is not known", func(_ *notification.EventSetup, r *notification.Recipient) { r.Entity = notification.Entity{} }, notification.DecisionGroupDisabled, "not known, and neither are its settings"},
		{"any role", nil, notification.DecisionRoleRestricted, "any role is allowed"},
		{"some roles", group(func(s *notification.Setting) { s.AllowedRoles = []string{"MANAGER", "CHEF"} }), notification.DecisionRoleRestricted, "only the roles MANAGER, CHEF are allowed, and theirs is WAITER"},
		{"no role", group(func(s *notification.Setting) { s.AllowedRoles = []string{} }), notification.DecisionRoleRestricted, "only the roles none are allowed, and theirs is WAITER"},
		{"no quiet hours", nil, notification.DecisionQuietHours, "none"},
		{"quiet hours of both", func(s *notification.EventSetup, r *notification.Recipient) {
			preference(notification.Preference{QuietHours: &night})(s, r)
			group(func(row *notification.Setting) { row.QuietHours, row.QuietTimezone = &night, "Europe/Rome" })(s, r)
		}, notification.DecisionQuietHours, "22:00-07:00 UTC, it is 12:00 there now, not quiet; of their entity 22:00-07:00 Europe/Rome, it is 14:00 there now, not quiet"},
		{"any number", nil, notification.DecisionMaxRecipients, "any number is allowed"},
		{"a number", group(func(s *notification.Setting) { s.MaxRecipients = &one }), notification.DecisionMaxRecipients, "at most 1 are allowed, and 0 come before them"},
		{"an address", nil, notification.DecisionNoAddress, "a phone number"},
		{"no address", func(_ *notification.EventSetup, r *notification.Recipient) { r.Phone = "" }, notification.DecisionNoAddress, "no phone number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			setup, recipient := situation{channel: notification.SMS, supported: true}.rules(), staff("1", "WAITER")
			setup.Settings = nil
			if tt.change != nil {
				tt.change(&setup, &recipient)
			}
			for _, finding := range setup.Facts(recipient, notification.SMS, noon, nil).Findings() {
				if finding.Decision == tt.rule {
					require.Equal(t, tt.finds, finding.Fact)
				}
			}
		})
	}
	uncounted := notification.Facts{Setting: notification.Setting{MaxRecipients: &one}, Uncounted: true}.Findings()
	i := slices.IndexFunc(uncounted, func(f notification.Finding) bool { return f.Decision == notification.DecisionMaxRecipients })
	require.Contains(t, uncounted[i].Fact, "not known")
	require.Equal(t, "no need of an address: it knows them by their id", notification.Facts{Routing: notification.Routing{Channel: notification.WebSocket}}.AddressWord())
}
