package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// digests is a DigestStore with one digest.
type digests struct {
	deliveries       // records the end of an attempt
	err        error // of reading
	place      notification.DigestPlace
	quiet      notification.QuietCheck
	sealed     notification.SealedDigest
	digest     notification.Digest
	items      []notification.Attempt // as the next BeginAttempts finds them

	sealedBy string
	window   time.Duration
	fits     func(notification.Digest, []notification.DigestItem) bool
	gaveUp   string
}

func (d *digests) DigestPlace(context.Context, string) (notification.DigestPlace, error) {
	return d.place, d.err
}

func (d *digests) DigestQuietCheck(context.Context, notification.DigestKey) (notification.QuietCheck, error) {
	return d.quiet, d.err
}

func (d *digests) SealDigest(_ context.Context, in notification.Sealing) (notification.SealedDigest, error) {
	d.sealedBy, d.window, d.fits = in.DigestID, in.Window.Length, in.Fits
	return d.sealed, d.err
}

func (d *digests) DigestItems(context.Context, string) (ids []string, err error) {
	for _, item := range d.items {
		ids = append(ids, item.Message.DeliveryID)
	}
	return ids, d.err
}

func (d *digests) BeginAttempts(_ context.Context, in notification.Begin) ([]notification.Attempt, error) {
	d.asked, d.asked.Owner = in, ""
	return d.items, d.beginErr
}

func (d *digests) ReadDigest(context.Context, string, notification.DigestKey) (notification.Digest, error) {
	return d.digest, d.err
}

func (d *digests) GiveUpDigest(_ context.Context, id string, status notification.Status, reason string) (map[string]string, error) {
	d.gaveUp = fmt.Sprint(id, " ", status, " ", reason)
	return d.digest.Dropped, d.err
}

// joiner keeps the items that joined, unless it has an error to return.
type joiner struct {
	err    error
	joined []activities.Join
}

func (j *joiner) JoinDigest(_ context.Context, join activities.Join) (string, error) {
	j.joined = append(j.joined, join)
	return "herald-digest-" + join.Place.Key.Name(join.Place.Who), j.err
}

var reviewMails = notification.DigestKey{
	UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED",
}

// The quiet hours of these tests are always (except the last nanosecond of a day) or never, so that
// the tests pass at any time.
var (
	always = &notification.QuietHours{Start: 0, End: 24*time.Hour - time.Nanosecond}
	never  = &notification.QuietHours{Start: time.Hour, End: time.Hour}
)

func TestJoinDigest(t *testing.T) {
	t.Parallel()

	place := notification.DigestPlace{
		Status: notification.Pending, Key: reviewMails, Who: "staff", Priority: notification.High, Window: time.Minute,
	}
	policies := map[notification.Channel]activities.DeliveryPolicy{
		notification.Email: {TaskQueue: "herald-email", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}},
	}
	call := func(db *digests, others *joiner) (activities.JoinResult, error) {
		a := &activities.Activities{Digests: db, Joiner: others, Policies: policies}
		return run[activities.JoinResult](a, a.JoinDigest, activities.JoinInput{DeliveryID: "d1", Channel: notification.Email})
	}

	others := &joiner{}
	joined := must(call(&digests{place: place}, others))(t)
	require.Equal(t,
		activities.JoinResult{Status: notification.Pending, DigestID: "herald-digest-staff10-EMAIL-REVIEW_POSTED", Window: time.Minute}, joined)
	require.Equal(t, []activities.Join{{DeliveryID: "d1", Place: place, Policy: policies[notification.Email]}}, others.joined)

	for _, status := range []notification.Status{notification.Sent, notification.Delivered, notification.Cancelled} {
		place.Status = status
		others = &joiner{}
		joined = must(call(&digests{place: place}, others))(t)
		require.Equal(t, activities.JoinResult{Status: status}, joined)
		require.Empty(t, others.joined)
	}

	place.Status, place.Problem = notification.Failed, "template REVIEW_POSTED/EMAIL/en: no key stars"
	_, err := call(&digests{place: place}, others)
	requireFailure(t, err, activities.FailedBefore, true, 0)
	require.ErrorContains(t, err, place.Problem)
	require.Empty(t, others.joined)

	_, err = call(&digests{err: fmt.Errorf("read: %w", notification.ErrNoDelivery)}, others)
	requireFailure(t, err, activities.NoSuchRow, true, 0)
	_, err = call(&digests{err: errors.New("connection reset")}, others)
	requireFailure(t, err, "", false, 0)
	_, err = call(&digests{place: notification.DigestPlace{Status: notification.Pending}}, &joiner{err: errors.New("no connection")})
	requireFailure(t, err, "", false, 0)
}

