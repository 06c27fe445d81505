package notification_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Every decision about every channel has a distinct sentence. Every decision but DecisionSelected
// has a remedy, unless the channel reaches everybody.
func TestDecisionsAreExplained(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		sentences := map[string]bool{}
		for _, decision := range notification.Decisions() {
			sentence := decision.Meaning(channel, notification.Customer)
			require.NotEqual(t, "an unknown decision", sentence, decision)
			require.False(t, sentences[sentence], sentence)
			sentences[sentence] = true
			require.NotContains(t, sentence+decision.Remedy(channel), "{")
			impossible := decision == notification.DecisionNoAddress && notification.Recipient{}.Reachable(channel)
			require.Equal(t, decision == notification.DecisionSelected || impossible, decision.Remedy(channel) == "", decision)
		}
	}
	require.Equal(t, "an unknown decision", notification.Decision("NEW").Meaning(notification.SMS, notification.Customer))
}

// The sentences name the channel, the user type and the address.
func TestMeaning(t *testing.T) {
	t.Parallel()

	tests := []struct {
		decision notification.Decision
		channel  notification.Channel
		tells    []string
	}{
		{decision: notification.DecisionUnsupported, channel: notification.SMS, tells: []string{"SMS", "ADMIN"}},
		{decision: notification.DecisionNoAddress, channel: notification.Email, tells: []string{"no e-mail address"}},
		{decision: notification.DecisionNoAddress, channel: notification.Push, tells: []string{"no active device"}},
		{decision: notification.DecisionNoAddress, channel: notification.SMS, tells: []string{"no phone number"}},
		{decision: notification.DecisionNoAddress, channel: notification.Slack, tells: []string{"no Slack webhook"}},
		{decision: notification.DecisionSelected, channel: notification.Slack, tells: []string{"chose them", "SLACK"}},
	}
	for _, tt := range tests {
		for _, fact := range tt.tells {
			require.Contains(t, tt.decision.Meaning(tt.channel, notification.Admin), fact, tt.decision)
		}
	}
}

