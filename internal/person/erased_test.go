package person_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/preference"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// Nothing is planned, sent or sent again for a person who was erased, and no gateway lets them in.
// That holds while the directory has them, and right after planning.
func TestErasedPersonGetsNothing(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanWaitedMail)
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now()")
	who, gateway := roomtest.Staff10, s
	people := func() int {
		page := roomtest.Must(planner.On(s).Recipients(t.Context(), roomtest.Event1.Type, []notification.Target{{Entity: roomtest.Restaurant5}},
			notification.Cursor{}, 10))(t)
		return len(page.Recipients)
	}
	require.Equal(t, 1, people())
	require.Len(t, roomtest.Must(inbox.On(gateway).ActiveRecipients(t.Context(), []notification.RecipientKey{who}))(t), 1)

	require.NoError(t, person.On(s).MarkErased(t.Context(), who))

	require.Zero(t, people())
	require.Empty(t, roomtest.Must(inbox.On(gateway).ActiveRecipients(t.Context(), []notification.RecipientKey{who}))(t))
	for _, in := range []notification.Begin{{}, {SkipQuiet: true, Ordered: true, Again: true}} {
		postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', last_error = NULL")
		in.DeliveryIDs = []string{roomtest.Mail}
		require.Equal(t, notification.NoLongerRecipient, roomtest.BeginAs(t, s, in)[0].Dropped)
	}
	require.Equal(t, notification.Cancelled, roomtest.Reopen(t, s, roomtest.Anew("run", true)).Status)
	require.Equal(t, new("title"), roomtest.Delivery(t, s, roomtest.Mail).Title, "a retry writes no text")
	roomtest.SaveOf(t, s, "evt-2", roomtest.DecidedOf("evt-2", "10", roomtest.Planned(notification.Push)),
		roomtest.DecidedOf("evt-2", "11", roomtest.Planned(notification.Push)))
	require.Equal(t, []string{"10 EMAIL", "11 PUSH"},
		postgrestest.List(t, s, "SELECT user_id || ' ' || channel FROM notification ORDER BY id"), "planned from older facts")
	require.Equal(t, []string{"11"}, postgrestest.List(t, s, "SELECT user_id FROM notification_decision WHERE event_id = 'evt-2'"))
}

// eraseStaff10 erases staff 10, as an operator does.
func eraseStaff10(t *testing.T, s *db.DB) {
	t.Helper()
	require.NoError(t, person.On(s).MarkErased(t.Context(), roomtest.Staff10))
	for page := (person.ErasedPage{Next: new(int64)}); page.Next != nil; {
		page = roomtest.Must(person.On(s).EraseDeliveries(t.Context(), roomtest.Staff10, *page.Next))(t)
	}
	for _, table := range roomtest.Must(person.On(s).CountPersonal(t.Context(), roomtest.Staff10, 1))(t) {
		if table.Table != person.DeliveryTable {
			roomtest.Must(person.On(s).ErasePerson(t.Context(), roomtest.Staff10, table.Table))(t)
		}
	}
}

// kept counts the rows about staff 10 that an erasure would erase.
func kept(t *testing.T, s *db.DB) (rows int) {
	t.Helper()
	for _, table := range roomtest.Must(person.On(s).CountPersonal(t.Context(), roomtest.Staff10, 100))(t) {
		rows += table.Rows
	}
	return rows
}

// Late writers bring back nothing about a person who was erased, and get no error: an unsubscribe
// link, a receipt, and requests that a gateway let in before the erasure.
func TestErasedStaysErased(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	gateway := s
	postgrestest.Exec(t, s,
		"INSERT INTO channel_user_type (channel_type, user_type) VALUES ('EMAIL', 'RESTAURANT_USER') ON CONFLICT DO NOTHING")
	roomtest.AddMember(t, s, roomtest.Restaurant5, roomtest.Staff10.UserType, roomtest.Staff10.UserID, "CHEF")
	postgrestest.Exec(t, s, "ALTER TABLE recipient_device DROP CONSTRAINT recipient_device_of_recipient") // as for a view recipient
	bounced := roomtest.Bounce("r-1")
	bounced.Unsubscribes = true
	late := []func() error{
		func() error {
			return roomtest.ErrOf(receipts.On(gateway).RecordReceipts(t.Context(), []notification.Receipt{bounced}))
		},
		func() error {
			return preference.On(gateway).Unsubscribe(t.Context(), roomtest.Staff10, "offers", notification.Email)
		},
		func() error {
			return preference.On(gateway).SetPreferences(t.Context(), roomtest.Staff10, notification.Preferences{Timezone: "Europe/Rome",
				Channels: []notification.ChannelPreference{{Channel: notification.Email, Enabled: new(false)}}})
		},
		func() error {
			_ = roomtest.ErrOf(inbox.On(gateway).RegisterDevice(t.Context(), roomtest.Staff10, "token"))
			return nil
		},
		func() error {
			return inbox.On(gateway).NewTicket(t.Context(), []byte("hash"), roomtest.Staff10, roomtest.Day, roomtest.Day)
		},
	}
	for _, store := range late {
		before := kept(t, s)
		require.NoError(t, store())
		require.NotEqual(t, before, kept(t, s), "about anybody else, it is stored")
	}
	eraseStaff10(t, s)
	require.Zero(t, kept(t, s))

	bounced.ID = "r-2"
	for _, store := range late {
		require.NoError(t, store())
	}

	require.Equal(t, []string{"bounce FAILED"},
		postgrestest.List(t, s, "SELECT concat_ws(' ', status, outcome, detail) FROM delivery_receipt WHERE receipt_id = 'r-2'"))
	require.Equal(t, new("bounced"), roomtest.Delivery(t, s, roomtest.Mail).Error)
	require.Equal(t, 1, kept(t, s), "a repeat would erase the provider's word")
}

