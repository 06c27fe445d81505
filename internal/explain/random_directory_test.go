package explain

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

// directory is a separate database with random people, entities and rules.
type directory struct {
	*db.DB
	random *rand.Rand
	now    time.Time
	batch  pgx.Batch
	people []notification.Recipient
	events []string
	own    string // prefix of the directory's tables if Herald reads views; otherwise empty
}

// ownTables replaces the directory's tables with views. Their columns have other types, and a member
// may have several rows.
const ownTables = `
	ALTER TABLE recipient RENAME TO own_recipient;
	ALTER TABLE recipient_device RENAME TO own_recipient_device;
	ALTER TABLE entity_member RENAME TO own_entity_member;
	ALTER TABLE own_entity_member DROP CONSTRAINT entity_member_pkey, ALTER role DROP NOT NULL, ALTER active DROP NOT NULL;
	CREATE TYPE own_type AS ENUM ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST', 'PATIENT');
	CREATE VIEW recipient AS
	SELECT user_type::own_type, user_id::varchar, NULL AS name, email, phone, slack_webhook_url, NULL AS locale, timezone,
	       nullif(active, false) AS active
	FROM   own_recipient;
	CREATE VIEW recipient_device AS SELECT user_type::own_type, user_id, token, active::int FROM own_recipient_device;
	CREATE VIEW entity_member AS SELECT entity_type, entity_id::int, user_type::own_type, user_id::name, role, active FROM own_entity_member`

func newDirectory(t *testing.T, random *rand.Rand, views bool) *directory {
	t.Helper()
	d := &directory{DB: postgrestest.New(t), random: random, now: time.Now()}
	d.AddressHash = hashed
	if views {
		d.exec(t, ownTables)
		d.own = "own_"
	}
	d.addPeople()
	d.addSuppressions()
	d.addRules()
	d.addEvents()
	require.NoError(t, d.Pool.SendBatch(t.Context(), &d.batch).Close())
	return d
}

var (
	userTypes = []string{"RESTAURANT_USER", "CUSTOMER", "AGENCY_USER", "ADMIN", "GUEST", "PATIENT"} // PATIENT is added by addPeople
	whos      = map[notification.UserType]string{
		"RESTAURANT_USER": "staff", "CUSTOMER": "customer", "AGENCY_USER": "agent", "ADMIN": "admin", "GUEST": "guest", "PATIENT": "patient",
	}
	zones = []string{
		"UTC", "Europe/Rome", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Kiritimati", "europe/rome", "PST",
	}
	roles      = []string{"MANAGER", "CHEF", "STAFF", "AGENT"}
	categories = []string{"offers", "news"}
	entities   = [][2]string{{"RESTAURANT", "5"}, {"RESTAURANT", "6"}, {"AGENCY", "7"}}
)

