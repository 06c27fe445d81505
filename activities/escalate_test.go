package activities_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// escalations is an EscalationStore with one delivery, a push message to staff 10.
type escalations struct {
	follower *notification.Delivery    // stored by an earlier call
	looks    []notification.Escalating // one for each call; the last repeats

	looked  int
	limited notification.Entity
	decided *notification.DecidedRecipient // the last decision
	all     []notification.DecidedRecipient
}

func (e *escalations) Follower(context.Context, string) (*notification.Delivery, error) {
	return e.follower, nil
}

func (e *escalations) Escalating(context.Context, notification.EscalationKey) (notification.Escalating, error) {
	now := e.looks[min(e.looked, len(e.looks)-1)]
	e.looked++
	return now, nil
}

func (e *escalations) Follow(
	ctx context.Context, key notification.EscalationKey, decide func(notification.Escalating) *notification.DecidedRecipient,
) (*notification.Delivery, error) {
	now, _ := e.Escalating(ctx, key)
	e.limited, e.decided = key.Limited, decide(now)
	if e.decided != nil {
		e.all = append(e.all, *e.decided)
	}
	if now.Followed || (e.decided != nil && len(e.decided.Deliveries) > 0) {
		return &notification.Delivery{DeliveryID: "evt-1-staff10-" + string(key.To), Channel: key.To}, nil
	}
	return nil, nil
}

