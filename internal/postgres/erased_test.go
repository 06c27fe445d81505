package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	gatewaystore "herald/internal/postgres/gateway"
	"herald/internal/postgres/postgrestest"
)

// Nothing is planned, sent or sent again for a person who was erased, and no gateway lets them in.
// That holds while the directory has them, and right after planning.
func TestErased(t *testing.T) {
	t.Parallel()

	s := newWith(t, planWaitedMail)
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now()")
	who := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}
	gateway := &gatewaystore.Store{Store: s}
	people := func() int {
		page := must(s.Recipients(t.Context(), event1.Type, []notification.Target{{Entity: restaurant5}}, notification.Cursor{}, 10))(t)
		return len(page.Recipients)
	}
	require.Equal(t, 1, people())
	require.Len(t, must(gateway.ActiveRecipients(t.Context(), []notification.RecipientKey{who}))(t), 1)

	require.NoError(t, s.MarkErased(t.Context(), who))

	require.Zero(t, people())
	require.Empty(t, must(gateway.ActiveRecipients(t.Context(), []notification.RecipientKey{who}))(t))
	for _, in := range []notification.Begin{{}, {SkipQuiet: true, Ordered: true, Again: true}} {
		postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', last_error = NULL")
		in.DeliveryIDs = []string{mail}
		require.Equal(t, notification.NoLongerRecipient, beginAs(t, s, in)[0].Dropped)
	}
	require.Equal(t, notification.Cancelled, reopen(t, s, anew("run", true)).Status)
	require.Equal(t, ptr("title"), delivery(t, s, mail).Title, "a retry writes no text")
	savePlan(t, s, decided("10", planned(notification.Push)))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"), "planned from older facts")
}
