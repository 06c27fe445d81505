package explain

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
)

// Each run makes two random directories. It makes more, up to maxDirectories, until every decision
// was taken.
const directories, maxDirectories = 2, 20

// For each event, the test asks about askedNamed of its recipients, and about askedOthers of all
// people.
const askedNamed, askedOthers = 12, 4

// Planning, why and the check before an attempt always agree, also about people that the event
// does not name. The directory is Herald's, or views in which a member has several roles.
// Each run uses a new seed; HERALD_SEED repeats a run.
func TestWhyAgreesWithPlanning(t *testing.T) {
	t.Parallel()

	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("HERALD_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("HERALD_SEED=%d", seed)
	seen := map[notification.Decision]int{}
	all := append(notification.Decisions(), "") // empty: no decision
	missing := func(d notification.Decision) bool { return seen[d] == 0 }
	for n := uint64(0); n < directories || (n < maxDirectories && slices.ContainsFunc(all, missing)); n++ {
		d := newDirectory(t, rand.New(rand.NewPCG(seed, n)), n%2 == 1)
		for _, event := range d.events {
			simulated := d.simulate(t, event)
			d.plan(t, event)
			d.compareSimulation(t, event, simulated)
			for _, person := range d.sample(t, event, seen) {
				d.compare(t, event, person, seen)
			}
		}
	}
	t.Logf("decisions: %v", seen)
	require.Len(t, seen, len(all), "some decision was never taken")
}

// simulate asks what an event would do for all people, before it is planned.
func (d *directory) simulate(t *testing.T, event string) Simulation {
	t.Helper()
	var people []notification.RecipientKey
	for _, person := range d.people {
		people = append(people, notification.RecipientKey{UserType: person.UserType, UserID: person.UserID})
	}
	simulated, err := Explainer{DB: d.DB}.Simulate(t.Context(), SimulateRequest{EventID: event, People: people})
	require.NoError(t, err)
	return simulated
}

// compareSimulation requires that planning decided about each person as simulated.
func (d *directory) compareSimulation(t *testing.T, event string, simulated Simulation) {
	t.Helper()
	rows, err := d.Pool.Query(t.Context(), `SELECT user_type || '/' || user_id, channels FROM notification_decision WHERE event_id = $1`,
		event)
	require.NoError(t, err)
	planned := map[string]map[notification.Channel]notification.Decision{}
	var who string
	var decisions map[notification.Channel]notification.Decision
	_, err = pgx.ForEachRow(rows, []any{&who, &decisions}, func() error {
		planned[who], decisions = decisions, nil
		return nil
	})
	require.NoError(t, err)
	require.Len(t, planned, simulated.Recipients)
	counts := map[notification.Decision]int{}
	for _, person := range simulated.People {
		want := planned[person.Recipient]
		require.Len(t, want, len(person.Decisions), "%+v", person)
		require.Equal(t, want != nil, person.Decisions != nil, "%+v", person)
		require.False(t, want != nil && len(person.NotNamed) > 0, "%+v", person)
		for _, decision := range person.Decisions {
			require.Equal(t, want[decision.Channel], decision.Decision, "%+v", person)
			counts[decision.Decision]++
			if decision.Decision == notification.DecisionSelected && decision.Problem == "" {
				require.True(t, d.exists(t,
					`SELECT FROM notification WHERE event_id = $1 AND user_type || '/' || user_id = $2 AND channel = $3 AND (strategy = 'AGGREGATE') = $4
						AND (send_after IS NOT NULL) = $5`,
					event, person.Recipient, decision.Channel, decision.Digest, decision.SendAfter != nil), "%+v", person)
			}
		}
	}
	for _, channel := range simulated.Channels {
		for decision, count := range channel.Decisions {
			counts[decision] -= count
		}
	}
	for decision, difference := range counts {
		require.Zero(t, difference, decision)
	}
}

// compare compares the decisions about one person, for every channel of an event.
func (d *directory) compare(t *testing.T, event string, person notification.Recipient, seen map[notification.Decision]int) {
	t.Helper()
	e := Explainer{DB: d.DB}
	for _, channel := range notification.Channels() {
		key := report.DecisionKey{EventID: event, UserType: person.UserType, UserID: person.UserID, Channel: channel}
		decided, err := e.reader().Decided(t.Context(), key)
		require.NoError(t, err)
		planned, plan, err := e.planAgain(t.Context(), key, decided, time.Now())
		require.NoError(t, err)
		rules := rulesNow(planned, plan)

		want := decided.Decisions[channel]
		require.Equal(t, want, plan.Decision, "%+v: %+v", key, plan)
		// if the type has no routes, no decision is stored
		require.Equal(t, decided.Decisions != nil, plan.Named && len(rules.RoutedChannels) > 0, "%+v: %+v", key, plan)
		seen[want]++
		if !plan.Named {
			require.True(t, !plan.Person.Known || !plan.Person.Active || len(rules.Unreached) > 0, "%+v: no reason why they are not a recipient",
				key)
		}
		// a delayed delivery checks quiet hours when its time comes
		if waits := plan.Facts.Routing.Due.After(plan.Facts.Now); want != "" && !waits {
			d.compareAttempt(t, key, plan, rules.Routing != nil)
		}
	}
}

// compareAttempt begins an attempt at a delivery, which planning or this test has written, and
// which has waited.
func (d *directory) compareAttempt(t *testing.T, key report.DecisionKey, plan planner.Trace, isRouted bool) {
	t.Helper()
	id := notification.DeliveryID(key.EventID, whos[key.UserType], key.UserID, key.Channel)
	entity := plan.Facts.Recipient.Entity
	var expiresAt *time.Time
	if !plan.Facts.ExpiresAt.IsZero() {
		expiresAt = &plan.Facts.ExpiresAt
	}
	d.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body, created_at,
		       expires_at, member_role)
		SELECT event_id, event_type, $2, $3, $4, $5, $6, $7, 'title', 'body', now() - interval '2 minutes', $8, nullif($9, '') FROM event_outbox
		       WHERE event_id = $1
		ON CONFLICT (delivery_id) DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at, status = 'PENDING',
		       attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL`, key.EventID,
		key.UserType, key.UserID, entity.Type, entity.ID, key.Channel, id, expiresAt, plan.Facts.Recipient.MemberRole)

	d.exec(t, "DELETE FROM counted_message WHERE message_id = $1", id)

	attempts, err := attempt.On(d.DB).BeginAttempts(t.Context(),
		notification.Begin{DeliveryIDs: []string{id}, Owner: "test", Lease: time.Minute})
	require.NoError(t, err)
	attempt := attempts[0]
	if attempt.InDigest { // the attempt of its digest evaluates the rules
		return
	}

	var dropped string
	onlyPlanned := []notification.Decision{ // only planning applies them
		notification.DecisionMaxRecipients, notification.DecisionSkipped, notification.DecisionSameAddress, notification.DecisionThrottled,
		notification.DecisionCapped, notification.DecisionActor, notification.DecisionExcluded,
	}
	for _, finding := range plan.Facts.Findings() {
		if finding.Applies && !slices.Contains(onlyPlanned, finding.Decision) {
			dropped = string(finding.Decision)
			break
		}
	}
	room := notification.Room{}
	if dropped == "" && !plan.Facts.Silence.Quiet && isRouted && !plan.Facts.Routing.Mandatory {
		counted := slices.DeleteFunc(slices.Clone(plan.Facts.Recipient.Counted),
			func(m notification.CountedMessage) bool { return m.Channel != key.Channel || m.MessageID == id })
		room = plan.Facts.Caps.Room(counted, plan.Facts.Category, plan.Facts.Now)
	}
	if room.Dropped {
		dropped = string(notification.DecisionCapped)
	}
	require.Equal(t, dropped, attempt.Dropped, "%+v: %+v", key, plan)
	require.Equal(t, dropped == "" && plan.Facts.Silence.Quiet || !room.At.IsZero(), !attempt.NotBefore.IsZero(), "%+v: %+v", key, plan)
}