func (d *directory) addPeople() {
	d.batch.Queue("INSERT INTO user_type (user_type, who, audience) VALUES ('PATIENT', 'patient', 'patient')")
	for _, userType := range userTypes {
		for n := range 30 {
			id := pick(d, strconv.Itoa(n), strconv.Itoa(n), fmt.Sprintf("00%d", n), fmt.Sprintf("user-%d", n))
			d.people = append(d.people, notification.Recipient{UserType: notification.UserType(userType), UserID: id})
			if d.odds(10) {
				continue // not in the directory
			}
			d.batch.Queue("INSERT INTO "+d.own+
				"recipient (user_type, user_id, email, phone, slack_webhook_url, timezone, active) VALUES ($1, $2, $3, $4, $5, $6, $7)",
				userType, id, pick(d, "", "a@example.com", "b@example.com"), pick(d, "", "+12025550110", "+1 202 555 0111"),
				pick(d, "", "https://hooks.example.com"), pick(d, zones...), !d.odds(15))
			if d.odds(60) {
				d.batch.Queue("INSERT INTO "+d.own+"recipient_device (user_type, user_id, token, active) VALUES ($1, $2, 'token', $3)", userType, id,
					!d.odds(20))
			}
			for _, e := range entities {
				for range d.rolesOfOne() {
					d.batch.Queue("INSERT INTO "+d.own+
						"entity_member (entity_type, entity_id, user_type, user_id, role, active) VALUES ($1, $2, $3, $4, $5, $6)",
						e[0], e[1], userType, id, pick(d, roles...), !d.odds(15))
				}
			}
			for _, e := range entities {
				if d.odds(20) {
					d.batch.Queue("INSERT INTO entity_follow (entity_type, entity_id, user_type, user_id, level) VALUES ($1, $2, $3, $4, $5)",
						e[0], e[1], userType, id, pick(d, "ALL", "IMPORTANT"))
				}
				if d.odds(15) {
					d.batch.Queue("INSERT INTO entity_mute (entity_type, entity_id, user_type, user_id) VALUES ($1, $2, $3, $4)", e[0], e[1], userType, id)
				}
			}
			for _, channel := range notification.Channels() {
				if d.odds(40) {
					start, end := d.quietHours()
					d.batch.Queue(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled,
						quiet_hours_start, quiet_hours_end)
						VALUES ($1, $2, $3, $4, $5, $6, $7)`, userType, id, channel, !d.odds(30), d.odds(60), start, end)
				}
				for _, category := range categories {
					if d.odds(20) {
						d.batch.Queue("INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled) VALUES ($1, $2, $3, $4, "+
							"$5)",
							userType, id, category, channel, d.odds(30))
					}
				}
			}
			if d.odds(30) {
				d.batch.Queue("INSERT INTO user_settings (user_type, user_id, timezone, digest_at) VALUES ($1, $2, $3, $4::text::time)", userType, id,
					null(d, 20, pick(d, zones...)), null(d, 50, "18:15"))
			}
		}
	}
}

// hashed replaces the keyed hash by SHA-256, which SQL can compute.
func hashed(address string) []byte {
	hash := sha256.Sum256([]byte(address))
	return hash[:]
}

func (d *directory) addSuppressions() {
	for channel, address := range map[string]string{"EMAIL": "b@example.com", "SMS": "+12025550111", "SLACK": "https://hooks.example.com"} {
		if d.odds(70) {
			d.batch.Queue("INSERT INTO recipient_suppression (channel, address_hash, reason) VALUES ($1, sha256($2::text::bytea), 'BOUNCE')",
				channel, address)
		}
	}
}

// rolesOfOne returns a random number of roles of a person in an entity.
func (d *directory) rolesOfOne() int {
	switch {
	case d.odds(60):
		return 0
	case d.own == "":
		return 1
	default:
		return 1 + d.random.IntN(3)
	}
}

func (d *directory) addRules() {
	for _, eventType := range []string{"T1", "T2", "T3"} {
		if d.odds(70) {
			d.batch.Queue("INSERT INTO event_category (event_type, category) VALUES ($1, $2)", eventType, pick(d, categories...))
		}
		for _, channel := range notification.Channels() {
			if d.odds(75) {
				throttle, path := null(d, 40, time.Hour), null(d, 50, pick(d, "agency.id", "nowhere", "key"))
				if throttle == nil {
					path = nil
				}
				d.batch.Queue("INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, quiet_hours_action, on_escalation_only, "+
					"roles, expires_after, throttle_window, throttle_key_path) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
					eventType, channel, d.odds(30), pick(d, "DROP", "DROP", "DEFER"), d.odds(25), null(d, 70, d.someRoles()),
					null(d, 60, pick(d, 10*time.Minute, 2*time.Hour)), throttle, path)
			}
			if d.odds(40) {
				d.batch.Queue("UPDATE event_type_channel_routing SET once_per_address = true WHERE event_type = $1 AND channel_type = $2 AND "+
					"channel_type NOT IN ('WEBSOCKET', 'PUSH')",
					eventType, channel)
			}
			if d.odds(20) {
				d.batch.Queue("UPDATE event_type_channel_routing SET tell_actor = true WHERE event_type = $1 AND channel_type = $2", eventType, channel)
			}
			if d.odds(50) {
				d.batch.Queue("UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', send_at_path = $3, skip_if_past = $4 WHERE "+
					"event_type = $1 AND channel_type = $2",
					eventType, channel, pick(d, "past", "past", "ahead", "nowhere"), d.odds(70))
			}
			if d.odds(30) {
				at, days := null(d, 50, pick(d, "00:30", "09:00")), null(d, 50, pick(d, "mon", "tue,thu,sat"))
				if at == nil {
					days = nil
				}
				d.batch.Queue("UPDATE event_type_channel_routing SET delivery_strategy = 'AGGREGATE', digest_first = $3, digest_at = $4::text::time, "+
					"digest_days = $5 WHERE event_type = $1 AND channel_type = $2 AND delivery_strategy = 'IMMEDIATE' AND throttle_window IS NULL",
					eventType, channel, d.odds(50), at, days)
			}
		}
	}
	for _, channel := range notification.Channels() {
		if d.odds(60) {
			d.batch.Queue("INSERT INTO frequency_cap (channel_type, category, at_most, per, action) VALUES ($1, $2, $3, '1 hour', $4)",
				channel, null(d, 50, pick(d, categories...)), 1+d.random.IntN(2), pick(d, "DROP", "DEFER"))
			d.batch.Queue(`INSERT INTO counted_message (message_id, user_type, user_id, channel_type, category, at, waits)
				SELECT concat_ws('/', user_type, user_id, $1::text, n), user_type, user_id, $1, CASE WHEN n = 1 THEN '' ELSE $2 END,
				       now() - n * interval '20 minutes', false
				FROM   recipient, generate_series(1, 4) n`, channel, pick(d, categories...))
			d.batch.Queue(`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, sent_at)
				SELECT 'counted-' || right(message_id, 1), 'COUNTED', user_type, user_id, channel_type, message_id, 't', 'b', 'SENT', at
				FROM   counted_message WHERE channel_type = $1`, channel)
		}
	}
	for i, from := range notification.Channels()[1:] { // only to later channels, so that there is no cycle
		for _, eventType := range []string{"T1", "T2", "T3"} {
			d.batch.Queue(`INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until, if_unreachable)
				SELECT $1, f.channel_type, t.channel_type, '1 hour', 'READ', $4
				FROM   event_type_channel_routing f JOIN event_type_channel_routing t USING (event_type)
				WHERE  f.event_type = $1 AND f.channel_type = $2 AND t.channel_type = $3`,
				eventType, from, pick(d, append(notification.Channels()[i+2:], "")...), d.odds(75))
		}
	}
	for _, eventType := range []string{"T2", "T3"} { // T1 has no rows: its recipients come from the aggregate
		for range 1 + d.random.IntN(4) {
			kind, path := pick(d, "RESTAURANT", "RESTAURANT", "AGENCY", "CUSTOMER", "ADMIN", "BROADCAST"),
				pick(d, "@aggregate", "nowhere", "nowhere,restaurantId", "customer.id")
			if known := map[string]string{"RESTAURANT": "restaurantId", "AGENCY": "agency.id", "CUSTOMER": "customer.id"}; d.odds(80) {
				path = cmp.Or(known[kind], path)
			}
			d.batch.Queue("INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles) VALUES ($1, $2, $3, $4, "+
				"$5) ON CONFLICT DO NOTHING",
				eventType, null(d, 60, pick(d, userTypes...)), kind, path, null(d, 60, d.someRoles()))
		}
	}
	for _, e := range append(slices.Clone(entities), [2]string{"CUSTOMER", "0"}, [2]string{"BROADCAST", "0"}) {
		for _, channel := range notification.Channels() {
			for _, eventType := range []*string{nil, ptr("T1"), ptr("T2")} {
				if d.odds(50) {
					continue
				}
				start, end := d.quietHours()
				if d.odds(60) {
					start, end = nil, nil
				}
				d.batch.Queue(`INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, max_recipients,
					allowed_roles, quiet_hours_start, quiet_hours_end, quiet_hours_timezone)
					VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
					e[0], e[1], channel, eventType, !d.odds(20), null(d, 50, d.random.IntN(6)), null(d, 70, d.someRoles()), start, end,
					null(d, 50, pick(d, zones...)))
			}
		}
	}
	for _, channel := range notification.Channels() {
		for _, userType := range userTypes {
			d.batch.Queue("DELETE FROM channel_user_type WHERE channel_type = $1 AND user_type = $2", channel, userType)
			if !d.odds(20) {
				d.batch.Queue("INSERT INTO channel_user_type (channel_type, user_type) VALUES ($1, $2)", channel, userType)
			}
		}
	}
}

