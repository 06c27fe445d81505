package operate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/advice"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
)

// marker is in each text about customer 42. The person has no other rows.
const marker = "Zaphod"

var ada = notification.RecipientKey{UserType: notification.Customer, UserID: "42"}

// plantPerson writes rows about customer 42 into every table that may have them, and returns the
// order of an operator. Event theirs is only about them, event shared is also about others, event open is open.
func plantPerson(t *testing.T) People {
	t.Helper()
	o := People{&Operator{Order: Order{Actor: "ada", Command: "recipient erase", Reason: "request 17"}, DB: postgrestest.New(t)}}
	for _, sql := range []string{
		`INSERT INTO recipient (user_type, user_id, name, email, phone, slack_webhook_url, webhook_url, locale)
			VALUES ('CUSTOMER', '42', 'Zaphod', 'Zaphod@example.com', '+Zaphod', 'https://Zaphod', 'https://Zaphod', 'Zaphod'),
			       ('CUSTOMER', '43', 'Trillian', 't@example.com', '', '', '', 'en')`,
		`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('CUSTOMER', '42', 'Zaphod')`,
		`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'CUSTOMER', '42', 'Zaphod')`,
		`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('CUSTOMER', '42', 'SMS', false),
			('CUSTOMER', '43', 'SMS', false)`,
		`INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
			VALUES ('CUSTOMER', '42', 'Zaphod', 'SMS', false)`,
		`INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('CUSTOMER', '42', 'Europe/Rome')`,
		`INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id) VALUES ('CUSTOMER', '42', 'ORDER', 'Zaphod')`,
		`INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES ('CUSTOMER', '42', 'ORDER', 'Zaphod')`,
		`INSERT INTO gateway_ticket (ticket_hash, user_type, user_id, token_expires_at, expires_at) VALUES ('x', 'CUSTOMER', '42', now(), now())`,
		`INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key) VALUES ('CUSTOMER', '42', 'T', 'SMS', 'Zaphod')`,
		`INSERT INTO counted_message (message_id, user_type, user_id, channel_type, category, at, waits)
			VALUES ('m', 'CUSTOMER', '42', 'SMS', 'Zaphod', now(), false)`,
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at)
		 VALUES ('theirs', 'T', 'RESTAURANT', '5', '{"name": "Zaphod"}', 'PROCESSED', now()),
		     ('shared', 'T', 'RESTAURANT', '5', '{"name": "Zaphod"}', 'PROCESSED', now()),
		        ('open', 'T', 'RESTAURANT', '5', '{"name": "Zaphod"}', 'PROCESSED', now()),
		            ('about', 'T', 'CUSTOMER', '42', '{"name": "Zaphod"}', 'PROCESSED', now()),
		        ('other', 'T', 'CUSTOMER', '43', '{"name": "Trillian"}', 'PROCESSED', now())`,
		`INSERT INTO processed_event (event_id, status) VALUES ('theirs', 'SUCCESS'), ('shared', 'SUCCESS'), ('open', 'PROCESSING'),
			('about', 'SUCCESS')`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('theirs', 'CUSTOMER', '42', '{}'),
			('shared', 'CUSTOMER', '42', '{}'), ('shared', 'CUSTOMER', '43', '{}'), ('open', 'CUSTOMER', '42', '{}')`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, url, recipient_address, status,
			last_error, sent_at, strategy, escalates, digest_id)
		 VALUES ('theirs', 'T', 'CUSTOMER', '42', 'EMAIL', 'sent', 'Zaphod', 'Zaphod', 'https://Zaphod', 'Zaphod@example.com', 'SENT', NULL,
		     now(), 'IMMEDIATE', true, NULL),
		        ('theirs', 'T', 'CUSTOMER', '42', 'SMS', 'failed', NULL, NULL, NULL, 'Zaphod', 'FAILED', 'Zaphod is away', NULL, 'IMMEDIATE',
		            false, NULL),
		        ('shared', 'T', 'CUSTOMER', '42', 'EMAIL', 'waits', 'Zaphod', 'Zaphod', NULL, 'Zaphod@example.com', 'PENDING', NULL, NULL,
		            'IMMEDIATE', false, NULL),
		        ('open', 'T', 'CUSTOMER', '42', 'EMAIL', 'item', 'Zaphod', 'Zaphod', NULL, 'Zaphod@example.com', 'PENDING', NULL, NULL,
		            'AGGREGATE', false, 'digest'),
		        ('shared', 'T', 'CUSTOMER', '43', 'EMAIL', 'others', 'Trillian', 'Trillian', NULL, 't@example.com', 'PENDING', NULL, NULL,
		            'IMMEDIATE', false, NULL)`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, ended_at, outcome, detail) VALUES ('failed', 1, now(), 'REFUSED', 'Zaphod is away')`,
		`INSERT INTO delivery_retry (delivery_id, run_id, again, status_before, error_before)
			VALUES ('failed', 'r', false, 'FAILED', 'Zaphod is away')`,
		`INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, detail)
			VALUES ('sendgrid', 'r', 'sent', now(), 'bounce', 'Zaphod is away')`,
	} {
		postgrestest.Exec(t, o.DB, sql)
	}
	return o
}