func TestEscalate(t *testing.T) {
	t.Parallel()

	since := time.Now().Add(-time.Hour).UTC()
	due := notification.Escalating{Now: since.Add(10 * time.Minute), Status: notification.Sent}
	with := func(change func(*notification.Escalating)) []notification.Escalating {
		now := due
		change(&now)
		return []notification.Escalating{now}
	}
	quiet := notification.Preference{Channel: notification.SMS, Enabled: true, QuietHours: &notification.QuietHours{Start: 1, End: 0}}
	dropped := func(reason string) activities.EscalateResult {
		return activities.EscalateResult{Outcome: notification.EscalationDropped, Reason: reason}
	}
	ended := func(outcome notification.EscalationOutcome) activities.EscalateResult {
		return activities.EscalateResult{Outcome: outcome}
	}
	one := 1

	tests := []struct {
		name  string
		now   []notification.Escalating
		until notification.EscalationUntil

		unreachable bool // the value of if_unreachable

		change func(db *plans, page *notification.RecipientPage)
		want   activities.EscalateResult
		stored notification.Decision // empty: none
	}{
		{name: "not yet", now: with(func(e *notification.Escalating) { e.Now = since }), want: activities.EscalateResult{
			Until: since.Add(5 * time.Minute), Wait: notification.InstantText(since.Add(5*time.Minute)) + " to be read, then SMS",
		}},
		{name: "rescheduled", now: with(func(e *notification.Escalating) {
			e.SendAfter = since.Add(time.Hour)
		}), want: activities.EscalateResult{
			Until: since.Add(65 * time.Minute), Wait: notification.InstantText(since.Add(65*time.Minute)) + " to be read, then SMS",
		}},
		{name: "sent, not read", stored: notification.DecisionSelected},
		{name: "still failing", now: with(func(e *notification.Escalating) { e.Status = notification.Pending }),
			stored: notification.DecisionSelected},
		{name: "failed before it was due", now: with(func(e *notification.Escalating) { e.Now, e.Status = since, notification.Failed }),
			stored: notification.DecisionSelected},
		{name: "read", now: with(func(e *notification.Escalating) { e.Read = true }), want: ended(notification.EscalationRead)},
		{name: "read before it failed", now: with(func(e *notification.Escalating) { e.Read, e.Status = true, notification.Failed }),
			want: ended(notification.EscalationRead)},
		{name: "delivered, until read", now: with(func(e *notification.Escalating) { e.Status = notification.Delivered }),
			stored: notification.DecisionSelected},
		{name: "delivered, until delivered", until: notification.UntilDelivered,
			now: with(func(e *notification.Escalating) { e.Status = notification.Delivered }), want: ended(notification.EscalationDelivered)},
		{name: "cancelled", now: with(func(e *notification.Escalating) { e.Status = notification.Cancelled }),
			want: ended(notification.EscalationCancelled)},
		{name: "unreachable, with if_unreachable", unreachable: true,
			now:    with(func(e *notification.Escalating) { e.Now, e.Status, e.Unreachable = since, notification.Cancelled, true }),
			stored: notification.DecisionSelected},
		{name: "unreachable, without if_unreachable",
			now:  with(func(e *notification.Escalating) { e.Status, e.Unreachable = notification.Cancelled, true }),
			want: ended(notification.EscalationCancelled)},
		{name: "ended by an operator", now: with(func(e *notification.Escalating) { e.Ended = true }),
			want: ended(notification.EscalationCancelled)},
		{name: "event cancelled", now: with(func(e *notification.Escalating) { e.CancelledBy = "evt-2" }),
			want: ended(notification.EscalationCancelled)},
		{name: "told over that channel before", now: with(func(e *notification.Escalating) { e.Told = true }),
			want: ended(notification.EscalationToldSo)},
		{name: "followed by an earlier call", now: with(func(e *notification.Escalating) { e.Told, e.Followed, e.Read = true, true, true })},
		{name: "read during the decision", now: []notification.Escalating{due, with(func(e *notification.Escalating) { e.Read = true })[0]},
			want: ended(notification.EscalationRead)},
		{name: "switched off", change: func(_ *plans, p *notification.RecipientPage) {
			p.Recipients[0].Preferences = []notification.Preference{{Channel: notification.SMS}}
		}, want: dropped("USER_DISABLED"), stored: notification.DecisionUserDisabled},
		{name: "switched off, but mandatory", change: func(db *plans, p *notification.RecipientPage) {
			db.rules.Routing[1].Mandatory, p.Recipients[0].Preferences = true, []notification.Preference{{Channel: notification.SMS}}
		}, stored: notification.DecisionSelected},
		{name: "quiet hours drop it", change: func(_ *plans, p *notification.RecipientPage) {
			p.Recipients[0].Preferences = []notification.Preference{quiet}
		}, want: dropped("QUIET_HOURS"), stored: notification.DecisionQuietHours},
		{name: "max_recipients reached",
			now: with(func(e *notification.Escalating) { e.Selected = 1 }), change: func(_ *plans, p *notification.RecipientPage) {
				p.Settings = []notification.Setting{
					{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, Channel: notification.SMS, Enabled: true, MaxRecipients: &one},
				}
			}, want: dropped("MAX_RECIPIENTS"), stored: notification.DecisionMaxRecipients},
		{name: "no longer a recipient", change: func(_ *plans, p *notification.RecipientPage) { p.Recipients = nil },
			want: dropped(notification.NoLongerRecipient)},
		{name: "no longer routed", change: func(db *plans, _ *notification.RecipientPage) { db.rules.Routing = db.rules.Routing[:1] },
			want: dropped("SMS is no longer routed")},
		{name: "purged", change: func(db *plans, _ *notification.RecipientPage) { db.err = notification.ErrNoEvent },
			want: dropped("its event was purged")},
		{name: "cancelled meanwhile", change: func(db *plans, _ *notification.RecipientPage) { db.rules.Event.CancelledBy = "evt-2" },
			want: dropped("cancelled by event evt-2")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, store := escalatingReservation(tt.now...)
			if tt.now == nil {
				store.looks = []notification.Escalating{due}
			}
			if tt.change != nil {
				tt.change(db, &db.named)
			}
			if tt.want == (activities.EscalateResult{}) {
				tt.want = activities.EscalateResult{
					Outcome:  notification.EscalationFollowed,
					Delivery: &notification.Delivery{DeliveryID: "evt-1-staff10-SMS", Channel: notification.SMS}, Policy: policies[notification.SMS],
				}
			}

			require.Equal(t, tt.want, must(escalate(db, store, since, tt.until, tt.unreachable))(t))
			if tt.stored == "" {
				require.Nil(t, store.decided)
				return
			}
			require.Equal(t, map[notification.Channel]notification.Decision{notification.SMS: tt.stored}, store.decided.Decisions)
			require.Equal(t, tt.stored == notification.DecisionSelected, len(store.decided.Deliveries) == 1)
		})
	}
}

