package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// digestSeed repeats the random choices of a run, though not the servers' timing.
var digestSeed = flag.Uint64("digest-seed", 0, "the seed that a run of TestDigests printed; 0: another one")

// The event types, all sent in digests. No test lasts an hour, so a digest with a window of an
// hour is never sent because its window ends.
const (
	raced  = "REVIEW" // by e-mail, push and SMS, every second or two
	split  = "LOT"    // by e-mail, every hour
	hidden = "SECRET" // by e-mail, every hour
)

// digests is an installation with the strategy AGGREGATE. It counts the events that the test writes.
type digests struct {
	*system
	random     *rand.Rand
	written    int // events so far
	deliveries int // of these events
}

func newDigests(t *testing.T) *digests {
	t.Helper()
	seed := *digestSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat this run's choices: -digest-seed %d", seed)
	d := &digests{system: newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100")...), random: rand.New(rand.NewPCG(seed, seed))}
	for customer := range customers {
		id := fmt.Sprint(customer)
		d.fill(
			postgrestest.Recipient{UserID: id, Name: "Ada", Email: "ada" + id + "@example.com", Phone: "+1201555010" + id},
			postgrestest.Device{UserType: notification.Customer, UserID: id, Token: "token-" + id})
	}
	for _, route := range []postgrestest.Route{
		{EventType: raced, DigestWindow: time.Second}, {EventType: raced, Channel: notification.Push, DigestWindow: time.Second},
		{EventType: raced, Channel: notification.SMS, DigestWindow: 2 * time.Second},
		{EventType: split, DigestWindow: time.Hour}, {EventType: hidden, DigestWindow: time.Hour},
	} {
		route.Strategy = notification.Aggregate
		d.fill(route)
	}
	// A text message's items are so long that ten of them fit.
	const item = "item #{{.payload.number}}#"
	d.fill(
		postgrestest.Template{Title: "News", Body: item},
		postgrestest.Template{Channel: notification.SMS, Title: "News", Body: item + strings.Repeat(" and more", 11)})
	return d
}

const customers = 4

// write commits n events of a type for a customer in one transaction. It returns the ids of
// their e-mail deliveries.
func (d *digests) write(eventType string, customer, n int) []string {
	d.t.Helper()
	d.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT $1 || '-' || n, $2, 'CUSTOMER', $3, jsonb_build_object('number', n) FROM generate_series($4::int, $5) n`,
		d.name, eventType, fmt.Sprint(customer), d.written, d.written+n-1)
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-customer%d-EMAIL", d.event(d.written+i), customer))
	}
	d.written += n
	d.deliveries += n
	if eventType == raced {
		d.deliveries += 2 * n
	}
	return ids
}

func (d *digests) event(number int) string { return fmt.Sprintf("%s-%d", d.name, number) }

// digest returns the workflow ID of the digest with a customer's e-mails of a type.
func (d *digests) digest(eventType string, customer int) string {
	return fmt.Sprintf("%s-digest-customer%d-EMAIL-%s", d.name, customer, eventType)
}

// having returns the number of deliveries of a type with a status.
func (d *digests) having(eventType, status string) int {
	d.t.Helper()
	return d.count(`SELECT count(*) FROM notification WHERE event_type = $1 AND status = $2`, eventType, status)
}

// signal signals a workflow as soon as it runs.
func (d *digests) signal(id, name string) {
	d.t.Helper()
	d.eventually(func() bool { return d.temporal.SignalWorkflow(d.t.Context(), id, "", name, nil) == nil }, "%s never ran", id)
}

// Hundreds of items join digests while windows close, items and events are cancelled, and workers
// are killed. In the end each item is in exactly one message or was cancelled.
func TestDigests(t *testing.T) {
	t.Parallel()

	const bursts, events, kills = 6, 8, 3
	d := newDigests(t)
	w := d.startAll(loadWorker...)

	d.hide()
	d.splitLot()
	d.fault("PUSH", `{"latency":"300ms"}`)      // so that calls are in flight during cancellations and kills
	d.fault("SMS", `{"status":503,"rate":0.2}`) // so that some cancellations come between two attempts
	for i := range bursts {
		d.burst(events)
		d.cancelSome()
		if i%(bursts/kills) != bursts/kills-1 {
			d.waitForSome()
			continue
		}
		d.waitUntilPlanned()
		d.waitForSome()
		w.kill()
		w = d.startWorker(loadWorker...)
	}
	d.waitForAll()

	items := d.items()
	messages := d.listed(items)
	requireEachInOneDigest(t, items, messages, kills)
	requireListed(t, items, messages)
	d.requireWorkflowsAgree(items)
}

// burst writes events for random customers.
func (d *digests) burst(events int) {
	d.t.Helper()
	for events > 0 {
		n := 1 + d.random.IntN(events)
		d.write(raced, d.random.IntN(customers), n)
		events -= n
	}
}

// cancelSome cancels a few waiting items, or their events.
func (d *digests) cancelSome() {
	for range d.random.IntN(3) {
		var item, event string
		d.eventually(func() bool {
			return d.store.Pool.QueryRow(d.t.Context(),
				`SELECT delivery_id, event_id FROM notification WHERE event_type = $1 AND status = 'PENDING' ORDER BY id DESC LIMIT 1 OFFSET $2`,
				raced, d.random.IntN(3)).Scan(&item, &event) == nil
		}, "nothing waits")
		id := item
		if d.random.IntN(4) == 0 {
			id = event
		}
		err := d.temporal.CancelWorkflow(d.t.Context(), id, "")
		if gone := new(serviceerror.NotFound); !errors.As(err, &gone) { // already sent, or not started yet
			require.NoError(d.t, err)
		}
	}
}

// waitForSome waits until more items were sent, because a window has closed.
func (d *digests) waitForSome() {
	d.t.Helper()
	target := d.having(raced, "SENT") + 1 + d.random.IntN(5)
	d.eventually(func() bool {
		return d.having(raced, "SENT") >= target || d.having(raced, "PENDING") == 0
	}, "nothing was sent any more")
}

// waitUntilPlanned waits until all events are planned. The crash tests cover a kill during
// planning; here it would only cost time.
func (d *digests) waitUntilPlanned() {
	d.t.Helper()
	d.awaitCount(d.deliveries, `SELECT count(*) FROM notification`)
}

func (d *digests) waitForAll() {
	d.t.Helper()
	d.waitUntilPlanned()
	d.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING'`)
}

