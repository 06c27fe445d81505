package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

// mailing is a number of messages of one sender, each to another customer and with a receipt.
type mailing struct {
	channel  notification.Channel
	name     string // of its deliveries
	n        int
	first    int // the first customer
	sender   string
	provider string
	harm     notification.Harm
	sentAgo  time.Duration
	cameAgo  time.Duration // its receipts
}

const day = 24 * time.Hour

// add writes the deliveries and the receipts of a mailing.
func (m mailing) add(t *testing.T, s *db.DB) {
	t.Helper()
	if m.sender == "" {
		m.sender = "news@example.com"
	}
	if m.provider == "" {
		m.provider = "sendgrid"
	}
	if m.cameAgo == 0 {
		m.cameAgo = 2 * time.Minute
	}
	sentAt := time.Now().Add(-m.sentAgo - 3*time.Minute)
	postgrestest.AddMany(t, s.Pool, m.n, postgrestest.Delivery{Channel: m.channel, Status: notification.Sent, SentAt: sentAt},
		postgrestest.Expressions{
			"delivery_id": fmt.Sprintf("'%s-' || i", m.name), "event_id": fmt.Sprintf("'%s'", m.name),
			"user_id": fmt.Sprintf("(i + %d)::text", m.first), "provider": fmt.Sprintf("'%s'", m.provider),
		})
	postgrestest.AddMany(t, s.Pool, m.n, postgrestest.Attempt{Outcome: notification.OutcomeSent}, postgrestest.Expressions{
		"delivery_id": fmt.Sprintf("'%s-' || i", m.name), "sender": fmt.Sprintf("'%s'", m.sender),
	})
	outcome, harm := notification.Delivered, "NULL"
	if m.harm != "" {
		harm = fmt.Sprintf("'%s'", m.harm)
	}
	postgrestest.AddMany(t, s.Pool, m.n,
		postgrestest.Receipt{Provider: m.provider, ReceivedAt: time.Now().Add(-m.cameAgo), Outcome: outcome},
		postgrestest.Expressions{
			"receipt_id": fmt.Sprintf("'%s-' || i", m.name), "delivery_id": fmt.Sprintf("'%s-' || i", m.name), "harm": harm,
		})
}

// judged counts all receipts, and returns the senders.
func judged(t *testing.T, s *db.DB) []notification.SenderState {
	t.Helper()
	after := time.Now().Add(-30 * day)
	_, more, err := limit.On(s).CountReceipts(t.Context(), &after)
	require.NoError(t, err)
	require.False(t, more)
	require.NoError(t, limit.On(s).JudgeSenders(t.Context()))
	states, err := limit.On(s).SenderStates(t.Context())
	require.NoError(t, err)
	return states
}

// only counts all receipts, and returns the only sender.
func only(t *testing.T, s *db.DB) notification.SenderState {
	t.Helper()
	states := judged(t, s)
	require.Len(t, states, 1)
	return states[0]
}

// A sender pauses above a limit, among enough recipients.
func TestSenderLimits(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name       string
		harm       notification.Harm
		recipients int
		harmed     int
		want       notification.SenderLevel
	}{
		{"a complaint among too few recipients", notification.HarmComplaint, 199, 1, notification.SenderFine},
		{"a complaint among enough recipients", notification.HarmComplaint, 200, 1, notification.SenderPaused},
		{"exactly 0.3 %", notification.HarmComplaint, 1000, 3, notification.SenderHalf},
		{"over 0.3 %", notification.HarmComplaint, 999, 3, notification.SenderPaused},
		{"over a quarter of 0.3 %", notification.HarmComplaint, 1000, 1, notification.SenderQuarter},
		{"exactly 8 % bounces", notification.HarmBounce, 200, 16, notification.SenderHalf},
		{"over 8 % bounces", notification.HarmBounce, 200, 17, notification.SenderPaused},
		{"half of 8 % bounces", notification.HarmBounce, 200, 8, notification.SenderQuarter},
		{"a quarter of 8 % bounces", notification.HarmBounce, 200, 4, notification.SenderFine},
		{"exactly 8 % blocks", notification.HarmBlock, 200, 16, notification.SenderHalf},
		{"over 8 % blocks", notification.HarmBlock, 200, 17, notification.SenderPaused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			channel := notification.Email
			if tt.harm == notification.HarmBlock {
				channel = notification.SMS
			}
			mailing{channel: channel, name: "fine", n: tt.recipients - tt.harmed}.add(t, s)
			mailing{channel: channel, name: "harmed", n: tt.harmed, first: tt.recipients, harm: tt.harm}.add(t, s)
			got := only(t, s)
			require.Equal(t, int64(tt.recipients), got.Recipients)
			require.Equal(t, int64(tt.harmed), got.Harmed(tt.harm))
			require.Equal(t, tt.want, got.Level())
		})
	}
}