// A group in quiet hours drops only its items, when the digest is sent. If one group defers, the
// whole digest waits.
func TestSealDigest(t *testing.T) {
	t.Parallel()

	sealed := notification.SealedDigest{Items: []string{"d1", "d2"}, Next: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	tests := []struct {
		name     string
		judge    bool
		hours    *notification.QuietHours
		group    *notification.QuietHours
		action   notification.QuietHoursAction
		dropped  bool
		deferred bool
	}{
		{name: "quiet hours are not checked", hours: always, action: notification.Defer},
		{name: "no quiet hours", judge: true, action: notification.Defer},
		{name: "outside quiet hours", judge: true, hours: never, action: notification.Defer},
		{name: "defer", judge: true, hours: always, action: notification.Defer, deferred: true},
		{name: "drop", judge: true, hours: always, action: notification.Drop, dropped: true},
		{name: "a group drops", judge: true, hours: never, group: always, action: notification.Drop},
		{name: "a group defers", judge: true, hours: never, group: always, action: notification.Defer, deferred: true},
		{name: "drop, outside quiet hours", judge: true, hours: never, action: notification.Drop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := &digests{sealed: sealed, quiet: notification.QuietCheck{
				Now: time.Now(), Action: tt.action, Timezone: "Europe/Rome",
				Preference: notification.Preference{Channel: notification.Email, QuietHours: tt.hours},
				Groups:     []notification.Setting{{QuietHours: tt.group}},
			}}
			result := must(sealDigest(db, tt.judge))(t)

			require.Equal(t, tt.dropped, result.Quiet)
			if tt.deferred {
				require.Empty(t, db.sealedBy, "a digest that waits is not sealed")
				require.Empty(t, result.Items)
				require.Equal(t, time.UTC, result.NotBefore.Location())
				require.Contains(t, result.Wait, "Europe/Rome: quiet hours")
			} else {
				require.Equal(t, "digest-1", db.sealedBy)
				require.Equal(t, time.Minute, db.window)
				require.Equal(t, sealed, result.SealedDigest)
				require.Zero(t, result.NotBefore)
			}
		})
	}
}

// A digest at the edge of quiet hours is judged by the later of two clocks: Temporal's, which says that
// it is due, and the database's.
func TestSealDigestByTheLaterClock(t *testing.T) {
	t.Parallel()

	now := time.Now().UTC()
	clock := func(at time.Duration) time.Duration { return now.Add(at).Sub(now.Add(at).Truncate(24 * time.Hour)) }
	for name, tt := range map[string]struct {
		database   time.Duration // ahead of Temporal's clock
		start, end time.Duration // of quiet hours, by Temporal's clock
		quiet      bool
	}{
		"the database is behind":      {database: -time.Minute, start: -time.Hour, end: -time.Second},
		"the database is far ahead":   {database: time.Hour, start: 30 * time.Minute, end: 2 * time.Hour, quiet: true},
		"both are before quiet hours": {start: 30 * time.Minute, end: time.Hour},
		"both are in quiet hours":     {start: -time.Hour, end: time.Hour, quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := &digests{quiet: notification.QuietCheck{Now: now.Add(tt.database), Action: notification.Drop,
				Timezone: "UTC", Preference: notification.Preference{
					Channel: notification.Email, QuietHours: &notification.QuietHours{Start: clock(tt.start), End: clock(tt.end)},
				}}}
			require.Equal(t, tt.quiet, must(sealDigest(db, true))(t).Quiet)
		})
	}
}