func (d *directory) addEvents() {
	customer := strconv.Itoa(d.random.IntN(30))
	aggregates := [][2]string{{"RESTAURANT", "5"}, {"AGENCY", "7"}, {"CUSTOMER", customer}, {"ADMIN", "0"}, {"BROADCAST", "0"}, {"ORDER", "1"}}
	for i, aggregate := range aggregates {
		id := fmt.Sprintf("evt-%d", i)
		actor := d.some(d.people, 1)[0]
		var exclude []string
		for _, person := range d.some(d.people, 5) {
			exclude = append(exclude, string(person.UserType)+"/"+person.UserID)
		}
		d.batch.Queue("INSERT INTO event_outbox (created_at, event_id, event_type, aggregate_type, aggregate_id, payload, actor_type, actor_id, "+
			"exclude) VALUES ($6, $1, $2, $3, $4, $5, $7, $8, $9)",
			id, pick(d, "T1", "T1", "T2", "T3"), aggregate[0],
			aggregate[1], fmt.Sprintf(`{"restaurantId": 5, "agency": {"id": "7"}, "customer": {"id": %s}, "key": %d, "past": %q, "ahead": %q}`,
				customer, d.random.IntN(2), d.now.Add(-time.Hour).Format(time.RFC3339),
				d.now.Add(time.Hour).Format(time.RFC3339)), pick(d, d.now, d.now.Add(-time.Hour)), actor.UserType, actor.UserID,
			null(d, 30, exclude))
		d.events = append(d.events, id)
	}
}

