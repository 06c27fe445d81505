package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/operate"
)

func withPerson(t *testing.T) shell {
	t.Helper()
	c := withDatabase(t)
	c.exec(t, `INSERT INTO recipient (user_type, user_id, name) VALUES ('CUSTOMER', '42', 'Chiara')`)
	c.exec(t,
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
			VALUES ('evt-1', 'T', 'CUSTOMER', '42', '{"a": 1}')`)
	return c
}

func TestErase(t *testing.T) {
	t.Parallel()

	c := withPerson(t)
	require.Regexp(t, `(?m)^recipient +1 +-$`, c.must(t, "recipient", "erase", "CUSTOMER/42", "--dry-run"))
	c.fails(t, calledWrong, "nothing erased: 1 rows match; repeat with --yes to erase them", "recipient", "erase", "CUSTOMER/42")
	require.Equal(t, calledWrong, c.run(t, "recipient", "erase", "42").code)
	c.fails(t, failed, "no row is about CUSTOMER/404", "recipient", "erase", "CUSTOMER/404", "--yes")

	done := read[operate.Erasure](t, c, "recipient", "erase", "customer/42", "--yes", "--reason", "request 17")
	require.Equal(t, 1, done.Rows())
	require.NotNil(t, done.ErasedAt)
	require.Equal(t, []string{"evt-1"}, done.Open, "no poller has started it")
	require.Contains(t, c.must(t, "recipient", "erase", "CUSTOMER/42", "--yes"), "run it again after they end: evt-1")
	audit := c.must(t, "audit", "--target", "CUSTOMER/42")
	require.Contains(t, audit, "--reason request 17")
	require.NotContains(t, audit, "Chiara")
}

func TestExport(t *testing.T) {
	t.Parallel()

	c := withPerson(t)
	c.exec(t, `UPDATE recipient SET name = 'Chiara' || chr(155)`)
	c.exec(t,
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
			VALUES ('evt-2', 'T', 'RESTAURANT', '5', '{"other": "secret"}')`)
	c.exec(t,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('evt-2', 'CUSTOMER', '42', '{}'),
			('evt-2', 'CUSTOMER', '43', '{}')`)
	c.exec(t,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
			VALUES ('evt-2', 'T', 'CUSTOMER', '42', 'EMAIL', 'd', 'title', 'body'),
			       ('evt-2', 'T', 'CUSTOMER', '43', 'EMAIL', 'd2', 'secret', 'body')`)
	c.exec(t, `INSERT INTO delivery_attempt (delivery_id, attempt) VALUES ('d', 1)`)

	require.Empty(t, c.fails(t, calledWrong, "nothing printed: ", "recipient", "export", "CUSTOMER/42").out)

	printed := c.must(t, "recipient", "export", "CUSTOMER/42", "--yes", "--reason", "request 17")
	require.Contains(t, printed, `Chiara\u009b`)
	require.NotContains(t, printed, "secret")
	var document struct {
		Recipient string
		Rows      []struct {
			Table string
			Row   map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &document))
	require.Equal(t, "CUSTOMER/42", document.Recipient)
	var tables []string
	for _, row := range document.Rows {
		tables = append(tables, row.Table)
		if row.Table == "notification" {
			require.Equal(t, "title", row.Row["title"])
			require.Len(t, row.Row["delivery_attempt"], 1)
		}
	}
	require.Equal(t, []string{"recipient", "operator_action", "notification", "notification_decision", "event_outbox", "event_outbox"}, tables)
}

func TestMerge(t *testing.T) {
	t.Parallel()

	c := withPerson(t)
	c.exec(t, `INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('GUEST', '7', 'Europe/Rome')`)
	require.Regexp(t, `(?m)^user_settings +1$`, c.must(t, "recipient", "merge", "GUEST/7", "CUSTOMER/42", "--dry-run"))
	require.Contains(t, c.run(t, "recipient", "merge", "GUEST/7", "CUSTOMER/42").err, "nothing moved: 2 rows match")
	require.Regexp(t, `(?m)^user_settings +1$`, c.must(t, "recipient", "merge", "GUEST/7", "CUSTOMER/42", "--yes"))
	require.Contains(t, c.must(t, "recipient", "merge", "GUEST/7", "CUSTOMER/42", "--yes"), "nothing is left to move")
}