// Recipients count once, whatever they get and however often the sweep counts. Receipts that came or
// were sent long ago, of another provider, or about mail without a sender count nothing.
func TestCountRecipients(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "first", n: 150}.add(t, s)
	mailing{name: "second", n: 150, first: 50, sentAgo: 5 * day}.add(t, s)
	mailing{name: "complaint", n: 2, harm: notification.HarmComplaint}.add(t, s)
	mailing{name: "again", n: 2, harm: notification.HarmComplaint}.add(t, s)
	mailing{name: "old", n: 100, first: 1000, sentAgo: 8 * day, harm: notification.HarmBounce}.add(t, s)
	mailing{name: "unknown", n: 10, first: 2000}.add(t, s)
	postgrestest.Exec(t, s, "UPDATE delivery_attempt SET sender = NULL WHERE delivery_id LIKE 'unknown%'")
	mailing{name: "moved", n: 10, first: 3000}.add(t, s)
	postgrestest.Exec(t, s, "UPDATE notification SET provider = 'smtp' WHERE event_id = 'moved'")
	mailing{name: "opened", n: 10, first: 4000}.add(t, s)
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET outcome = NULL WHERE delivery_id LIKE 'opened%'")
	mailing{name: "late", n: 10, first: 5000, cameAgo: time.Second}.add(t, s)
	mailing{name: "digest", n: 3, first: 6000}.add(t, s)
	postgrestest.Exec(t, s, "UPDATE notification SET digest_id = 'digest', user_id = '6000', event_id = delivery_id WHERE event_id = 'digest'")
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET delivery_id = 'digest' WHERE delivery_id LIKE 'digest-%'")
	for range 2 {
		got := only(t, s)
		require.Equal(t, int64(201), got.Recipients)
		require.Equal(t, int64(2), got.Complaints)
		require.Zero(t, got.Bounces)
		require.NotNil(t, got.PausedAt)
		require.Equal(t, "2 complaints of 201 recipients in seven days", got.Figures())
	}
}

// Many networks never tell if a text message arrived. So each status counts, as Twilio's last one: sent.
func TestTextsWithoutAnOutcome(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{channel: notification.SMS, name: "sent", n: 1750}.add(t, s)
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET outcome = NULL, status = 'sent' WHERE delivery_id LIKE 'sent%'")
	mailing{channel: notification.SMS, name: "delivered", n: 190, first: 2000}.add(t, s)
	mailing{channel: notification.SMS, name: "blocked", n: 60, first: 3000, harm: notification.HarmBlock}.add(t, s)
	got := only(t, s)
	require.Equal(t, "60 blocks by carriers of 2000 recipients in seven days", got.Figures())
	require.Nil(t, got.PausedAt)
}

// A message of the evening counts for seven days, although its day began earlier.
func TestSevenDays(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	evening := time.Now().UTC().Truncate(day).Add(-6 * day)
	mailing{name: "evening", n: 10, sentAgo: time.Since(evening)}.add(t, s)
	require.Equal(t, int64(10), only(t, s).Recipients)
	postgrestest.Exec(t, s, "UPDATE sender_count SET since = since - interval '1 day'")
	require.Zero(t, judgedAgain(t, s).Recipients)
}