// splitLot adds more items at once than a digest holds. The first hundred are sent long before
// their window ends. The other items wait until an operator sends one of them, which sends the
// whole digest.
func (d *digests) splitLot() {
	d.t.Helper()
	const held, more = 100, 10
	d.write(split, 0, held+more)
	d.eventually(func() bool { return d.having(split, "SENT") == held && d.having(split, "PENDING") == more },
		"the digest did not close when it was full")
	d.signal(d.system.deliveries(`SELECT delivery_id FROM notification WHERE event_type = $1 AND status = 'PENDING' LIMIT 1`, split)[0],
		workflows.SendNow)
	d.eventually(func() bool { return d.having(split, "SENT") == held+more }, "send-now did not send the rest")
	require.Equal(d.t, 2, d.count(`SELECT count(DISTINCT digest_id) FROM notification WHERE event_type = $1`, split))
}

// hide cancels an event whose item waits in a digest, and then tells the digest to send. The digest is
// empty, so no message is sent.
func (d *digests) hide() {
	d.write(hidden, 1, 1)
	digest := d.digest(hidden, 1)
	d.awaitBegun(digest)
	require.NoError(d.t, d.temporal.CancelWorkflow(d.t.Context(), d.event(d.written-1), ""))
	d.eventually(func() bool { return d.having(hidden, "CANCELLED") == 1 }, "the item of a cancelled event was not cancelled")
	d.signal(digest, workflows.SendNow)
	var result workflows.DigestResult
	require.NoError(d.t, d.temporal.GetWorkflow(d.t.Context(), digest, "").Get(d.t.Context(), &result))
	require.Zero(d.t, result)
}
