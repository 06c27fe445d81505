package e2e_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"herald/internal/notification"
	"herald/tools/sandbox"
	"herald/workflows"
)

// item is one delivery that a digest should list, read from the tables.
type item struct {
	DeliveryID string
	EventID    string
	Number     int // of its event; identifies the item in a text
	Channel    string
	Status     notification.Status
	DigestID   string
	Crashed    bool // a worker died during an attempt
}

// items returns all deliveries in the order of digests.
func (d *digests) items() []item {
	d.t.Helper()
	rows, err := d.store.Pool.Query(d.t.Context(), `
		SELECT n.delivery_id, n.event_id, (o.payload->>'number')::int AS number, n.channel, n.status, coalesce(n.digest_id, '') AS digest_id,
		       EXISTS (SELECT FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.outcome = 'LOST') AS crashed
		FROM   notification n
		JOIN   event_outbox o USING (event_id)
		ORDER BY n.id`)
	require.NoError(d.t, err)
	items := must(pgx.CollectRows(rows, pgx.RowToStructByName[item]))(d.t)
	return items
}

// message is a message that a provider accepted.
type message struct {
	sandbox.Entry
	items []string // ids of the listed deliveries, in order
}

var mark = regexp.MustCompile(`item #(\d+)#`)

// listed returns the messages that the providers accepted, with their items.
func (d *digests) listed(items []item) []message {
	d.t.Helper()
	ids := map[string]string{}
	for _, i := range items {
		ids[fmt.Sprint(i.Channel, i.Number)] = i.DeliveryID
	}
	var messages []message
	for _, entry := range d.messages() {
		m := message{Entry: entry}
		for _, found := range mark.FindAllStringSubmatch(entry.Body, -1) {
			m.items = append(m.items, ids[fmt.Sprint(entry.Channel, found[1])])
		}
		messages = append(messages, m)
	}
	return messages
}

// requireEachInOneDigest requires that each item is CANCELLED, or SENT with its text only in the
// messages of its digest. A digest is one message, but Herald may repeat it if a worker was killed
// before it recorded the provider's answer. A cancelled item is in no message, unless a worker
// died during its attempt.
func requireEachInOneDigest(t *testing.T, items []item, messages []message, kills int) {
	listedIn, times := map[string][]string{}, map[string]int{}
	for _, m := range messages {
		times[m.DeliveryID]++
		require.LessOrEqual(t, times[m.DeliveryID], 1+kills, "%s was sent too often", m.DeliveryID)
		for _, id := range m.items {
			if !slices.Contains(listedIn[id], m.DeliveryID) {
				listedIn[id] = append(listedIn[id], m.DeliveryID)
			}
		}
	}
	count := map[notification.Status]int{}
	for _, i := range items {
		count[i.Status]++
		switch {
		case i.Status == notification.Sent:
			require.Equal(t, []string{i.DigestID}, listedIn[i.DeliveryID], "%s is in other digests than the table says", i.DeliveryID)
		case i.Status == notification.Cancelled && i.Crashed:
			require.LessOrEqual(t, len(listedIn[i.DeliveryID]), 1, i.DeliveryID)
		default:
			require.Equal(t, notification.Cancelled, i.Status, i.DeliveryID)
			require.Empty(t, listedIn[i.DeliveryID], "%s was cancelled, but sent", i.DeliveryID)
		}
	}
	require.NotZero(t, count[notification.Cancelled], "nothing was cancelled")
	t.Logf("%v in %d digests, %d duplicates", count, len(times), len(messages)-len(times))
}

// requireListed requires that each message lists 1 to 100 items, each once and in order, and
// gives their number.
func requireListed(t *testing.T, items []item, messages []message) {
	place := map[string]int{}
	for i, item := range items {
		place[item.DeliveryID] = i
	}
	for _, m := range messages {
		require.NotEmpty(t, m.items, "%s lists nothing", m.DeliveryID)
		require.LessOrEqual(t, len(m.items), notification.MaxDigestItems, m.DeliveryID)
		if m.Channel != notification.SMS { // an SMS has no title
			require.Regexp(t, fmt.Sprintf("^%d notifications?$", len(m.items)), m.Title)
		}
		last := -1
		for _, id := range m.items {
			require.Greater(t, place[id], last, "%s is out of order in %s", id, m.DeliveryID)
			last = place[id]
		}
	}
}

// requireWorkflowsAgree requires that every delivery's workflow ended with the status of its row.
// A workflow may never have started if its event was cancelled. It may also be missing if a crash
// interrupted the event, and a digest sent the delivery before the event was planned again.
func (d *digests) requireWorkflowsAgree(items []item) {
	ends := map[notification.Status]enums.WorkflowExecutionStatus{
		notification.Sent:      enums.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		notification.Cancelled: enums.WORKFLOW_EXECUTION_STATUS_CANCELED,
	}
	for _, i := range items {
		var status enums.WorkflowExecutionStatus
		began := true
		d.eventually(func() bool {
			if status, began = d.workflow(i.DeliveryID); !began {
				status, _ = d.workflow(i.EventID)
			}
			return status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}, "%s is %s, and its workflow runs", i.DeliveryID, i.Status)
		switch {
		case began:
			require.Equal(d.t, ends[i.Status], status, "%s is %s", i.DeliveryID, i.Status)
		case status != enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
			require.Equal(d.t, notification.Sent, i.Status, "%s never began", i.DeliveryID)
		}
	}
}

// workflow returns a workflow's status, and whether the workflow ever started.
func (d *digests) workflow(id string) (status enums.WorkflowExecutionStatus, began bool) {
	d.t.Helper()
	description, err := d.temporal.DescribeWorkflow(d.t.Context(), id, "")
	if unknown := new(serviceerror.NotFound); errors.As(err, &unknown) {
		return 0, false
	}
	require.NoError(d.t, err)
	return description.Status, true
}

// A digest that is reset after it chose its items still sends the same items, although the reset
// starts another run.
func TestDigestIsReset(t *testing.T) {
	t.Parallel()

	d := newDigests(t)
	d.env = append(d.env, "EMAIL_RETRY_INTERVAL=10m") // so that the digest waits for its second attempt
	d.startAll(mailWorker...)
	d.fault("EMAIL", `{"status":503}`)
	item, digest := d.write(hidden, 1, 1)[0], d.digest(hidden, 1)
	d.signal(digest, workflows.SendNow)
	d.awaitCount(1, `SELECT count(*) FROM delivery_attempt WHERE ended_at IS NOT NULL`)
	d.mend()

	d.reset(digest, slices.Max[[]int64])

	d.eventually(func() bool { return d.having(hidden, "PENDING") == 0 }, "%s has not ended", item)
	require.Equal(t, 1, d.having(hidden, "SENT"))
	require.Equal(t, 1, d.count(`SELECT count(*) FROM delivery_attempt WHERE outcome = 'SENT' AND delivery_id = $1`, item))
}