// judgedAgain judges without new receipts, and returns the only sender.
func judgedAgain(t *testing.T, s *db.DB) notification.SenderState {
	t.Helper()
	require.NoError(t, limit.On(s).JudgeSenders(t.Context()))
	states, err := limit.On(s).SenderStates(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 1)
	return states[0]
}

// Each sender and each provider counts alone.
func TestSendersCountAlone(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "a", n: 300}.add(t, s)
	mailing{name: "b", n: 300, sender: "shop@example.com", harm: notification.HarmBounce}.add(t, s)
	mailing{name: "c", n: 100, provider: "smtp", harm: notification.HarmBounce}.add(t, s)
	var levels []string
	for _, state := range judged(t, s) {
		levels = append(levels, fmt.Sprint(state.Provider, " ", state.Sender, " ", state.Level()))
	}
	require.Equal(t, []string{"sendgrid shop@example.com PAUSED", "sendgrid news@example.com FINE", "smtp news@example.com FINE"}, levels)
}

// Above the size of a sample, the numbers are estimates. Samples of several days are merged.
func TestManyRecipients(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "a", n: 10_000}.add(t, s)
	mailing{name: "b", n: 10_000, first: 5000, sentAgo: 3 * day}.add(t, s)
	got := only(t, s)
	require.InEpsilon(t, 15_000, got.Recipients, 0.06)
	require.Equal(t, 4096, postgrestest.Get[int](t, s, "SELECT max(cardinality(recipients)) FROM sender_count"))
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM sender_count"))
}

// A page ends before receipts of its last moment, and the next sweep continues there. The first sweep counts
// nothing.
func TestCountReceiptsPageByPage(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "a", n: 20_000, cameAgo: 10 * time.Minute}.add(t, s)
	mailing{name: "b", n: 10, first: 30_000, cameAgo: 5 * time.Minute, harm: notification.HarmComplaint}.add(t, s)
	begin, more, err := limit.On(s).CountReceipts(t.Context(), nil)
	require.NoError(t, err)
	require.False(t, more)
	require.WithinRange(t, begin, time.Now().Add(-2*time.Minute), time.Now().Add(-30*time.Second))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM sender_count"))

	after := time.Now().Add(-time.Hour)
	to, more, err := limit.On(s).CountReceipts(t.Context(), &after)
	require.NoError(t, err)
	require.True(t, more)
	to, more, err = limit.On(s).CountReceipts(t.Context(), &to)
	require.NoError(t, err)
	require.False(t, more)
	require.WithinRange(t, to, begin, time.Now())
	require.Equal(t, 10, postgrestest.Get[int](t, s, "SELECT cardinality(recipients) FROM sender_count WHERE kind = 'COMPLAINT'"))
}

// What was sent before a resume counts no more, so the next sweep does not pause the sender again. A paused
// sender keeps its figures.
func TestResumeSender(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "a", n: 300, harm: notification.HarmComplaint}.add(t, s)
	require.NotNil(t, only(t, s).PausedAt)
	mailing{name: "more", n: 300, first: 1000}.add(t, s)
	require.Equal(t, int64(300), only(t, s).Recipients)

	resumed, err := limit.On(s).ResumeSender(t.Context(), "smtp", "news@example.com", "ann", "list cleaned")
	require.NoError(t, err)
	require.False(t, resumed)
	resumed, err = limit.On(s).ResumeSender(t.Context(), "sendgrid", "news@example.com", "ann", "list cleaned")
	require.NoError(t, err)
	require.True(t, resumed)
	got := only(t, s)
	require.Nil(t, got.PausedAt)
	require.Zero(t, got.Recipients)
	require.Equal(t, "ann", got.ResumedBy)
	require.Equal(t, "list cleaned", got.ResumeReason)
	require.NotNil(t, got.ResumedAt)

	const afterTheResume = -4 * time.Minute
	mailing{name: "new", n: 199, first: 5000, sentAgo: afterTheResume, harm: notification.HarmBounce}.add(t, s)
	require.Equal(t, int64(199), only(t, s).Recipients)
	mailing{name: "newer", n: 1, first: 7000, sentAgo: afterTheResume}.add(t, s)
	got = only(t, s)
	require.Equal(t, int64(200), got.Recipients)
	require.NotNil(t, got.PausedAt)
}