// marked returns the columns of all tables with the marker, except payloads of events that stay.
func marked(t *testing.T, s *db.DB) (found []string) {
	t.Helper()
	for table := range columnsByTable {
		found = append(found, postgrestest.List(t, s, `
			SELECT DISTINCT $1 || '.' || c.key
			FROM   `+table+` r, jsonb_each_text(to_jsonb(r)) AS c
			WHERE  c.value LIKE '%' || $2 || '%'
			AND    coalesce(to_jsonb(r) ->> 'event_id', '') NOT IN ('shared', 'open')`, table, marker)...)
	}
	return found
}

func erase(t *testing.T, o People) Erasure {
	t.Helper()
	plan := must(o.PlanErase(t.Context(), ada))(t)
	return must(o.Erase(t.Context(), plan, func(Erasure) {}))(t)
}

func rowsOf(e Erasure) map[string]int {
	rows := map[string]int{}
	for _, table := range e.Tables {
		rows[table.Table] = table.Rows
	}
	return rows
}

// An erasure leaves no text about the person in any table, and no rows of others change. A dry run
// counts what the run erases. A repeated run erases only what was open before.
func TestErase(t *testing.T) {
	t.Parallel()

	o := plantPerson(t)
	for _, column := range []string{"title", "body", "url", "recipient_address", "last_error"} {
		require.Contains(t, marked(t, o.DB), "notification."+column, "planted")
	}
	want := map[string]int{
		"recipient": 1, "recipient_device": 1, "entity_member": 1, "user_notification_preferences": 1, "user_category_preferences": 1,
		"user_settings": 1, "entity_follow": 1, "entity_mute": 1,
		"gateway_ticket": 1, "throttle": 1, "counted_message": 1, "notification": 4, "preference_change": 5,
	}
	plan := must(o.PlanErase(t.Context(), ada))(t)
	require.Equal(t, want, rowsOf(plan))

	done := erase(t, o)

	want["preference_change"] += 5 // the triggers also record that the settings were deleted
	require.Equal(t, want, rowsOf(done))
	require.Equal(t, 2, done.Events, "the person's event, and the event about the person")
	require.Equal(t, []string{"open"}, done.Open)
	require.Equal(t, []string{"shared"}, done.Shared)
	require.NotNil(t, done.ErasedAt)
	require.Empty(t, marked(t, o.DB))
	require.Equal(t, []string{
		"failed FAILED erased", "item CANCELLED NO_LONGER_RECIPIENT", "others PENDING", "sent SENT", "waits CANCELLED NO_LONGER_RECIPIENT",
	},
		postgrestest.List(t, o.DB, "SELECT concat_ws(' ', delivery_id, status, last_error) FROM notification ORDER BY delivery_id"))
	require.Equal(t, "Trillian", postgrestest.Get[string](t, o.DB, "SELECT title FROM notification WHERE delivery_id = 'others'"))
	require.ElementsMatch(t, []string{"ESCALATION sent", "REPLACED item", "REPLACED waits"},
		postgrestest.List(t, o.DB, "SELECT kind || ' ' || delivery_id FROM delivery_follow_up"))
	require.Equal(t, []string{"CUSTOMER/42 --reason request 17", "CUSTOMER/42 changed 25 rows, 2 events --reason request 17"},
		postgrestest.List(t, o.DB, "SELECT concat_ws(' ', target, detail) FROM operator_action ORDER BY id"))

	postgrestest.Exec(t, o.DB, "UPDATE processed_event SET status = 'SUCCESS'")
	postgrestest.Exec(t, o.DB,
		"INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, status, detail) VALUES ('sendgrid', 'late', 'sent', now(), "+
			"'bounce', 'Zaphod is away')")
	again := erase(t, o)
	require.Equal(t, 1, again.Rows(), "only the delivery with a late receipt is left")
	require.Empty(t, marked(t, o.DB))
	require.Equal(t, 1, again.Events)
	require.Empty(t, again.Open)
	require.Equal(t, done.ErasedAt, again.ErasedAt)
}

