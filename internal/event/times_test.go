package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/relay"
	"herald/internal/report"
	"herald/internal/roomtest"
)

// writtenTimes are times that a producer may write. refusedAs is the CHECK that refuses created_at
// or expires_at.
var writtenTimes = []struct {
	at       string
	created  bool // created_at accepts it
	expires  bool // expires_at accepts it
	hasEnded bool // as expires_at it means expired
}{
	{at: "infinity", expires: true},
	{at: "-infinity", expires: true, hasEnded: true},
	{at: "4713-01-01 00:00:00+00 BC", expires: true, hasEnded: true},
	{at: "0001-01-01 00:00:00+00", expires: true, hasEnded: true},
	{at: "1969-12-31 23:59:59.999999+00", expires: true, hasEnded: true},
	{at: "1970-01-01 00:00:00+00", created: true, expires: true, hasEnded: true},
	{at: "2200-01-01 00:00:00+00", created: true, expires: true},
	{at: "2500-01-01 00:00:00+00", created: true, expires: true},
	{at: "2700-01-01 00:00:00+00", created: true, expires: true},
	{at: "2999-12-31 00:00:00+00", created: true, expires: true},
	{at: "9999-12-31 23:59:59.999999+00", created: true, expires: true},
	{at: "9999-12-31 23:59:59-05"},
	{at: "10000-01-01 00:00:00+00"},
	{at: "294276-12-31 23:59:59+00"},
}

// insertTimes writes the event evt-1 with a time in one column.
func insertTimes(t *testing.T, s *db.DB, column, at string) error {
	t.Helper()
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, `+column+`)
		VALUES ('evt-1', 'T', 'CUSTOMER', '42', '{}', $1::text::timestamptz)`, at)
	return err
}

// Every time that a producer writes is refused by a named CHECK, or every reader can read it.
func TestTimesOfEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, column := range []string{"created_at", "expires_at"} {
		for _, tt := range writtenTimes {
			postgrestest.Exec(t, s, "DELETE FROM event_outbox")
			err := insertTimes(t, s, column, tt.at)
			if accepted := map[string]bool{"created_at": tt.created, "expires_at": tt.expires}[column]; !accepted {
				var refused *pgconn.PgError
				require.ErrorAs(t, err, &refused, "%s %s", column, tt.at)
				require.Equal(t, "event_outbox_"+column, refused.ConstraintName)
				continue
			}
			require.NoError(t, err, "%s %s", column, tt.at)
			readEverything(t, s)
			if column == "expires_at" {
				event := roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t).Event
				ended := !event.ExpiresAt.IsZero() && !time.Now().Before(event.ExpiresAt)
				require.Equal(t, tt.hasEnded, ended, tt.at)
			}
		}
	}
}

// readEverything reads the event evt-1 in each way that the poller, the planner, operators and gauges do.
func readEverything(t *testing.T, s *db.DB) {
	t.Helper()
	ctx, reader := t.Context(), report.Reader{Pool: s.Pool}
	setup := roomtest.Must(planner.On(s).EventSetup(ctx, "evt-1"))(t)
	setup.Event.Payload = nil
	roomtest.Must(json.Marshal(setup.Event))(t)
	page := roomtest.Must(list.Reader{Pool: s.Pool}.Events(ctx, list.EventFilter{}, list.Place{Limit: 10}))(t)
	require.Len(t, page.Rows, 1)
	roomtest.Must(json.Marshal(page))(t)
	roomtest.Must(json.Marshal(roomtest.Must(reader.EventDetail(ctx, "evt-1", 10, 10))(t)))(t)
	state := roomtest.Must(event.On(s).OutboxState(ctx))(t)
	require.GreaterOrEqual(t, state.OldestPending, time.Duration(0))
	require.Less(t, state.OldestPending, 100*365*24*time.Hour)
	require.Len(t, claimEvents(t, s, "a", 1), 1)
	roomtest.Must(event.On(s).EventsToRetry(ctx, event.RetryFilter{Outcome: notification.NoRouting}, "", 10))(t)
}

// A delivery that expires in centuries can be sent, and one that expired long ago cannot.
func TestBeginAttemptWithDistantExpiry(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	for _, tt := range writtenTimes {
		if !tt.expires || tt.at == "infinity" || tt.at[0] == '-' || tt.at == "4713-01-01 00:00:00+00 BC" { // the planner writes none of these
			continue
		}
		postgrestest.Exec(t, s,
			"UPDATE notification SET expires_at = $1::text::timestamptz, status = 'PENDING', last_error = NULL, attempt_owner = NULL, "+
				"attempt_until = NULL, attempt_began = NULL, attempt_count = 0", tt.at)
		attempt := roomtest.Must(attempt.On(s).BeginAttempts(t.Context(),
			notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Owner: "a", Lease: lease, First: true}))(t)[0]
		require.Equal(t, tt.hasEnded, attempt.Message.Expired() || attempt.Status == notification.Cancelled, tt.at)
	}
}

// A plan for an event of the last year expires never, because JSON cannot write the time.
func TestPlanExpiresWithinTheYearsOfJSON(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, insertTimes(t, s, "created_at", "9999-12-31 23:00:00+00"))
	postgrestest.Add(t, s.Pool, postgrestest.Route{ExpiresAfter: 24 * time.Hour})
	setup := roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t)
	facts := setup.Facts(notification.Recipient{}, notification.Email, setup.Now, notification.Used{})
	require.Zero(t, facts.ExpiresAt)
}

// Rows of other services' outboxes become events, whatever their times are.
func TestAdoptWithDistantTimes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	year1, year9999 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)
	problems := roomtest.Must(relay.On(s).Adopt(t.Context(), "orders", []relay.AdoptedEvent{
		{ID: "evt-1", Type: "T", AggregateType: "CUSTOMER", AggregateID: "42", Payload: []byte("{}"), CreatedAt: &year9999},
		{ID: "evt-2", Type: "T", AggregateType: "CUSTOMER", AggregateID: "42", Payload: []byte("{}"), CreatedAt: nil},
		{ID: "evt-3", Type: "T", AggregateType: "CUSTOMER", AggregateID: "42", Payload: []byte("{}"), CreatedAt: &year1},
	}))(t)
	require.Contains(t, problems["evt-3"], "event_outbox_created_at")
	require.Len(t, problems, 1)
	roomtest.Must(json.Marshal(roomtest.Must(list.Reader{Pool: s.Pool}.Events(t.Context(), list.EventFilter{}, list.Place{Limit: 10}))(t)))(t)
	require.NoError(t, roomtest.ErrOfTwo(planner.On(s).Event(t.Context(), "evt-1")))
}
