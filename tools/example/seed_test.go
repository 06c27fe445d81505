package example_test

import (
	"cmp"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/outbox"
	"herald/tools/example"
)

// The events in the documents on the outbox and the architecture reach the people that these
// documents name. Payloads are unchanged: keys in snake_case or camelCase, few keys or none.
// Three events that the architecture calls evt-1, and an event without an id, have the name of
// their section. A payload "..." is empty here, except for the restaurant named next to it.
func TestSeedEventsReachPeople(t *testing.T) {
	t.Parallel()

	db := seeded(t)
	source, err := os.ReadFile("testdata/seed_events.json")
	require.NoError(t, err)
	events, err := example.ReadEvents(source)
	require.NoError(t, err)
	for _, given := range events {
		t.Run(given.Name, func(t *testing.T) {
			t.Parallel()

			written := given.InRun("")
			written.ID = given.Name
			require.NoError(t, event.On(db).InsertEvents(t.Context(), []outbox.Event{written}))
			require.Equal(t, given.Expect.Outcome, cmp.Or(plan(t, db, written.ID), example.Completed))
			detail, err := report.Reader{Pool: db.Pool}.EventDetail(t.Context(), written.ID, 1000, 0)
			require.NoError(t, err)
			planned := map[string]map[notification.Channel]example.ExpectedResult{}
			for _, r := range detail.Recipients {
				planned[r.Name()] = map[notification.Channel]example.ExpectedResult{}
				for channel, decision := range r.Decisions {
					result := example.ExpectedResult{Decision: decision}
					if decision == notification.DecisionSelected {
						require.Equal(t, notification.Pending, r.Deliveries[channel].Status)
						result.Status = notification.Sent // as it will be
					}
					planned[r.Name()][channel] = result
				}
			}
			require.Equal(t, given.Expect.Recipients, planned)
		})
	}
}

// seedRoute is a row of the tables in the document on the architecture. They list the mandatory
// and optional channels of event types.
type seedRoute struct {
	Channel   notification.Channel
	Mandatory bool
	Strategy  notification.Strategy
}

// The seeded rules have exactly the rows of the document's tables.
func TestSeedRoutingMatchesTheDocument(t *testing.T) {
	t.Parallel()

	mandatoryScreen := []seedRoute{
		{Channel: notification.Email, Strategy: notification.Immediate},
		{Channel: notification.Push, Strategy: notification.Immediate},
		{Channel: notification.SMS, Strategy: notification.Immediate},
		{Channel: notification.WebSocket, Mandatory: true, Strategy: notification.Immediate},
	}
	document := map[string][]seedRoute{
		"RESERVATION_REQUESTED": mandatoryScreen, // "Event Type Rules": WEBSOCKET mandatory; EMAIL, PUSH, SMS not; IMMEDIATE
		"PARTNER_ASSIGNMENT":    mandatoryScreen, // "Agency Event": MANDATORY=WS, OPTIONAL=EMAIL/SMS/PUSH
		"RESERVATION_CONFIRMED": mandatoryScreen, // "Customer Event": MANDATORY=WS, OPTIONAL=EMAIL/PUSH/SMS
		"CHAT_MESSAGE_SENT":     {{notification.WebSocket, true, notification.Immediate}},
	}
	db := seeded(t)
	for eventType, want := range document {
		got := collect[seedRoute](t, db, `SELECT channel_type AS channel, mandatory, delivery_strategy AS strategy
			FROM event_type_channel_routing WHERE event_type = $1 ORDER BY channel_type`, eventType)
		require.Equal(t, want, got, eventType)
	}
}

// seedRecipients holds recipients of an event type, from the document.
type seedRecipients struct {
	UserType, EntityType string
	Roles                []string // nil: any
}

func TestSeedRecipientsMatchTheDocument(t *testing.T) {
	t.Parallel()

	document := map[string][]seedRecipients{
		"RESERVATION_REQUESTED": {{"RESTAURANT_USER", "RESTAURANT", []string{"MANAGER", "CHEF", "WAITER"}}},
		"PARTNER_ASSIGNMENT":    {{"AGENCY_USER", "AGENCY", []string{"AGENT", "MANAGER"}}},
		"RESERVATION_CONFIRMED": {{"CUSTOMER", "CUSTOMER", nil}}, // "only the customer"
	}
	db := seeded(t)
	for eventType, want := range document {
		got := collect[seedRecipients](t, db, "SELECT user_type, entity_type, roles FROM event_type_recipients WHERE event_type = $1", eventType)
		require.Equal(t, want, got, eventType)
	}
}

func seeded(t *testing.T) *db.DB {
	t.Helper()
	db := postgrestest.New(t)
	load(t, db, "https://hooks.slack.com")
	return db
}

// collect reads rows into structs, by column name.
func collect[T any](t *testing.T, db *db.DB, query string, args ...any) []T {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), query, args...)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	require.NoError(t, err)
	return values
}
