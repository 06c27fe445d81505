package suppression_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/receipts"
	"herald/internal/roomtest"
	"herald/internal/suppression"
)

// suppressedOver returns the reasons that suppress an address over a channel.
func suppressedOver(t *testing.T, s *db.DB, channel notification.Channel, address string) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT reason FROM recipient_suppression WHERE channel = $1 AND address_hash = $2 ORDER BY reason",
		string(channel), roomtest.Hashed(address))
}

// A receipt suppresses the address that its provider names, in any spelling. This holds
// even if the delivery was sent again to another address. A receipt without an address
// suppresses nothing.
func TestReceiptSuppresses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name             string
		message, address string
		reason           notification.SuppressionReason
		want             []string
	}{
		{name: "bounced", message: "m", address: " Ada@Example.com", reason: notification.SuppressedBounce, want: []string{"BOUNCE"}},
		{name: "refused for now", message: "m", address: "ada@example.com"},
		{name: "bounced before the retry", message: "old", address: "ada@example.com", reason: notification.SuppressedBounce,
			want: []string{"BOUNCE"}},
		{name: "receipt without an address", message: "m", reason: notification.SuppressedBounce},
	}
	s := roomtest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.SendMail(t, s)
			postgrestest.Exec(t, s, "UPDATE notification SET recipient_address = 'newer@example.com'")
			postgrestest.Add(t, s.Pool, postgrestest.Retry{DeliveryID: roomtest.Mail, Again: true, StatusBefore: notification.Sent, IDBefore: "old"})
			r := roomtest.Bounce("r-1")
			r.MessageID, r.Suppress, r.Address = tt.message, tt.reason, tt.address

			roomtest.Record(t, s, r)

			require.ElementsMatch(t, tt.want, suppressedOver(t, s, notification.Email, "ada@example.com"))
			require.Len(t, tt.want, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
		})
	}
}

// A process without a secret knows no address, but still records the receipt.
func TestReceiptWithoutSecret(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	s.AddressHash = nil
	roomtest.Record(t, s, roomtest.Bounce("r-1"))
	require.Equal(t, "FAILED", roomtest.Delivery(t, s, roomtest.Mail).Status)
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
	require.ErrorIs(t, suppression.On(s).Suppress(t.Context(), notification.Email, "ada@example.com", notification.SuppressedBounce, ""),
		suppression.ErrNoSecret)
	require.ErrorIs(t, roomtest.ErrOf(suppression.On(s).Unsuppress(t.Context(), notification.Email, "ada@example.com", "")),
		suppression.ErrNoSecret)
	require.ErrorIs(t, receipts.On(s).RecordOptOut(t.Context(), notification.OptOut{MessageID: "SM1", Number: "+393401234567"}),
		suppression.ErrNoSecret)
}

// START lifts STOP, and no other reason. A repeated answer, such as a replayed
// request, changes nothing.
func TestRecordOptOut(t *testing.T) {
	t.Parallel()

	const number = "+393401234567"
	s := roomtest.New(t)
	require.NoError(t, suppression.On(s).Suppress(t.Context(), notification.SMS, number, notification.SuppressedInvalid, "21614"))
	answers := []struct {
		id     string
		lifted bool
		want   []string
	}{
		{id: "SM1", want: []string{"INVALID", "OPT_OUT"}},
		{id: "SM2", lifted: true, want: []string{"INVALID"}},
		{id: "SM1", want: []string{"INVALID"}},
		{id: "SM3", want: []string{"INVALID", "OPT_OUT"}},
		{id: "SM2", lifted: true, want: []string{"INVALID", "OPT_OUT"}},
	}
	for _, answer := range answers {
		require.NoError(t,
			receipts.On(s).RecordOptOut(t.Context(), notification.OptOut{MessageID: answer.id, Number: number, Lifted: answer.lifted}))
		require.Equal(t, answer.want, suppressedOver(t, s, notification.SMS, number), answer.id)
	}
	require.Equal(t, []string{"START", "STOP", "STOP"},
		postgrestest.List(t, s, "SELECT status FROM delivery_receipt WHERE delivery_id IS NULL ORDER BY status"))
}

