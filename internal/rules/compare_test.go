package rules_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rules"
	"herald/internal/template"
)

func TestCompare(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 5, postgrestest.Recipient{UserType: notification.Customer, Email: "ada@example.com"},
		postgrestest.Expressions{"user_id": "i::text"})
	postgrestest.AddMany(t, s.Pool, 2100, postgrestest.Recipient{UserType: notification.Admin}, postgrestest.Expressions{"user_id": "i::text"})
	event := func(id int, eventType, aggregateType string, at time.Time) {
		postgrestest.Exec(t, s, `
			INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, created_at) VALUES ($1, $2, $3, '1', '{}', $4)`,
			"evt-"+strconv.Itoa(id), eventType, aggregateType, at)
	}
	now := time.Now()
	event(1, "OFFER", "CUSTOMER", now)
	event(2, "OFFER", "CUSTOMER", now.Add(-time.Hour))
	event(3, "OFFER", "CUSTOMER", now.Add(-48*time.Hour))
	event(4, "NEWS", "CUSTOMER", now)
	event(5, "ALARM", "ADMIN", now)

	const news = "channels: { EMAIL: }\ntexts: { '*': { en: { title: News, body: News } } }\n"
	require.NoError(t, apply(t, s, folderOf(t, "NEWS.yaml", news, "OFFER.yaml", news, "ALARM.yaml", news), false, order))
	compare := func(files ...string) rules.Comparison {
		c, err := plan(t, s, folderOf(t, files...), true).Compare(t.Context(), s, template.Engine{}, []string{notification.HeraldSource})
		require.NoError(t, err)
		return c
	}
	require.Equal(t, rules.Comparison{Types: []string{}}, compare("NEWS.yaml", news, "OFFER.yaml", news, "ALARM.yaml", news))
	require.Equal(t, rules.Comparison{Events: 3, Different: 2, Types: []string{"OFFER"}, Skipped: 1},
		compare("NEWS.yaml", news, "OFFER.yaml", "channels: { SMS: }\n", "ALARM.yaml", news))
	require.Equal(t, "EMAIL", postgrestest.Get[string](t, s, "SELECT channel_type FROM event_type_channel_routing WHERE event_type = 'OFFER'"))
}
