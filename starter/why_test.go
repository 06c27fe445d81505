package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres/report"
)

// What somebody was sent and not, the latest first, with the reason of each.
func TestWhyRecipient(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		VALUES ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', '{}'), ('evt-2', 'PROMOTION', 'CUSTOMER', '42', '{}')`)
	c.exec(t, `
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		VALUES ('evt-1', 'CUSTOMER', '42', now() - interval '2 days', '{"EMAIL": "SELECTED", "SMS": "SELECTED"}'),
		       ('evt-2', 'CUSTOMER', '42', now(), '{"PUSH": "USER_DISABLED", "EMAIL": "QUIET_HOURS"}'),
		       ('evt-2', 'CUSTOMER', '43', now(), '{"PUSH": "SELECTED"}')`)
	c.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error, sent_at)
		VALUES ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', 'EMAIL', 'evt-1-customer42-EMAIL', 'secret words', 'secret words', 'SENT', NULL, now()),
		       ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', 'SMS', 'evt-1-customer42-SMS', 'secret words', 'secret words', 'FAILED', 'twilio refused: 400 21211', NULL)`)

	out := c.must(t, "why", "--recipient", "customer/42")
	require.Regexp(t, `(?s)evt-2 .*EMAIL .*QUIET_HOURS.*evt-2 .*PUSH .*USER_DISABLED.*evt-1 .*EMAIL .*SELECTED .*SENT .*sent at .*evt-1 .*SMS .*SELECTED .*FAILED .*twilio refused: 400 21211`, out)
	require.NotContains(t, out, "secret words")
	type decisions struct{ Decisions []report.RecipientDecision }
	require.Len(t, read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--since", "24h").Decisions, 2)
	mails := read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--channel", "email").Decisions
	require.Len(t, mails, 2)
	require.NotEmpty(t, mails[0].Reason)
	require.Equal(t, "evt-1-customer42-EMAIL", mails[1].DeliveryID)
	require.Contains(t, c.must(t, "why", "--recipient", "CUSTOMER/44"), "nothing was decided about them")
	require.Equal(t, calledWrong, c.run(t, "why").code)
	require.Contains(t, c.run(t, "why", "--recipient", "PATIENT/1").err, "PATIENT")
}