// The latest answer of a person counts, in whichever order the answers come.
func TestRecordLateOptOut(t *testing.T) {
	t.Parallel()

	const number = "+393401234567"
	now := time.Now()
	type answer struct {
		minutes int
		lifted  bool
	}
	for name, tt := range map[string]struct {
		answers []answer
		stopped bool
	}{
		"START after STOP":              {[]answer{{0, false}, {1, true}}, false},
		"late START":                    {[]answer{{1, false}, {0, true}}, true},
		"late START after two STOPs":    {[]answer{{0, false}, {2, false}, {1, true}}, true},
		"two STOPs, the older one late": {[]answer{{2, false}, {0, false}, {1, true}}, true},
		"START after a late START":      {[]answer{{1, false}, {0, true}, {2, true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := roomtest.New(t)
			for i, one := range tt.answers {
				require.NoError(t, receipts.On(s).RecordOptOut(t.Context(), notification.OptOut{
					Provider: "vonage", MessageID: fmt.Sprint("V",
						i), Number: number, Lifted: one.lifted, At: now.Add(time.Duration(one.minutes-5) * time.Minute),
				}))
			}
			require.Equal(t, tt.stopped, len(suppressedOver(t, s, notification.SMS, number)) > 0)
			require.Equal(t, len(tt.answers), postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_receipt WHERE provider = 'vonage'"))
		})
	}
}

// The first suppression for a reason stays. Unsuppress removes one reason, or all reasons.
func TestSuppress(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	before := postgrestest.Get[time.Time](t, s, "SELECT now()")
	suppress := func(reason notification.SuppressionReason, detail string) {
		t.Helper()
		require.NoError(t, suppression.On(s).Suppress(t.Context(), notification.Email, "Ada@example.com", reason, detail))
	}
	suppress(notification.SuppressedBounce, "first")
	suppress(notification.SuppressedBounce, "again")
	suppress(notification.SuppressedComplaint, "")
	require.Equal(t, "first", postgrestest.Get[string](t, s, "SELECT detail FROM recipient_suppression WHERE reason = 'BOUNCE'"))
	require.True(t, postgrestest.Get[bool](t, s, "SELECT min(since) >= $1 AND max(since) <= now() FROM recipient_suppression", before))

	for _, step := range []struct {
		reason        string
		removed, left []string
	}{
		{reason: "OPT_OUT", left: []string{"BOUNCE", "COMPLAINT"}},
		{reason: "BOUNCE", removed: []string{"BOUNCE"}, left: []string{"COMPLAINT"}},
		{reason: "", removed: []string{"COMPLAINT"}},
	} {
		removed := roomtest.Must(suppression.On(s).Unsuppress(t.Context(), notification.Email, " ada@example.com",
			notification.SuppressionReason(step.reason)))(t)
		var reasons []string
		for _, reason := range removed {
			reasons = append(reasons, string(reason))
		}
		require.ElementsMatch(t, step.removed, reasons)
		require.ElementsMatch(t, step.left, suppressedOver(t, s, notification.Email, "ada@example.com"))
	}
}

// suppressedPair returns a store with two people of restaurant 5 who share a number. Their
// number and the address of one are suppressed.
func suppressedPair(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "10", "CHEF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "11", "CHEF")
	s.AddressHash = roomtest.Hashed
	postgrestest.Exec(t, s, "UPDATE recipient SET phone = '+390212345', email = user_id || '@example.com'")
	postgrestest.Add(t, s.Pool,
		postgrestest.Suppression{Channel: notification.SMS, AddressHash: roomtest.Hashed("+390212345"), Reason: notification.SuppressedOptOut,
			Detail: "STOP", Since: time.Date(2026, 6, 1, 13, 0, 0, 0, time.UTC)},
		postgrestest.Suppression{Channel: notification.SMS, AddressHash: roomtest.Hashed("+390212345"), Reason: notification.SuppressedInvalid,
			Since: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)},
		postgrestest.Suppression{AddressHash: roomtest.Hashed("10@example.com"), Since: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)},
		postgrestest.Suppression{Channel: notification.SMS, AddressHash: roomtest.Hashed("11@example.com"),
			Since: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)})
	return s
}