// An attempt that is under way may end first. Then its delivery is erased, too.
func TestEraseWaitsForAttempts(t *testing.T) {
	t.Parallel()

	o := plantPerson(t)
	postgrestest.Exec(t, o.DB,
		"UPDATE notification SET attempt_owner = 'w', attempt_began = now(), attempt_until = now() + interval '3 seconds' WHERE delivery_id = "+
			"'waits'")

	done := erase(t, o)

	require.Zero(t, done.UnderWay)
	require.Equal(t, 4, rowsOf(done)["notification"])
	require.Empty(t, marked(t, o.DB))
}

// A statement that was planning deliveries when the erasure began is awaited.
func TestEraseWaitsForPlanners(t *testing.T) {
	t.Parallel()

	o := plantPerson(t)
	tx := must(o.DB.Pool.Begin(t.Context()))(t)
	must(tx.Exec(t.Context(), `INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		VALUES ('theirs', 'T', 'CUSTOMER', '42', 'PUSH', 'late', 'Zaphod', 'Zaphod')`))(t)
	plan := must(o.PlanErase(t.Context(), ada))(t)
	erased := make(chan Erasure, 1)
	go func() {
		done, err := o.Erase(t.Context(), plan, func(Erasure) {})
		if err == nil {
			erased <- done
		}
		close(erased)
	}()
	require.Eventually(t, func() bool { return must(person.On(o.DB).ErasedAt(t.Context(), ada))(t) != nil }, time.Minute, time.Millisecond)
	require.Equal(t, 1, postgrestest.Get[int](t, o.DB, "SELECT count(*) FROM recipient WHERE user_id = '42'"),
		"the erasure waits for the planner")
	require.NoError(t, tx.Commit(t.Context()))

	require.Equal(t, 5, rowsOf(<-erased)["notification"])
	require.Empty(t, marked(t, o.DB))
}

// Rows of an application's views stay, and the erasure names them.
func TestEraseOfViews(t *testing.T) {
	t.Parallel()

	o := plantPerson(t)
	for _, sql := range []string{
		"ALTER TABLE recipient_device DROP CONSTRAINT recipient_device_of_recipient",
		"ALTER TABLE entity_member DROP CONSTRAINT entity_member_is_recipient",
		"ALTER TABLE recipient RENAME TO person", "CREATE VIEW recipient AS SELECT * FROM person",
	} {
		postgrestest.Exec(t, o.DB, sql)
	}

	done := erase(t, o)

	for _, table := range done.Tables {
		require.Equal(t, table.Table == "recipient", table.View, table.Table)
	}
	require.Equal(t, 1, postgrestest.Get[int](t, o.DB, "SELECT count(*) FROM person WHERE user_id = '42'"))
	entry := must(planner.On(o.DB).DirectoryEntry(t.Context(), ada.UserType, ada.UserID, nil))(t)
	require.True(t, entry.Known)
	require.False(t, entry.Active, "an erased person is inactive, even if the view says active")
}

// A wrong id is an error, and changes nothing.
func TestEraseRefusesAnUnknownPerson(t *testing.T) {
	t.Parallel()

	o := plantPerson(t)
	_, err := o.PlanErase(t.Context(), notification.RecipientKey{UserType: notification.Customer, UserID: "404"})
	var advised *advice.Error
	require.ErrorAs(t, err, &advised)
	require.True(t, strings.Contains(err.Error(), "CUSTOMER/404"))
}