// escalatingReservation is a reservation that is sent by push message, and by SMS if the push
// message is not read.
func escalatingReservation(looks ...notification.Escalating) (*plans, *escalations) {
	db := reservation()
	db.rules.Routing = []notification.Routing{
		{Channel: notification.Push, Strategy: notification.Immediate},
		{Channel: notification.SMS, Strategy: notification.Immediate, OnEscalationOnly: true},
	}
	db.rules.Supported = map[notification.Channel][]notification.UserType{
		notification.Push: {notification.RestaurantUser}, notification.SMS: {notification.RestaurantUser},
	}
	ada := staff("10", "Ada")
	ada.Phone, ada.HasDevice = "+390612345678", true
	db.named = notification.RecipientPage{Recipients: []notification.Recipient{ada}}
	return db, &escalations{looks: looks}
}

func escalate(
	db *plans, store *escalations, since time.Time, until notification.EscalationUntil, ifUnreachable ...bool,
) (activities.EscalateResult, error) {
	if until == "" {
		until = notification.UntilRead
	}
	a := planning(db)
	a.Followers = store
	return run[activities.EscalateResult](a, a.Escalate, activities.EscalateInput{
		EventID: "evt-1", DeliveryID: "evt-1-staff10-PUSH", UserType: notification.RestaurantUser, UserID: "10", Since: since,
		Escalation: notification.Escalation{
			From: notification.Push, To: notification.SMS, After: 5 * time.Minute, Until: until, IfUnreachable: slices.Contains(ifUnreachable, true),
		},
	})
}

// In quiet hours nothing is planned: until they end the recipient may still read the first message.
func TestEscalateWaitsForQuietHours(t *testing.T) {
	t.Parallel()

	db, store := escalatingReservation(notification.Escalating{Now: time.Now(), Status: notification.Failed})
	db.rules.Routing[1].QuietHoursAction = notification.Defer
	now := time.Now().UTC()
	clock := now.Sub(now.Truncate(24 * time.Hour))
	db.named.Recipients[0].Preferences = []notification.Preference{{
		Channel: notification.SMS, Enabled: true,
		QuietHours: &notification.QuietHours{Start: (clock + 23*time.Hour) % (24 * time.Hour), End: (clock + time.Hour) % (24 * time.Hour)},
	}}

	got := must(escalate(db, store, time.Now(), ""))(t)

	require.Nil(t, store.decided)
	require.Nil(t, got.Delivery)
	require.Empty(t, got.Outcome)
	require.WithinRange(t, got.Until, now.Add(time.Hour), now.Add(time.Hour+time.Minute), "spread over a minute")
	require.Contains(t, got.Wait, "quiet hours; if it was not read by then, SMS follows")
}

// The delivery that follows uses the escalated text, if there is one.
func TestEscalateWritesTheEscalatedText(t *testing.T) {
	t.Parallel()

	for _, templates := range [][]notification.Template{nil, {{EventType: "RESERVATION_REQUESTED.escalated", Channel: "*", Locale: "en",
		Title: "Still open", Body: "Table for {{.payload.pax}} waits"}}} {
		db, store := escalatingReservation(notification.Escalating{Now: time.Now(), Status: notification.Failed})
		db.rules.Templates = append(templates, db.rules.Templates...)
		want := notification.PlannedDelivery{
			DeliveryID: "evt-1-staff10-SMS", Channel: notification.SMS, Address: "+390612345678", Title: "New reservation", Body: "Table for 4, Ada",
			Strategy: notification.Immediate, Priority: notification.Normal,
		}
		if templates != nil {
			want.Title, want.Body = "Still open", "Table for 4 waits"
		}

		must(escalate(db, store, time.Now(), ""))(t)

		require.Equal(t, []notification.PlannedDelivery{want}, store.decided.Deliveries)
		require.Zero(t, store.limited)
	}
}

