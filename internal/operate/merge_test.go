package operate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
)

var guest = notification.RecipientKey{UserType: notification.Guest, UserID: "7"}

// plantGuest writes rows about guest 7, some of which customer 42 of plantPerson has too.
func plantGuest(t *testing.T) People {
	t.Helper()
	o := plantPerson(t)
	o.Order.Command = "recipient merge"
	for _, sql := range []string{
		`INSERT INTO recipient (user_type, user_id) VALUES ('GUEST', '7')`,
		`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('GUEST', '7', 'phone'), ('GUEST', '7', 'Zaphod')`,
		`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('GUEST', '7', 'SMS', true),
			('GUEST', '7', 'EMAIL', true), ('GUEST', '7', 'PUSH', false), ('CUSTOMER', '42', 'EMAIL', false)`,
		`ALTER TABLE user_notification_preferences DISABLE TRIGGER USER`,
		`UPDATE user_notification_preferences SET changed_at = CASE WHEN (user_type, channel_type) IN (('GUEST', 'SMS'), ('CUSTOMER', 'EMAIL'))
			THEN now() ELSE now() - interval '1 day' END`,
		`INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('GUEST', '7', 'Europe/London')`,
		`INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id, level) VALUES ('GUEST', '7', 'ORDER', 'Zaphod', 'IMPORTANT'),
			('GUEST', '7', 'ORDER', '8', 'IMPORTANT')`,
		`INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id)
		 VALUES ('GUEST', '7', 'ORDER', 'Zaphod'), ('GUEST', '7', 'ORDER', '8')`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('shared', 'GUEST', '7', '{}'),
			('other', 'GUEST', '7', '{}')`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, entity_type, entity_id)
		 VALUES ('shared', 'T', 'GUEST', '7', 'EMAIL', 'twin', '', '', NULL, NULL),
		     ('other', 'T', 'GUEST', '7', 'WEBSOCKET', 'inbox', '', '', 'GUEST', '7'),
		         ('other', 'T', 'GUEST', '7', 'EMAIL', 'mail', '', '', 'RESTAURANT', '5')`,
	} {
		postgrestest.Exec(t, o.DB, sql)
	}
	return o
}

// A merge moves settings, devices, deliveries and decisions. If both have a preference, the later
// choice stays. If both have another setting, the target keeps its value. A delivery that the target
// gets too is cancelled. A second merge finds nothing.
func TestMerge(t *testing.T) {
	t.Parallel()

	o := plantGuest(t)
	plan := must(o.PlanMerge(t.Context(), guest, ada))(t)
	require.Equal(t, 1, plan.Cancelled)
	require.Equal(t, 15, plan.Rows())

	done := must(o.Merge(t.Context(), plan, func(Merger) {}))(t)

	require.Equal(t, 1, done.Cancelled)
	list := func(sql string) []string { return postgrestest.List(t, o.DB, sql) }
	require.Equal(t, []string{"EMAIL f", "PUSH f", "SMS t"},
		list("SELECT channel_type || ' ' || left(enabled::text, 1) FROM user_notification_preferences WHERE user_id = '42' ORDER BY 1"),
		"the later choice stays")
	require.Equal(t, []string{"Europe/Rome"}, list("SELECT timezone FROM user_settings"), "the target keeps its time zone")
	require.ElementsMatch(t, []string{"CUSTOMER 8 IMPORTANT", "CUSTOMER Zaphod ALL"},
		list("SELECT concat_ws(' ', user_type, entity_id, level) FROM entity_follow"), "the target keeps its level")
	require.ElementsMatch(t, []string{"CUSTOMER 8", "CUSTOMER Zaphod"}, list("SELECT user_type || ' ' || entity_id FROM entity_mute"))
	require.ElementsMatch(t, []string{"CUSTOMER Zaphod", "CUSTOMER phone"}, list("SELECT user_type || ' ' || token FROM recipient_device"))
	require.Equal(t, []string{"inbox CUSTOMER 42", "mail RESTAURANT 5"},
		list("SELECT concat_ws(' ', delivery_id, entity_type, entity_id) FROM notification WHERE event_id = 'other' AND (user_type, user_id) = "+
			"('CUSTOMER', '42') ORDER BY 1"))
	require.Equal(t, []string{"twin CANCELLED"}, list("SELECT delivery_id || ' ' || status FROM notification WHERE user_type = 'GUEST'"))
	require.Equal(t, []string{"REPLACED twin"}, list("SELECT kind || ' ' || delivery_id FROM delivery_follow_up"))
	require.Equal(t, []string{"shared"}, list("SELECT event_id FROM notification_decision WHERE user_type = 'GUEST'"))
	require.Equal(t, []string{"GUEST/7 to CUSTOMER/42 --reason request 17"},
		list("SELECT target || ' ' || btrim(detail) FROM operator_action ORDER BY id LIMIT 1"))

	require.Zero(t, must(o.PlanMerge(t.Context(), guest, ada))(t).Rows())
}