// A digest fits if its channel takes its text. If the template is broken, no smaller digest would help.
func TestSealDigestMeasuresTheText(t *testing.T) {
	t.Parallel()

	db := &digests{}
	a := &activities.Activities{Digests: db, DigestText: template.Engine{}.Digest}
	texts := reviewMails
	texts.Channel = notification.SMS
	must(run[activities.SealResult](a, a.SealDigest, activities.SealInput{DigestID: "digest-1", Key: texts, Window: time.Minute}))(t)

	for body, want := range map[string][2]bool{ // of one item, and of forty
		"{{range .Items}}{{.body}}{{end}}":                    {true, true},
		"{{.recipient.name}}{{range .Items}}{{.body}}{{end}}": {true, false},
		"{{range .Items}}{{.body}} and more, {{end}}":         {true, false},
		"{{range .Items}}{{.stars}}{{end}}":                   {true, true},
	} {
		digest := notification.Digest{
			Recipient: notification.Recipient{Name: strings.Repeat("A", 401)},
			Templates: []notification.Template{{EventType: "digest", Channel: "*", Locale: "en", Body: body}},
		}
		items := slices.Repeat([]notification.DigestItem{{Title: "T", Body: strings.Repeat("x", 30)}}, 40)
		require.Equal(t, want, [2]bool{db.fits(digest, items[:1]), db.fits(digest, items)}, body)
	}
	require.True(t, db.fits(notification.Digest{}, make([]notification.DigestItem, 2)), "no template")
}

func TestSealDigestFails(t *testing.T) {
	t.Parallel()

	for _, judge := range []bool{false, true} {
		_, err := sealDigest(&digests{err: errors.New("connection reset")}, judge)
		requireFailure(t, err, "", false, 0)
	}
}

func sealDigest(db *digests, judge bool) (activities.SealResult, error) {
	a := &activities.Activities{Digests: db}
	return run[activities.SealResult](a, a.SealDigest,
		activities.SealInput{DigestID: "digest-1", Key: reviewMails, Window: time.Minute, JudgeQuiet: judge})
}

// eventTexts writes texts as a worker does.
func eventTexts(event notification.Event, rows []notification.Template) planner.Texts {
	return template.Engine{}.NewSet(event, rows)
}

// dueDigest is the n-th attempt at a digest of two mails. The provider failed `ended`
// earlier attempts.
func dueDigest(n, ended int) *digests {
	item := func(id string, more int, title, body string) notification.Attempt {
		return notification.Attempt{
			Status: notification.Pending, Number: n + more, Tried: notification.Tried{Begun: n + more, Ended: ended + more, Crashed: n - 1 - ended},
			Message: notification.Message{DeliveryID: id, EventID: "evt-" + id, To: "ada@example.com", Title: title, Body: body},
		}
	}
	return &digests{
		items: []notification.Attempt{item("d1", 0, "Ada", "Table for 4"), item("d2", 4, "Bob", "good")},
		digest: notification.Digest{
			Templates: []notification.Template{
				{EventType: "digest", Channel: "*", Locale: "en", Title: "{{len .Items}}", Body: "{{range .Items}}{{.title}},{{end}}"},
			},
		},
	}
}

func sendDigest(db *digests, mail activities.Sender) (activities.SendDigestResult, error) {
	a := &activities.Activities{
		Digests: db, Attempts: db, DigestText: template.Engine{}.Digest,
		Senders: map[notification.Channel]activities.Sender{notification.Email: mail},
	}
	return run[activities.SendDigestResult](a, a.SendDigest, activities.SendDigestInput{
		DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3},
	})
}