// If the next channel cannot reach the recipient, the channel after it follows.
func TestEscalateTriesTheNextChannel(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		ifUnreachable bool
		email         string
		want          activities.EscalateResult
		decided       []notification.Decision // SMS, EMAIL
	}{
		{true, "ada@example.com", activities.EscalateResult{
			Outcome:  notification.EscalationFollowed,
			Delivery: &notification.Delivery{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email}, Policy: policies[notification.Email],
		},
			[]notification.Decision{notification.DecisionNoAddress, notification.DecisionSelected}},
		{true, "", activities.EscalateResult{Outcome: notification.EscalationDropped, Reason: "NO_ADDRESS"},
			[]notification.Decision{notification.DecisionNoAddress, notification.DecisionNoAddress}},
		{false, "ada@example.com", activities.EscalateResult{Outcome: notification.EscalationDropped, Reason: "NO_ADDRESS"},
			[]notification.Decision{notification.DecisionNoAddress}},
	} {
		db, store := escalatingReservation(notification.Escalating{Now: time.Now(), Status: notification.Failed})
		db.rules.Routing = append(db.rules.Routing,
			notification.Routing{Channel: notification.Email, Strategy: notification.Immediate, OnEscalationOnly: true})
		db.rules.Supported[notification.Email] = []notification.UserType{notification.RestaurantUser}
		db.rules.Escalations = []notification.Escalation{
			{From: notification.Push, To: notification.SMS}, {From: notification.SMS, To: notification.Email, IfUnreachable: tt.ifUnreachable},
		}
		db.named.Recipients[0].Phone, db.named.Recipients[0].Email = "", tt.email

		got, err := escalate(db, store, time.Now(), "")

		require.NoError(t, err)
		require.Equal(t, tt.want, got)
		require.Len(t, store.all, len(tt.decided))
		for i, channel := range []notification.Channel{notification.SMS, notification.Email}[:len(tt.decided)] {
			require.Equal(t, map[notification.Channel]notification.Decision{channel: tt.decided[i]}, store.all[i].Decisions)
		}
	}
}

// If the first channel cannot reach a recipient, the next channel notifies them at once, with
// the text of the escalation.
func TestPlanDeliveriesToUnreachable(t *testing.T) {
	t.Parallel()

	db, _ := escalatingReservation()
	db.rules.Escalations = []notification.Escalation{{From: notification.Push, To: notification.SMS, IfUnreachable: true}}
	db.rules.Templates = append(db.rules.Templates,
		notification.Template{EventType: "RESERVATION_REQUESTED.escalated", Channel: "SMS", Locale: "en", Title: "x", Body: "Still open"})
	db.page.Recipients = db.page.Recipients[:1]
	db.page.Recipients[0].Phone = "+390612345678"

	_, err := plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1})

	require.NoError(t, err)
	require.Equal(t, map[notification.Channel]notification.Decision{
		notification.Push: notification.DecisionNoAddress, notification.SMS: notification.DecisionSelected,
	}, db.decided[0].Decisions)
	require.Len(t, db.decided[0].Deliveries, 1)
	require.Equal(t, "Still open", db.decided[0].Deliveries[0].Body)
}

// Planning skips a channel that only an escalation uses.
func TestPlanDeliveriesLeavesOutEscalations(t *testing.T) {
	t.Parallel()

	db, _ := escalatingReservation()
	db.page.Recipients = db.page.Recipients[:1]
	db.page.Recipients[0].Phone, db.page.Recipients[0].HasDevice = "+390612345678", true

	must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)

	require.Equal(t, map[notification.Channel]notification.Decision{notification.Push: notification.DecisionSelected}, db.decided[0].Decisions)
}

// A cancelled escalation cancels the delivery that follows, if there is one.
func TestCancelFollower(t *testing.T) {
	t.Parallel()

	for _, stored := range []*notification.Delivery{nil, {DeliveryID: "evt-1-staff10-SMS", Channel: notification.SMS}} {
		db := &deliveries{}
		a := &activities.Activities{Followers: &escalations{follower: stored}, Deliveries: db, Executions: executions{}}
		_, err := run[any](a, a.CancelFollower, activities.CancelFollowerInput{DeliveryID: "evt-1-staff10-PUSH"})
		require.NoError(t, err)
		require.Equal(t, stored != nil, db.status == notification.Cancelled)
		require.Equal(t, stored != nil, db.reason == string(notification.CancelledInTemporal))
	}
}