// from is a provider whose messages show a sender.
type from struct {
	told
	sender string
}

func (p *from) From() string { return p.sender }

// While a sender is paused, its optional messages wait, at every provider. Mandatory messages, messages
// that an operator ordered and messages of other senders are sent.
func TestPausedSender(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	mailing{name: "a", n: 300, harm: notification.HarmComplaint}.add(t, s)
	require.NotNil(t, only(t, s).PausedAt)
	process := func(providers ...*limit.Provider) *limit.Circuits {
		circuits := limit.NewCircuits(limit.On(s))
		circuits.Use(notification.Email, limit.NewFailover(circuits, providers...))
		circuits.Read(t.Context())
		return circuits
	}
	news, shop := &from{sender: "news@example.com"}, &from{sender: "shop@example.com"}
	both := process(&limit.Provider{Name: "sendgrid", Sender: news}, &limit.Provider{Name: "smtp", Sender: news})
	alone := process(&limit.Provider{Name: "smtp", Sender: news})
	other := process(&limit.Provider{Name: "sendgrid", Sender: shop}, &limit.Provider{Name: "none", Sender: &told{}})
	optional := notification.Message{Optional: true}

	for _, circuits := range []*limit.Circuits{both, alone} {
		sender, wait := circuits.Paused(notification.Email, optional)
		require.Equal(t, 5*time.Minute, wait)
		require.Contains(t, sender.Waits(), "optional messages over EMAIL are paused since ")
		require.Contains(t, sender.Waits(), ": 300 complaints of 300 recipients in seven days at sendgrid, see `starter channel list`")
		require.Equal(t, sender, circuits.Senders()[0])
		require.Contains(t, circuits.Senders(),
			notification.SenderState{Channel: notification.Email, Provider: "smtp", Sender: "news@example.com"})
		for _, msg := range []notification.Message{{}, {Optional: true, Ordered: true}} {
			_, wait = circuits.Paused(notification.Email, msg)
			require.Zero(t, wait)
		}
		_, wait = circuits.Paused(notification.SMS, optional)
		require.Zero(t, wait, "another channel")
	}
	for _, circuits := range []*limit.Circuits{other, nil} {
		_, wait := circuits.Paused(notification.Email, optional)
		require.Zero(t, wait)
	}

	_, err := limit.On(s).ResumeSender(t.Context(), "sendgrid", "news@example.com", "ann", "list cleaned")
	require.NoError(t, err)
	both.Read(t.Context())
	_, wait := both.Paused(notification.Email, optional)
	require.Zero(t, wait)
	require.Len(t, both.Senders(), 2)
}

// The wait grows with the age of the pause, so that a year adds few waits to the history of a workflow.
func TestPausedSenderForLong(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `INSERT INTO sender_state (channel, provider, sender, paused_at)
		VALUES ('EMAIL', 'sendgrid', 'news@example.com', now())`)
	circuits := limit.NewCircuits(limit.On(s))
	circuits.Use(notification.Email, limit.NewFailover(circuits, &limit.Provider{Name: "smtp", Sender: &from{sender: "news@example.com"}}))
	for age, want := range map[time.Duration]time.Duration{
		time.Minute: 5 * time.Minute, 10 * time.Hour: time.Hour, 20 * day: 2 * day,
	} {
		postgrestest.Exec(t, s, "UPDATE sender_state SET paused_at = now() - $1::interval", age)
		circuits.Read(t.Context())
		_, wait := circuits.Paused(notification.Email, notification.Message{Optional: true})
		require.InDelta(t, want.Seconds(), wait.Seconds(), 10, age)
	}
}