// A merge refuses a target that is not active, and a source that was erased.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()

	o := plantGuest(t)
	refuses := func(from, to notification.RecipientKey, want string) {
		_, err := o.PlanMerge(t.Context(), from, to)
		require.ErrorContains(t, err, want)
	}
	refuses(ada, ada, "the same person")
	refuses(guest, notification.RecipientKey{UserType: notification.Customer, UserID: "404"}, "CUSTOMER/404 is not an active recipient")
	require.NoError(t, person.On(o.DB).MarkErased(t.Context(), ada))
	refuses(guest, ada, "CUSTOMER/42 is not an active recipient")
	refuses(ada, guest, "CUSTOMER/42 was erased")
}

// A merge records who the source is now, and also who was merged into the source before. A merge back
// makes the target a person again. A merge into a former person is refused.
func TestMergeIsRecorded(t *testing.T) {
	t.Parallel()

	o := plantGuest(t)
	first, trillian := notification.RecipientKey{UserType: notification.Guest, UserID: "1"},
		notification.RecipientKey{UserType: notification.Customer, UserID: "43"}
	merge := func(from, to notification.RecipientKey) {
		t.Helper()
		must(o.Merge(t.Context(), must(o.PlanMerge(t.Context(), from, to))(t), func(Merger) {}))(t)
	}
	recorded := func() []string {
		return postgrestest.List(t, o.DB,
			"SELECT format('%s/%s %s/%s', user_type, user_id, to_user_type, to_user_id) FROM merged_recipient ORDER BY 1")
	}
	merge(first, guest)
	merge(guest, ada)
	merge(guest, ada)
	require.Equal(t, []string{"GUEST/1 CUSTOMER/42", "GUEST/7 CUSTOMER/42"}, recorded())
	_, err := o.PlanMerge(t.Context(), trillian, guest)
	require.ErrorContains(t, err, "GUEST/7 was merged into CUSTOMER/42")
	merge(ada, guest)
	require.Equal(t, []string{"CUSTOMER/42 GUEST/7", "GUEST/1 GUEST/7"}, recorded())
	merge(guest, trillian)
	require.Equal(t, []string{"CUSTOMER/42 CUSTOMER/43", "GUEST/1 CUSTOMER/43", "GUEST/7 CUSTOMER/43"}, recorded())
	require.Equal(t, person.Selves{trillian, ada, first, guest}, must(person.On(o.DB).SelvesOf(t.Context(), trillian))(t))
}

// An erasure also erases the people who were merged into the person, and forgets that they are one. An
// export lists them. An erasure of a former person leaves the other one alone.
func TestEraseAfterAMerge(t *testing.T) {
	t.Parallel()

	o := plantGuest(t)
	postgrestest.Exec(t, o.DB, "UPDATE notification SET title = 'Zaphod' WHERE delivery_id = 'twin'")
	postgrestest.Exec(t, o.DB,
		"INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('theirs', 'GUEST', '7', '{}')")
	must(o.Merge(t.Context(), must(o.PlanMerge(t.Context(), guest, ada))(t), func(Merger) {}))(t)
	tables := map[string]int{}
	require.NoError(t, o.Export(t.Context(), ada, func(page person.ExportPage) error {
		tables[page.Table] += len(page.Rows)
		return nil
	}))
	require.Equal(t, 1, tables["merged_recipient"])
	require.Equal(t, 7, tables["notification"], "the twin, too")

	former := must(o.Erase(t.Context(), must(o.PlanErase(t.Context(), guest))(t), func(Erasure) {}))(t)
	require.Equal(t, 1, rowsOf(former)["notification"])
	require.Nil(t, must(person.On(o.DB).ErasedAt(t.Context(), ada))(t))
	require.Equal(t, ada, *must(person.On(o.DB).MergedInto(t.Context(), guest))(t), "old links still count for the other person")

	postgrestest.Exec(t, o.DB, "UPDATE processed_event SET status = 'SUCCESS'")
	postgrestest.Exec(t, o.DB, "UPDATE notification SET title = 'Zaphod' WHERE delivery_id = 'twin'")
	done := erase(t, o)
	require.Equal(t, 4, done.Events, "event theirs told nobody but the person and their former self")
	require.Equal(t, []string{"shared"}, done.Shared)
	require.Empty(t, marked(t, o.DB))
	require.NotNil(t, must(person.On(o.DB).ErasedAt(t.Context(), guest))(t))
	require.Nil(t, must(person.On(o.DB).MergedInto(t.Context(), guest))(t))
}