// The erasure begins after transactions that may not see its mark, so their rows are deleted, too.
func TestMarkErasedWaits(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	tx := postgrestest.OpenTx(t, s, "SELECT 1")
	postgrestest.Add(t, tx, postgrestest.UserSettings{Timezone: "Europe/Rome"})
	marked := make(chan error, 1)
	go func() { marked <- person.On(s).MarkErased(t.Context(), roomtest.Staff10) }()
	require.Never(t, func() bool { return len(marked) > 0 }, 200*time.Millisecond, 20*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-marked)
	require.Equal(t, 1, roomtest.Must(person.On(s).ErasePerson(t.Context(), roomtest.Staff10, "user_settings"))(t))
}

// A worker that was away during the erasure stores no provider's words afterwards.
func TestErasedKeepsNoProvidersWords(t *testing.T) {
	t.Parallel()

	for _, end := range []func(t *testing.T, s *db.DB){
		func(t *testing.T, s *db.DB) {
			roomtest.EndAttempt(t, s, 1, notification.OutcomeRefused, "no such user")
		},
		func(t *testing.T, s *db.DB) {
			roomtest.EndAs(t, s, notification.AttemptResult{DeliveryID: roomtest.Mail, Number: 1, Outcome: notification.OutcomeRefused,
				Detail: "no such user", GiveUp: true})
			roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Mail, notification.Failed, "no such user"))(t)
		},
	} {
		s := roomtest.New(t, roomtest.PlanMail)
		roomtest.Begin(t, s, roomtest.Mail, 0)
		postgrestest.Exec(t, s, "UPDATE notification SET digest_id = 'digest-1'")
		postgrestest.Add(t, s.Pool, postgrestest.Receipt{ID: "r", DeliveryID: "digest-1", Status: "bounce", Detail: "no such user"})
		require.NoError(t, person.On(s).MarkErased(t.Context(), roomtest.Staff10))
		require.Equal(t, 1, roomtest.Must(person.On(s).EraseDeliveries(t.Context(), roomtest.Staff10, 0))(t).UnderWay)
		roomtest.RunOut(t, s)
		end(t, s)
		eraseStaff10(t, s)
		end(t, s)
		require.Zero(t, kept(t, s))
		require.Zero(t, postgrestest.Get[int](t, s, `
			SELECT (SELECT count(*) FROM notification n WHERE n::text ~ 'no such user')
			     + (SELECT count(*) FROM delivery_attempt a WHERE a::text ~ 'no such user')
			       + (SELECT count(*) FROM delivery_receipt r WHERE r::text ~ 'no such user')`))
	}
}

// A merge that was planned before the erasure of one of the two moves nothing.
func TestErasedAreNotMerged(t *testing.T) {
	t.Parallel()

	guest := notification.RecipientKey{UserType: notification.Guest, UserID: "7"}
	s := roomtest.New(t, roomtest.PlanMail)
	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: guest.UserType, UserID: guest.UserID})
	postgrestest.Add(t, s.Pool, postgrestest.Preference{Off: true}, postgrestest.Preference{UserType: notification.Guest, UserID: "7"})
	rows := func() string {
		return postgrestest.Get[string](t, s,
			"SELECT string_agg(n::text, ' ' ORDER BY n) FROM (SELECT user_type, user_id, enabled::text FROM user_notification_preferences "+
				"UNION ALL SELECT user_type, user_id, delivery_id FROM notification) n")
	}
	before := rows()
	require.NoError(t, person.On(s).MarkErased(t.Context(), roomtest.Staff10))
	for _, pair := range [][2]notification.RecipientKey{{roomtest.Staff10, guest}, {guest, roomtest.Staff10}} {
		for _, table := range roomtest.Must(person.On(s).CountMerge(t.Context(), pair[0], pair[1], 10))(t) {
			require.Zero(t, table.Rows, table.Table)
			require.Zero(t, roomtest.Must(person.On(s).MergeTable(t.Context(), pair[0], pair[1], table.Table))(t), table.Table)
		}
		require.Zero(t, roomtest.Must(person.On(s).CancelTwins(t.Context(), pair[0], pair[1]))(t))
	}
	require.Equal(t, before, rows())
}
