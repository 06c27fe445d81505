package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// suppressedOver are the reasons why an address gets nothing over a channel.
func suppressedOver(t *testing.T, s *postgres.Store, channel notification.Channel, address string) []string {
	t.Helper()
	return list(t, s, "SELECT reason FROM recipient_suppression WHERE channel = $1 AND address_hash = $2 ORDER BY reason", string(channel), hashOf(address))
}

// A receipt suppresses the address that its provider names, however it is written, also when
// the delivery was sent anew to another one; one that names none, none.
func TestReceiptSuppresses(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name             string
		message, address string
		reason           notification.SuppressionReason
		want             []string
	}{
		{name: "it bounced", message: "m", address: " Ada@Example.com", reason: notification.SuppressedBounce, want: []string{"BOUNCE"}},
		{name: "it was refused for now", message: "m", address: "ada@example.com"},
		{name: "it bounced before the retry", message: "old", address: "ada@example.com", reason: notification.SuppressedBounce, want: []string{"BOUNCE"}},
		{name: "it names no address", message: "m", reason: notification.SuppressedBounce},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := sentMail(t)
			exec(t, s, "UPDATE notification SET recipient_address = 'newer@example.com'")
			exec(t, s, insertRetry[:len(insertRetry)-len(") VALUES ")]+`, message_id_before) VALUES ($1, 'run', true, 'SENT', 'old')`, mail)
			r := bounce("r-1")
			r.MessageID, r.Suppress, r.Address = tt.message, tt.reason, tt.address

			record(t, s, r)

			require.ElementsMatch(t, tt.want, suppressedOver(t, s, notification.Email, "ada@example.com"))
			require.Len(t, tt.want, get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
		})
	}
}

// A process without a secret knows no address, and records the receipt all the same.
func TestReceiptWithoutSecret(t *testing.T) {
	t.Parallel()

	s := sentMail(t)
	s.AddressHash = nil
	record(t, s, bounce("r-1"))
	require.Equal(t, "FAILED", delivery(t, s, mail).Status)
	require.Zero(t, get[int](t, s, "SELECT count(*) FROM recipient_suppression"))
	require.ErrorIs(t, s.Suppress(t.Context(), notification.Email, "ada@example.com", notification.SuppressedBounce, ""), postgres.ErrNoSecret)
	_, err := s.Unsuppress(t.Context(), notification.Email, "ada@example.com", "")
	require.ErrorIs(t, err, postgres.ErrNoSecret)
	require.ErrorIs(t, s.RecordOptOut(t.Context(), notification.OptOut{MessageID: "SM1", Number: "+393401234567"}), postgres.ErrNoSecret)
}

// START takes back STOP, and no other reason. An answer that is repeated, as by somebody who
// has recorded the request, changes nothing.
func TestRecordOptOut(t *testing.T) {
	t.Parallel()

	const number = "+393401234567"
	s := withSecret(t)
	require.NoError(t, s.Suppress(t.Context(), notification.SMS, number, notification.SuppressedInvalid, "21614"))
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
		require.NoError(t, s.RecordOptOut(t.Context(), notification.OptOut{MessageID: answer.id, Number: number, Lifted: answer.lifted}))
		require.Equal(t, answer.want, suppressedOver(t, s, notification.SMS, number), answer.id)
	}
	require.Equal(t, []string{"START", "STOP", "STOP"}, list(t, s, "SELECT status FROM delivery_receipt WHERE delivery_id IS NULL ORDER BY status"))
}

// The first of several for one reason stands; taking back ends one reason, or all of them.
func TestSuppress(t *testing.T) {
	t.Parallel()

	s := withSecret(t)
	suppress := func(reason notification.SuppressionReason, detail string) {
		t.Helper()
		require.NoError(t, s.Suppress(t.Context(), notification.Email, "Ada@example.com", reason, detail))
	}
	suppress(notification.SuppressedBounce, "first")
	suppress(notification.SuppressedBounce, "again")
	suppress(notification.SuppressedComplaint, "")
	require.Equal(t, "first", get[string](t, s, "SELECT detail FROM recipient_suppression WHERE reason = 'BOUNCE'"))
	require.InDelta(t, 0, get[time.Duration](t, s, "SELECT now() - max(since) FROM recipient_suppression"), float64(time.Minute))

	for _, step := range []struct {
		reason        string
		removed, left []string
	}{
		{reason: "OPT_OUT", left: []string{"BOUNCE", "COMPLAINT"}},
		{reason: "BOUNCE", removed: []string{"BOUNCE"}, left: []string{"COMPLAINT"}},
		{reason: "", removed: []string{"COMPLAINT"}},
	} {
		removed, err := s.Unsuppress(t.Context(), notification.Email, " ada@example.com", notification.SuppressionReason(step.reason))
		require.NoError(t, err)
		var reasons []string
		for _, reason := range removed {
			reasons = append(reasons, string(reason))
		}
		require.ElementsMatch(t, step.removed, reasons)
		require.ElementsMatch(t, step.left, suppressedOver(t, s, notification.Email, "ada@example.com"))
	}
}
