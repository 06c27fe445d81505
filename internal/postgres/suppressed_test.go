package postgres_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// hashed stands for the hash with a key: SQL has it as sha256.
func hashed(address string) []byte {
	hash := sha256.Sum256([]byte(address))
	return hash[:]
}

// suppressedPair is two people of restaurant 5 who share a number. Their number and the
// address of one are suppressed.
func suppressedPair(t *testing.T) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	addMember(t, s, restaurant5, notification.RestaurantUser, "10", "CHEF")
	addMember(t, s, restaurant5, notification.RestaurantUser, "11", "CHEF")
	s.AddressHash = hashed
	exec(t, s, "UPDATE recipient SET phone = '+390212345', email = user_id || '@example.com'")
	exec(t, s, `
		INSERT INTO recipient_suppression (channel, address_hash, reason, detail, since)
		VALUES ('SMS', sha256('+390212345'), 'OPT_OUT', 'STOP', '2026-06-01 13:00Z'),
		       ('SMS', sha256('+390212345'), 'INVALID', NULL, '2026-06-01 12:00Z'),
		       ('EMAIL', sha256('10@example.com'), 'BOUNCE', NULL, '2026-06-01 12:00Z'),
		       ('SMS', sha256('11@example.com'), 'BOUNCE', NULL, '2026-06-01 12:00Z')`)
	return s
}

// Everybody whose address is suppressed is read with the reasons, the oldest first,
// wherever the rules ask.
func TestSuppressionsOfRecipients(t *testing.T) {
	t.Parallel()

	s := suppressedPair(t)
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	invalid := notification.Suppression{Channel: notification.SMS, Reason: notification.SuppressedInvalid, Since: noon}
	stop := notification.Suppression{Channel: notification.SMS, Reason: notification.SuppressedOptOut, Since: noon.Add(time.Hour), Detail: "STOP"}
	bounce := notification.Suppression{Channel: notification.Email, Reason: notification.SuppressedBounce, Since: noon}
	want := map[string][]notification.Suppression{"10": {bounce, invalid, stop}, "11": {invalid, stop}}
	targets := []notification.Target{{Entity: restaurant5}}

	page, err := s.Recipients(t.Context(), "T", targets, notification.Cursor{}, 10)
	require.NoError(t, err)
	require.Len(t, page.Recipients, len(want))
	for _, r := range page.Recipients {
		requireSuppressions(t, want[r.UserID], r)
		entry, err := s.DirectoryEntry(t.Context(), r.UserType, r.UserID, nil)
		require.NoError(t, err)
		requireSuppressions(t, want[r.UserID], entry.Recipient)
	}

	s.AddressHash = nil
	page, err = s.Recipients(t.Context(), "T", targets, notification.Cursor{}, 10)
	require.NoError(t, err)
	require.Empty(t, page.Recipients[0].Suppressions, "without a secret nobody knows whose they are")
}

func requireSuppressions(t *testing.T, want []notification.Suppression, r notification.Recipient) {
	t.Helper()
	for i := range r.Suppressions {
		r.Suppressions[i].Since = r.Suppressions[i].Since.UTC()
	}
	require.ElementsMatch(t, want, r.Suppressions, r.UserID)
}

// Items of a digest whose address was suppressed since they were planned are told that,
// and nothing is sent.
func TestBeginDigestToASuppressedAddress(t *testing.T) {
	t.Parallel()

	s := sealedItems(t, 2)
	addRecipient(t, s, notification.RestaurantUser, "10")
	exec(t, s, "UPDATE recipient SET email = 'ada@example.com'")
	exec(t, s, "INSERT INTO recipient_suppression (channel, address_hash, reason) VALUES ('EMAIL', sha256('ada@example.com'), 'COMPLAINT')")
	s.AddressHash = hashed
	exec(t, s, past)

	attempt := beginDigest(t, s, "digest-1")

	require.Empty(t, attempt.begun)
	require.Equal(t, map[string]string{item(1): "SUPPRESSED", item(2): "SUPPRESSED"}, attempt.Dropped)
	require.Equal(t, "CANCELLED", delivery(t, s, item(1)).Status)
	require.Zero(t, get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
}

// A provider that refuses an address for good has it suppressed, by the address that the
// attempt was made to; a digest's as well.
func TestEndAttemptSuppresses(t *testing.T) {
	t.Parallel()

	refused := notification.AttemptResult{Outcome: notification.OutcomeRefused, ProviderStatus: 400, Detail: "twilio refused: 400 21610", Suppress: notification.SuppressedOptOut}
	const suppressed = "SELECT concat_ws(' ', channel, reason, detail) FROM recipient_suppression WHERE address_hash = sha256($1::text::bytea)"

	s := waitedMail(t)
	result := refused
	result.DeliveryID, result.Number = mail, begin(t, s, mail, 0).Number
	exec(t, s, "UPDATE recipient SET email = 'newer@example.com'")
	endAs(t, s, result)
	endAs(t, s, result)
	require.Equal(t, []string{"EMAIL OPT_OUT twilio refused: 400 21610"}, list(t, s, suppressed, "new@example.com"))
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM recipient_suppression"))

	digest := sealedItems(t, 2)
	digest.AddressHash = hashed
	addRecipient(t, digest, notification.RestaurantUser, "10")
	exec(t, digest, "UPDATE recipient SET email = 'Ada@example.com'")
	exec(t, digest, past)
	endDigest(t, digest, beginDigest(t, digest, "digest-1"), refused)
	require.Equal(t, []string{"EMAIL OPT_OUT twilio refused: 400 21610"}, list(t, digest, suppressed, "ada@example.com"))

	unkeyed := waitedMail(t)
	unkeyed.AddressHash = nil
	result.Number = begin(t, unkeyed, mail, 0).Number
	endAs(t, unkeyed, result)
	require.Equal(t, "REFUSED", get[string](t, unkeyed, "SELECT outcome FROM delivery_attempt"))
	require.Zero(t, get[int](t, unkeyed, "SELECT count(*) FROM recipient_suppression"))
}