// The message leaves out items that the rules no longer allow. The result has the reasons.
func TestSendDigest(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(2, 1), &provider{}
	db.digest.Dropped = map[string]string{"d3": "USER_DISABLED"}

	require.Equal(t, activities.SendDigestResult{Items: 2, Dropped: db.digest.Dropped}, must(sendDigest(db, mail))(t))
	require.Equal(t, notification.Message{DeliveryID: "digest-1", To: "ada@example.com", Title: "2", Body: "Ada,Bob,"}, mail.message)
}

// The links of a digest know the address that it goes to.
func TestLinksOfDigests(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(1, 0), &provider{}
	db.digest.Templates = []notification.Template{{
		EventType: "digest", Channel: "EMAIL", Locale: "en", Title: "t", Body: "b", Layout: "main", LayoutBody: "{{block}} {{.preferences_url}}",
	}}
	texts := template.Engine{
		PreferencesURL: func(over notification.Channel, to notification.Recipient) string { return "for " + to.Address(over) },
	}
	a := &activities.Activities{
		Digests: db, Attempts: db, DigestText: texts.Digest, Senders: map[notification.Channel]activities.Sender{notification.Email: mail},
	}
	_, err := run[activities.SendDigestResult](a, a.SendDigest, activities.SendDigestInput{
		DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3},
	})
	require.NoError(t, err)
	require.Equal(t, "b for ada@example.com", mail.message.Body)
}

// If all items were cancelled, dropped or sent before, nothing is sent.
func TestSendEmptyDigest(t *testing.T) {
	t.Parallel()

	for _, sentBefore := range []int{0, 3} {
		digest := notification.Digest{Sent: sentBefore, Dropped: map[string]string{"d3": "USER_DISABLED"}}
		db, mail := &digests{digest: digest}, &provider{}
		require.Equal(t, activities.SendDigestResult{Items: sentBefore, Dropped: digest.Dropped}, must(sendDigest(db, mail))(t))
		require.Zero(t, mail.calls)
		require.Empty(t, db.results)
	}
}

// If one item has to wait for the end of quiet hours, or is leased to another sender, nothing is
// sent, and the other items do not change.
func TestSendDigestWaitsAsAWhole(t *testing.T) {
	t.Parallel()

	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	quiet, leased := dueDigest(1, 0), dueDigest(1, 0)
	quiet.items[0] = notification.Attempt{
		Status: notification.Pending, Verdict: notification.Verdict{NotBefore: until, Wait: "08:00 UTC: quiet hours"},
	}
	leased.items[0] = notification.Attempt{Status: notification.Pending, LeasedFor: time.Minute}
	mail := &provider{}

	require.Equal(t, activities.SendDigestResult{NotBefore: until, Wait: "08:00 UTC: quiet hours"}, must(sendDigest(quiet, mail))(t))
	require.Equal(t, quiet.items[1:], quiet.released)

	_, err := sendDigest(leased, mail)
	requireFailure(t, err, activities.AttemptLost, false, time.Minute)
	require.Equal(t, leased.items[1:], leased.released)
	require.Zero(t, mail.calls)
}

func TestGiveUpDigest(t *testing.T) {
	t.Parallel()

	db := &digests{digest: notification.Digest{Dropped: map[string]string{"d3": "USER_DISABLED"}}}
	a := &activities.Activities{Digests: db, Deliveries: &deliveries{}}
	in := activities.GiveUpDigestInput{
		DigestID: "digest-1", Channel: notification.Email, Status: notification.Failed, Reason: "sendgrid refused: 400",
	}
	require.Equal(t, activities.GiveUpDigestResult{Dropped: db.digest.Dropped},
		must(run[activities.GiveUpDigestResult](a, a.GiveUpDigest, in))(t))
	require.Equal(t, "digest-1 FAILED sendgrid refused: 400", db.gaveUp)

	db.err = errors.New("connection reset")
	_, err := run[any](a, a.GiveUpDigest, in)
	requireFailure(t, err, "", false, 0)
}

func escalatedTexts(event notification.Event, rows []notification.Template) planner.Texts {
	return template.Engine{}.NewEscalatedSet(event, rows)
}
