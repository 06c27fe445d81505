package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func allDecisions() []notification.Decision {
	return []notification.Decision{
		notification.DecisionUnsupported, notification.DecisionUserDisabled, notification.DecisionGroupDisabled, notification.DecisionRoleRestricted,
		notification.DecisionQuietHours, notification.DecisionMaxRecipients, notification.DecisionNoAddress, notification.DecisionSelected,
	}
}

// Every decision about every channel has a sentence of its own, and all but
// being selected a remedy, unless the channel reaches everybody.
func TestDecisionsAreExplained(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		sentences := map[string]bool{}
		for _, decision := range allDecisions() {
			sentence := decision.Meaning(channel, notification.Customer)
			require.NotEqual(t, "an unknown decision", sentence, decision)
			require.False(t, sentences[sentence], sentence)
			sentences[sentence] = true
			impossible := decision == notification.DecisionNoAddress && notification.Case{Channel: channel}.Reachable()
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

// A case is judged as the rules judge it, in every situation but those in which
// others before count.
func TestCaseIsJudgedByTheRules(t *testing.T) {
	t.Parallel()

	for _, s := range situations() {
		rules, recipient := s.rules(), s.recipient()
		want := rules.Decide(recipient, noon, notification.Used{})[0]
		c := notification.Case{
			Channel: s.channel, Routing: &rules.Routing[0], Served: rules.Supported[s.channel], Recipient: recipient, Settings: rules.Settings,
		}
		require.Equal(t, want, c.Judge(noon), "%+v", s)
		require.Equal(t, s.channel == notification.WebSocket || !s.noAddress, c.Reachable(), "%+v", s)
	}
	require.Empty(t, notification.Case{Channel: notification.SMS}.Judge(noon).Decision)
}

func TestAddressWord(t *testing.T) {
	t.Parallel()

	c := notification.Case{Channel: notification.SMS, Recipient: notification.Recipient{Phone: "+12025550142"}}
	require.Equal(t, "a phone number", c.AddressWord())
	c.Recipient.Phone = ""
	require.Equal(t, "no phone number", c.AddressWord())
	c.Channel = notification.WebSocket
	require.Equal(t, "no need of an address: it knows them by their id", c.AddressWord())
}
