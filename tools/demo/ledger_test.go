package demo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/sandbox"
)

func TestLedgerDeviations(t *testing.T) {
	t.Parallel()

	const digest, item = "digest-1", "evt-1-customer42-EMAIL"
	sent, failed, cancelled := notification.Sent, notification.Failed, notification.Cancelled
	tests := []struct {
		name     string
		statuses []notification.Status
		together bool     // the deliveries are in a digest
		accepted []string // the ids of the messages that the provider accepted
		refused  string
		wrong    string // the id in the deviation; empty: no deviation
	}{
		{name: "sent once", statuses: []notification.Status{sent}, accepted: []string{item, "evt-2-customer42-EMAIL"}, refused: item},
		{name: "delivered", statuses: []notification.Status{notification.Delivered}, accepted: []string{item}},
		{name: "never accepted", statuses: []notification.Status{sent}, refused: item, wrong: item},
		{name: "accepted twice", statuses: []notification.Status{sent}, accepted: []string{item, item}, wrong: item},
		{name: "refused", statuses: []notification.Status{failed}, refused: item},
		{name: "accepted, but FAILED in the database", statuses: []notification.Status{failed}, accepted: []string{item}, wrong: item},
		{name: "waits", statuses: []notification.Status{notification.Pending}},
		{name: "one message for a digest", statuses: []notification.Status{sent, sent, cancelled}, together: true, accepted: []string{digest},
			refused: digest},
		{name: "no message for a digest", statuses: []notification.Status{sent, sent}, together: true, wrong: digest},
		{name: "two messages for a digest", statuses: []notification.Status{sent, sent}, together: true, accepted: []string{digest, digest},
			wrong: digest},
		{name: "a digest refused", statuses: []notification.Status{failed, failed}, together: true, refused: digest},
		{name: "a digest accepted, but FAILED in the database", statuses: []notification.Status{failed, cancelled}, together: true,
			accepted: []string{digest}, wrong: digest},
		{name: "sent in a digest and alone", statuses: []notification.Status{sent}, together: true, accepted: []string{digest, item},
			wrong: item},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var details []report.EventDetail
			for _, s := range tt.statuses {
				delivery := status(s, "", 0)
				if tt.together {
					delivery.DigestID = digest
				}
				details = append(details, told(notification.DecisionSelected, delivery))
			}
			entries := []sandbox.Entry{{DeliveryID: tt.refused}}
			for _, id := range tt.accepted {
				entries = append(entries, sandbox.Entry{DeliveryID: id, Accepted: true})
			}
			deviations := ledgerDeviations(details, entries)
			if tt.wrong == "" {
				require.Empty(t, deviations)
				return
			}
			require.Len(t, deviations, 1)
			require.Contains(t, deviations[0], tt.wrong+": ")
			require.Contains(t, deviations[0], fmt.Sprintf("by the ledger %d", strings.Count(strings.Join(tt.accepted, " "), tt.wrong)))
		})
	}
}

// Messages over WEBSOCKET reach no provider.
func TestLedgerHasNoWebSocket(t *testing.T) {
	t.Parallel()

	detail := report.EventDetail{Recipients: []report.RecipientDetail{{Deliveries: map[notification.Channel]report.RecipientDelivery{
		notification.WebSocket: {DeliveryID: "evt-1-customer42-WEBSOCKET", Status: notification.Sent},
	}}}}
	require.Empty(t, ledgerDeviations([]report.EventDetail{detail}, nil))
}

// The ledger has a message that was accepted and then bounced.
func TestLedgerHasBouncedMessages(t *testing.T) {
	t.Parallel()

	bounced := status(notification.Failed, "bounced", 0)
	bounced.SentAt = &now
	detail := told(notification.DecisionSelected, bounced)
	require.Empty(t, ledgerDeviations([]report.EventDetail{detail}, []sandbox.Entry{{DeliveryID: bounced.DeliveryID, Accepted: true}}))
	require.Len(t, ledgerDeviations([]report.EventDetail{detail}, nil), 1)
}