// A finding names its input.
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
		{name: "the channel serves some", rule: notification.DecisionUnsupported, finds: "SMS may serve CUSTOMER, RESTAURANT_USER"},
		{name: "the channel serves nobody", change: func(s *notification.EventSetup, _ *notification.Recipient) { s.Supported = nil },
			rule: notification.DecisionUnsupported, finds: "SMS may serve nobody"},
		{name: "no preference", rule: notification.DecisionUserDisabled, finds: "no row: on; the category offers: on"},
		{name: "a preference", change: preference(notification.Preference{QuietHours: &night, Priority: notification.High}),
			rule: notification.DecisionUserDisabled, finds: "off, quiet hours 22:00-07:00 UTC, priority HIGH; the category offers: on"},
		{name: "a category that is off", change: func(_ *notification.EventSetup, r *notification.Recipient) {
			r.CategoriesOff = []notification.CategoryChannelKey{{Category: "offers", Channel: notification.SMS}}
		}, rule: notification.DecisionUserDisabled, finds: "no row: on; the category offers: off"},
		{name: "no category", change: func(s *notification.EventSetup, r *notification.Recipient) {
			s.Category, r.CategoriesOff = "", []notification.CategoryChannelKey{{Channel: notification.SMS}}
		}, rule: notification.DecisionUserDisabled, finds: "no row: on"},
		{name: "no setting", rule: notification.DecisionGroupDisabled, finds: "RESTAURANT/5 has no row: on"},
		{name: "a setting for every type", change: group(func(*notification.Setting) {}), rule: notification.DecisionGroupDisabled,
			finds: "RESTAURANT/5 for every event type: on"},
		{name: "a setting for the type", change: group(func(s *notification.Setting) { s.EventSpecific, s.Enabled = true, false }),
			rule: notification.DecisionGroupDisabled, finds: "RESTAURANT/5 for this event type: off"},
		{name: "two settings", change: func(s *notification.EventSetup, r *notification.Recipient) {
			group(func(row *notification.Setting) {
				row.AllowedRoles, row.MaxRecipients, row.QuietHours, row.QuietTimezone = []string{"CHEF"}, &one, &night, "Europe/Rome"
			})(s, r)
			group(func(row *notification.Setting) { row.EventSpecific = true })(s, r)
		}, rule: notification.DecisionGroupDisabled,
			finds: "RESTAURANT/5 for this event type: on; this replaces its row for every event type (on, only the roles CHEF, at most 1 " +
				"recipients, quiet hours 22:00-07:00 Europe/Rome)"},
		{name: "an unknown entity", change: func(_ *notification.EventSetup, r *notification.Recipient) { r.Entity = notification.Entity{} },
			rule: notification.DecisionGroupDisabled, finds: "the entity is unknown, and so are its settings"},
		{name: "not muted", rule: notification.DecisionMuted, finds: "RESTAURANT/5 is not muted"},
		{name: "muted", change: func(_ *notification.EventSetup, r *notification.Recipient) { r.Muted, r.ImportantOnly = true, true },
			rule: notification.DecisionMuted, finds: "they have muted RESTAURANT/5"},
		{name: "what is important", change: func(_ *notification.EventSetup, r *notification.Recipient) { r.ImportantOnly = true },
			rule: notification.DecisionMuted, finds: "they follow RESTAURANT/5 at the level IMPORTANT, and the priority is not HIGH"},
		{name: "important", change: func(s *notification.EventSetup, r *notification.Recipient) {
			s.Routing[0].Priority, r.ImportantOnly = notification.High, true
		}, rule: notification.DecisionMuted, finds: "they follow RESTAURANT/5 at the level IMPORTANT, and the priority is HIGH"},
		{name: "an unknown entity, which cannot be muted", change: func(_ *notification.EventSetup, r *notification.Recipient) {
			r.Entity = notification.Entity{}
		}, rule: notification.DecisionMuted, finds: "the entity is unknown, so Herald cannot tell whether they muted it"},
		{name: "any role", rule: notification.DecisionRoleRestricted, finds: "any role is allowed"},
		{name: "some roles", change: group(func(s *notification.Setting) { s.AllowedRoles = []string{"MANAGER", "CHEF"} }),
			rule: notification.DecisionRoleRestricted, finds: "only the roles MANAGER, CHEF are allowed, and theirs is WAITER"},
		{name: "no role", change: group(func(s *notification.Setting) { s.AllowedRoles = []string{} }),
			rule: notification.DecisionRoleRestricted, finds: "only the roles none are allowed, and theirs is WAITER"},
		{name: "roles of the routing", change: func(s *notification.EventSetup, r *notification.Recipient) {
			s.Routing[0].Roles = []string{"MANAGER"}
			group(func(s *notification.Setting) { s.AllowedRoles = []string{"WAITER"} })(s, r)
		}, rule: notification.DecisionRoleRestricted,
			finds: "for this event type only the roles MANAGER, and by the entity only WAITER are allowed, and theirs is WAITER"},
		{name: "no due time", rule: notification.DecisionSkipped, finds: "no due time"},
		{name: "no quiet hours", rule: notification.DecisionQuietHours, finds: "none"},
		{name: "quiet hours of both", change: func(s *notification.EventSetup, r *notification.Recipient) {
			preference(notification.Preference{QuietHours: &night})(s, r)
			group(func(row *notification.Setting) { row.QuietHours, row.QuietTimezone = &night, "Europe/Rome" })(s, r)
		}, rule: notification.DecisionQuietHours,
			finds: "22:00-07:00 UTC, it is 12:00 UTC now, not quiet; of their entity 22:00-07:00 Europe/Rome, it is 14:00 Europe/Rome now, not " +
				"quiet"},
		{name: "quiet hours that do not matter yet", change: func(s *notification.EventSetup, r *notification.Recipient) {
			day := hours("09:00", "17:00")
			preference(notification.Preference{QuietHours: &day})(s, r)
			s.Routing[0].Due = noon.Add(time.Hour)
		}, rule: notification.DecisionQuietHours,
			finds: "09:00-17:00 UTC, it is 12:00 UTC now, quiet until 17:00 UTC; they are checked when the delivery is due"},
		{name: "any number", rule: notification.DecisionMaxRecipients, finds: "any number is allowed"},
		{name: "a number", change: group(func(s *notification.Setting) { s.MaxRecipients = &one }), rule: notification.DecisionMaxRecipients,
			finds: "at most 1 are allowed, and 0 come before them"},
		{name: "an address", rule: notification.DecisionNoAddress, finds: "a phone number"},
		{name: "no address", change: func(_ *notification.EventSetup, r *notification.Recipient) { r.Phone = "" },
			rule: notification.DecisionNoAddress, finds: "no phone number"},
		{name: "nothing is suppressed", change: func(_ *notification.EventSetup, r *notification.Recipient) {
			r.Suppressions = []notification.Suppression{{Channel: notification.Email, Reason: notification.SuppressedBounce}}
		}, rule: notification.DecisionSuppressed, finds: "their address is not suppressed"},
		{name: "suppressed", change: func(_ *notification.EventSetup, r *notification.Recipient) {
			r.Suppressions = []notification.Suppression{
				{Channel: notification.SMS, Reason: notification.SuppressedInvalid, Since: noon, Detail: "twilio refused: 400 21614"},
				{Channel: notification.SMS, Reason: notification.SuppressedOptOut, Since: noon.Add(time.Hour)},
			}
		}, rule: notification.DecisionSuppressed,
			finds: "INVALID since 2026-06-01 12:00 UTC: twilio refused: 400 21614; OPT_OUT since 2026-06-01 13:00 UTC"},
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
	require.Equal(t, "not needed: the channel uses the user id",
		notification.Facts{Routing: notification.Routing{Channel: notification.WebSocket}}.AddressWord())
}
