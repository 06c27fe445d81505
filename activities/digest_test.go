package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/template"
)

// digests is a DigestStore with one digest.
type digests struct {
	deliveries       // what records the end of an attempt
	err        error // of reading
	place      notification.DigestPlace
	quiet      notification.QuietCheck
	sealed     notification.SealedDigest
	digest     notification.Digest
	items      []notification.Attempt // as the next BeginAttempts finds them

	sealedBy string
	window   time.Duration
	gaveUp   string
}

func (d *digests) DigestPlace(context.Context, string) (notification.DigestPlace, error) {
	return d.place, d.err
}

func (d *digests) DigestQuietCheck(context.Context, notification.DigestKey) (notification.QuietCheck, error) {
	return d.quiet, d.err
}

func (d *digests) SealDigest(_ context.Context, id string, _ notification.DigestKey, window time.Duration) (notification.SealedDigest, error) {
	d.sealedBy, d.window = id, window
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

// joiner keeps who joined, unless it has an error to give.
type joiner struct {
	err    error
	joined []activities.Join
}

func (j *joiner) JoinDigest(_ context.Context, join activities.Join) (string, error) {
	j.joined = append(j.joined, join)
	return "herald-digest-" + join.Place.Key.Name(join.Place.Who), j.err
}

var reviewMails = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}

// The quiet hours of these tests are the whole day but its last nanosecond, or
// never, so that they hold at any time.
var (
	always = &notification.QuietHours{Start: 0, End: 24*time.Hour - time.Nanosecond}
	never  = &notification.QuietHours{Start: time.Hour, End: time.Hour}
)

func TestJoinDigest(t *testing.T) {
	t.Parallel()

	place := notification.DigestPlace{Status: notification.Pending, Key: reviewMails, Who: "staff", Priority: notification.High, Window: time.Minute}
	policies := map[notification.Channel]activities.DeliveryPolicy{notification.Email: {TaskQueue: "herald-email", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3}}}
	call := func(db *digests, others *joiner) (activities.JoinResult, error) {
		a := &activities.Activities{Digests: db, Joiner: others, Policies: policies}
		return run[activities.JoinResult](a, a.JoinDigest, activities.JoinInput{DeliveryID: "d1", Channel: notification.Email})
	}

	others := &joiner{}
	joined, err := call(&digests{place: place}, others)
	require.NoError(t, err)
	require.Equal(t, activities.JoinResult{Status: notification.Pending, DigestID: "herald-digest-staff10-EMAIL-REVIEW_POSTED", Window: time.Minute}, joined)
	require.Equal(t, []activities.Join{{DeliveryID: "d1", Place: place, Policy: policies[notification.Email]}}, others.joined)

	for _, status := range []notification.Status{notification.Sent, notification.Delivered, notification.Cancelled} {
		place.Status = status
		others = &joiner{}
		joined, err = call(&digests{place: place}, others)
		require.NoError(t, err)
		require.Equal(t, activities.JoinResult{Status: status}, joined)
		require.Empty(t, others.joined)
	}

	place.Status, place.Problem = notification.Failed, "template REVIEW_POSTED/EMAIL/en: no key stars"
	_, err = call(&digests{place: place}, others)
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

func TestSealDigest(t *testing.T) {
	t.Parallel()

	sealed := notification.SealedDigest{Items: []string{"d1", "d2"}, Next: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	tests := []struct {
		name     string
		judge    bool
		hours    *notification.QuietHours
		action   notification.QuietHoursAction
		dropped  bool
		deferred bool
	}{
		{name: "not asked to judge", hours: always, action: notification.Defer},
		{name: "no quiet hours", judge: true, action: notification.Defer},
		{name: "not now", judge: true, hours: never, action: notification.Defer},
		{name: "defer", judge: true, hours: always, action: notification.Defer, deferred: true},
		{name: "drop", judge: true, hours: always, action: notification.Drop, dropped: true},
		{name: "drop, but not now", judge: true, hours: never, action: notification.Drop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := &digests{sealed: sealed, quiet: notification.QuietCheck{
				Action: tt.action, Timezone: "Europe/Rome", Preference: notification.Preference{Channel: notification.Email, QuietHours: tt.hours},
			}}
			result, err := sealDigest(db, tt.judge)

			require.NoError(t, err)
			require.Equal(t, tt.dropped, result.Quiet)
			if tt.deferred {
				require.Empty(t, db.sealedBy, "nothing is sealed that has to wait")
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

// A group that wants quiet drops its own items, not those of others: each is judged
// when the digest is sent. Where the digest waits for quiet hours, it waits for all groups.
func TestSealDigestInQuietHoursOfAGroup(t *testing.T) {
	t.Parallel()

	check := notification.QuietCheck{
		Action: notification.Drop, Preference: notification.Preference{Channel: notification.Email, QuietHours: never}, Groups: []notification.Setting{{QuietHours: always}},
	}
	db := &digests{quiet: check}
	result, err := sealDigest(db, true)
	require.NoError(t, err)
	require.Equal(t, activities.SealResult{}, result)
	require.Equal(t, "digest-1", db.sealedBy)

	db.quiet.Action = notification.Defer
	result, err = sealDigest(db, true)
	require.NoError(t, err)
	require.NotZero(t, result.NotBefore, "one message waits for all")
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
	return run[activities.SealResult](a, a.SealDigest, activities.SealInput{DigestID: "digest-1", Key: reviewMails, Window: time.Minute, JudgeQuiet: judge})
}

// eventTexts writes texts as a worker does.
func eventTexts(event notification.Event, rows []notification.Template) activities.EventTexts {
	return template.NewSet(event, rows)
}