// plan plans an event page by page, as its workflow does.
func (d *directory) plan(t *testing.T, event string) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &activities.Activities{
		Sources: map[string]activities.Source{notification.HeraldSource: {}}, Lanes: attempt.On(d.DB),
		Planner: planner.Planner{
			Rows:           planner.On(d.DB),
			EventTexts:     func(notification.Event, []notification.Template) planner.Texts { return sameText{} },
			EscalatedTexts: func(notification.Event, []notification.Template) planner.Texts { return sameText{} },
		},
	}
	env.RegisterActivity(a)
	for in := (activities.PlanInput{EventID: event, Source: notification.HeraldSource, Pages: 1}); ; {
		value, err := env.ExecuteActivity(a.PlanDeliveries, in)
		require.NoError(t, err)
		var result activities.PlanResult
		require.NoError(t, value.Get(&result))
		if result.Next == nil {
			return
		}
		in.After = *result.Next
	}
}

type sameText struct{}

func (sameText) Render(context.Context, notification.Channel, notification.Recipient) (notification.Text, error) {
	return notification.Text{Title: "title", Body: "body"}, nil
}

func (t sameText) RenderItem(ctx context.Context, over notification.Channel, to notification.Recipient) (notification.Text, error) {
	return t.Render(ctx, over, to)
}

// sample returns some people with a decision, first those with a decision that was not seen yet, and some
// of all people.
func (d *directory) sample(t *testing.T, event string, seen map[notification.Decision]int) []notification.Recipient {
	t.Helper()
	sql := "SELECT user_type, user_id FROM notification_decision WHERE event_id = $1 AND $3 = " +
		"EXISTS (SELECT FROM jsonb_each_text(channels) WHERE value <> ALL ($2)) ORDER BY user_type, user_id"
	var sample []notification.Recipient
	for _, isNew := range []bool{true, false} {
		rows, err := d.Pool.Query(t.Context(), sql, event, slices.Collect(maps.Keys(seen)), isNew)
		require.NoError(t, err)
		named, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r notification.Recipient, err error) {
			err = row.Scan(&r.UserType, &r.UserID)
			return r, err
		})
		require.NoError(t, err)
		sample = append(sample, d.some(named, askedNamed-len(sample))...)
	}
	return append(sample, d.some(d.people, askedOthers)...)
}

func (d *directory) some(people []notification.Recipient, n int) []notification.Recipient {
	people = slices.Clone(people)
	d.random.Shuffle(len(people), func(i, j int) { people[i], people[j] = people[j], people[i] })
	return people[:min(n, len(people))]
}

// exists reports whether a query finds a row.
func (d *directory) exists(t *testing.T, sql string, args ...any) bool {
	t.Helper()
	return postgrestest.Get[bool](t, d.DB, "SELECT EXISTS ("+sql+")", args...)
}

func (d *directory) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	postgrestest.Exec(t, d.DB, sql, args...)
}

// quietHours returns random quiet hours whose start and end are at least 7 minutes from now. All
// time zones differ by quarters of an hour, so quiet hours do not start or end during the test.
func (d *directory) quietHours() (start, end *string) {
	moment := func() *string {
		at := d.now.Add(7*time.Minute + time.Duration(d.random.IntN(96))*15*time.Minute).UTC()
		return ptr(at.Format("15:04"))
	}
	start, end = moment(), moment()
	for *start == *end { // such quiet hours are refused
		end = moment()
	}
	return start, end
}

func (d *directory) someRoles() []string {
	some := []string{}
	for _, role := range append(slices.Clone(roles), notification.Follower) {
		if d.odds(50) {
			some = append(some, role)
		}
	}
	return some
}

func (d *directory) odds(percent int) bool { return d.random.IntN(100) < percent }

func pick[T any](d *directory, from ...T) T { return from[d.random.IntN(len(from))] }

// null returns nil with a probability in percent, and otherwise the value.
func null[T any](d *directory, percent int, value T) *T {
	if d.odds(percent) {
		return nil
	}
	return &value
}

func ptr[T any](value T) *T { return &value }