// Every reader for the rules gets a recipient's suppressions with the reasons, oldest
// first.
func TestSuppressionsOfRecipients(t *testing.T) {
	t.Parallel()

	s := suppressedPair(t)
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	invalid := notification.Suppression{Channel: notification.SMS, Reason: notification.SuppressedInvalid, Since: noon}
	stop := notification.Suppression{Channel: notification.SMS, Reason: notification.SuppressedOptOut, Since: noon.Add(time.Hour),
		Detail: "STOP"}
	bounce := notification.Suppression{Channel: notification.Email, Reason: notification.SuppressedBounce, Since: noon}
	want := map[string][]notification.Suppression{"10": {bounce, invalid, stop}, "11": {invalid, stop}}
	targets := []notification.Target{{Entity: roomtest.Restaurant5}}

	page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", targets, notification.Cursor{}, 10))(t)
	require.Len(t, page.Recipients, len(want))
	for _, r := range page.Recipients {
		requireSuppressions(t, want[r.UserID], r)
		entry := roomtest.Must(planner.On(s).DirectoryEntry(t.Context(), r.UserType, r.UserID, nil))(t)
		requireSuppressions(t, want[r.UserID], entry.Recipient)
	}

	s.AddressHash = nil
	page = roomtest.Must(planner.On(s).Recipients(t.Context(), "T", targets, notification.Cursor{}, 10))(t)
	require.Empty(t, page.Recipients[0].Suppressions, "without a secret, suppressions match nobody")
}

func requireSuppressions(t *testing.T, want []notification.Suppression, r notification.Recipient) {
	t.Helper()
	for i := range r.Suppressions {
		r.Suppressions[i].Since = r.Suppressions[i].Since.UTC()
	}
	require.ElementsMatch(t, want, r.Suppressions, r.UserID)
}

// A provider that refuses an address for good suppresses the address of the attempt, also
// for a digest.
func TestEndAttemptSuppresses(t *testing.T) {
	t.Parallel()

	refused := notification.AttemptResult{Outcome: notification.OutcomeRefused, ProviderStatus: 400, Detail: "twilio refused: 400 21610",
		Suppress: notification.SuppressedOptOut}
	const suppressed = "SELECT concat_ws(' ', channel, reason, detail) FROM recipient_suppression WHERE address_hash = sha256($1::text::bytea)"

	s := roomtest.New(t, roomtest.PlanWaitedMail)
	result := refused
	result.DeliveryID, result.Number = roomtest.Mail, roomtest.Begin(t, s, roomtest.Mail, 0).Number
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'newer@example.com'")
	roomtest.EndAs(t, s, result)
	roomtest.EndAs(t, s, result)
	require.Equal(t, []string{"EMAIL OPT_OUT twilio refused: 400 21610"}, postgrestest.List(t, s, suppressed, "new@example.com"))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_suppression"))

	digest := roomtest.New(t, roomtest.SealItems(2))
	digest.AddressHash = roomtest.Hashed
	roomtest.AddRecipient(t, digest, notification.RestaurantUser, "10")
	postgrestest.Exec(t, digest, "UPDATE recipient SET email = 'Ada@example.com'")
	postgrestest.Exec(t, digest, roomtest.Past)
	roomtest.EndDigest(t, digest, roomtest.BeginDigest(t, digest, "digest-1"), refused)
	require.Equal(t, []string{"EMAIL OPT_OUT twilio refused: 400 21610"}, postgrestest.List(t, digest, suppressed, "ada@example.com"))

	unkeyed := roomtest.New(t, roomtest.PlanWaitedMail)
	unkeyed.AddressHash = nil
	result.Number = roomtest.Begin(t, unkeyed, roomtest.Mail, 0).Number
	roomtest.EndAs(t, unkeyed, result)
	require.Equal(t, "REFUSED", postgrestest.Get[string](t, unkeyed, "SELECT outcome FROM delivery_attempt"))
	require.Zero(t, postgrestest.Get[int](t, unkeyed, "SELECT count(*) FROM recipient_suppression"))
}
