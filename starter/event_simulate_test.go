package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
)

// contents returns a hash of the rows of every table.
func contents(t *testing.T, c shell) map[string]string {
	t.Helper()
	db, hashes := c.store(t), map[string]string{}
	for _, name := range postgrestest.List(t, db, "SELECT quote_ident(relname) FROM pg_stat_user_tables") {
		hashes[name] = postgrestest.Get[string](t, db, "SELECT coalesce(md5(string_agg(r::text, E'\n' ORDER BY r::text)), '') FROM "+name+" r")
	}
	require.Greater(t, len(hashes), 20)
	return hashes
}

// TestEventSimulate plans what planning would, for many and for each, and writes nothing.
func TestEventSimulate(t *testing.T) {
	t.Parallel()

	c := withTemplates(t)
	c.exec(t, `
		INSERT INTO recipient (user_type, user_id, name, email) SELECT 'CUSTOMER', n::text, 'Ada', 'ada@example.com'
		       FROM generate_series(1000, 1599) n;
		INSERT INTO recipient (user_type, user_id, name, email) VALUES ('GUEST', '1', 'Eve', 'eve@example.com');
		INSERT INTO event_type_channel_routing (event_type, channel_type, throttle_window, expires_after)
		       VALUES ('NEWS', 'EMAIL', '1 hour', '1 hour'), ('NEWS', 'SLACK', NULL, NULL);
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay) VALUES ('NEWS', 'SMS', 'DELAYED', '1 hour');
		INSERT INTO notification_template (event_type, title, body) VALUES ('NEWS', 'News', 'For {{.recipient.user_id}}: {{.payload.text}}');
		UPDATE recipient SET phone = '+12025550100' WHERE user_id = '1000';
		INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key, delivery_id, began_at, ends_at)
		VALUES ('CUSTOMER', '1001', 'NEWS', 'EMAIL', '', 'evt-0-customer1001-EMAIL', now(), now() + interval '1 hour')`)
	before := contents(t, c)
	news := []string{"event", "simulate", "--type", "NEWS", "--aggregate", "BROADCAST/0", "--payload", `{"text": "hello"}`}

	found := read[explain.Simulation](t, c,
		append(news, "--recipient", "CUSTOMER/1000", "--recipient", "customer/1001", "--recipient", "CUSTOMER/43", "--recipient",
			"CUSTOMER/7")...)

	require.Equal(t, 602, found.Recipients)
	require.Equal(t, []explain.SimulatedChannel{
		{Channel: notification.Email,
			Decisions: map[notification.Decision]int{"SELECTED": 599, "NO_ADDRESS": 1, "THROTTLED": 1, "UNSUPPORTED": 1}},
		{Channel: notification.SMS, Decisions: map[notification.Decision]int{"SELECTED": 1, "NO_ADDRESS": 600, "UNSUPPORTED": 1}, Waiting: 1},
		{Channel: notification.Slack, Decisions: map[notification.Decision]int{"UNSUPPORTED": 602}},
	}, found.Channels)
	require.Len(t, found.Samples, 2)
	require.Contains(t, found.Samples[0].Body, ": hello")
	require.Len(t, found.People, 4)
	require.NotNil(t, found.People[0].Decisions[1].SendAfter)
	require.Contains(t, found.People[1].Decisions[0].Meaning, "evt-0-customer1001-EMAIL")
	require.Contains(t, found.People[2].NotNamed[0], "not active")
	require.Contains(t, found.People[3].NotNamed[0], "not in the directory")

	text := c.must(t, append(news, "--recipient", "CUSTOMER/1000")...)
	require.Regexp(t, `EMAIL +599 SELECTED, 1 UNSUPPORTED, 1 NO_ADDRESS, 1 THROTTLED\n`, text)
	require.Regexp(t, `SMS +1 SELECTED, .*; 1 of them sent later or in a digest\n`, text)
	require.Contains(t, text, "OVER EMAIL")

	late := read[explain.Simulation](t, c, "event", "simulate", "--event", "evt-1", "--at", "2040-01-01T00:00:00Z")
	require.Equal(t, 1, late.Recipients)
	failing := read[explain.Simulation](t, c, append(news[:7:7], "{}")...)
	require.Equal(t, 599, failing.Channels[0].Failing)
	require.Contains(t, failing.Channels[0].FirstFail, "text")
	expired := read[explain.Simulation](t, c, append(news, "--expires-in", "1ns", "--at", "2040-01-01T00:00:00Z")...)
	require.Zero(t, expired.Channels[0].Decisions[notification.DecisionExpired], "a new event counts as written at the time of planning")
	unrouted := read[explain.Simulation](t, c, "event", "simulate", "--type", "OTHER", "--aggregate", "BROADCAST/0", "--payload", "{}")
	require.Equal(t, notification.NoRouting, unrouted.Outcome)
	nobody := read[explain.Simulation](t, c, "event", "simulate", "--type", "NEWS", "--aggregate", "RESTAURANT/7", "--payload", "{}")
	require.Equal(t, notification.NoRecipients, nobody.Outcome)

	require.Equal(t, before, contents(t, c))
	for _, args := range [][]string{
		{}, {"--type", "NEWS"}, {"--event", "evt-1", "--payload", "{}"}, {"--event", "evt-1", "--type", "NEWS"},
		{"--event", "evt-1", "--at", "tomorrow"}, {"--type", "NEWS", "--aggregate", "BROADCAST/0", "--payload", "[]"},
	} {
		require.Equal(t, 2, c.run(t, append([]string{"event", "simulate"}, args...)...).code, args)
	}
}
