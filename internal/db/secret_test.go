package db_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/receipts"
	"herald/internal/roomtest"
	"herald/internal/suppression"
)

// If processes start at once with different secrets, exactly one wins.
func TestProcessesAgreeOnASecret(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, agree(t, s, "", ""), "no secret at all")
	winner := raceSecrets(t, s, "")

	require.NoError(t, agree(t, s, winner, ""), "a restart")
	requireMismatch(t, s, "another", "", db.SecretUnknown)
	requireMismatch(t, s, "another", "a third", db.SecretUnknown)
	requireMismatch(t, s, "", "", db.SecretUnset)

	next := raceSecrets(t, s, winner)
	require.NoError(t, agree(t, s, winner, ""), "a process with the former secret restarts before suppressions move")
	require.NoError(t, agree(t, s, winner, next), "a rollback")
	requireMismatch(t, s, next, "", db.PreviousMissing)
	requireMismatch(t, s, "third", next, db.SecretUnknown)
}

// raceSecrets starts six processes with different secrets, of which one wins, and returns
// the winner's secret.
func raceSecrets(t *testing.T, s *db.DB, previous string) string {
	t.Helper()
	var starting sync.WaitGroup
	var agreed atomic.Value
	var winners atomic.Int64
	for i := range 6 {
		starting.Go(func() {
			fingerprint := fmt.Sprint(previous, i)
			if agree(t, s, fingerprint, previous) == nil {
				agreed.Store(fingerprint)
				winners.Add(1)
			}
		})
	}
	starting.Wait()
	require.EqualValues(t, 1, winners.Load())
	return agreed.Load().(string)
}

func requireMismatch(t *testing.T, s *db.DB, current, previous string, want db.SecretMismatch) {
	t.Helper()
	var changed *db.SecretChangedError
	require.ErrorAs(t, agree(t, s, current, previous), &changed)
	require.Equal(t, want, changed.Mismatch, changed.Error())
}

// keyOf returns the key of a secret of these tests.
func keyOf(secret string) notification.AddressKey {
	if secret == "" {
		return notification.AddressKey{}
	}
	return notification.AddressKey{Fingerprint: secret, Hash: func(address string) []byte {
		hash := sha256.Sum256([]byte(secret + address))
		return hash[:]
	}}
}

// started returns the store of a process that has started with its secrets.
func started(t *testing.T, s *db.DB, current, previous string) *db.DB {
	t.Helper()
	process := &db.DB{Pool: s.Pool}
	process.UseSecrets(keyOf(current), keyOf(previous))
	require.NoError(t, process.AgreeOnSecret(t.Context()))
	return process
}

// agree returns the error of a process that starts with its secrets.
func agree(t *testing.T, s *db.DB, current, previous string) error {
	t.Helper()
	process := &db.DB{Pool: s.Pool}
	process.UseSecrets(keyOf(current), keyOf(previous))
	return process.AgreeOnSecret(t.Context())
}

// reasonsOf returns the suppression reasons that a process finds for a customer.
func reasonsOf(t *testing.T, process *db.DB, userID string) []notification.SuppressionReason {
	t.Helper()
	entry := roomtest.Must(planner.On(process).DirectoryEntry(t.Context(), notification.Customer, userID, nil))(t)
	return roomtest.Mapped(entry.Recipient.Suppressions, func(s notification.Suppression) notification.SuppressionReason { return s.Reason })
}

func answer(t *testing.T, process *db.DB, number string, lifted bool) {
	t.Helper()
	require.NoError(t, receipts.On(process).RecordOptOut(t.Context(),
		notification.OptOut{MessageID: fmt.Sprint(number, lifted, time.Now().UnixNano()), Number: number, Lifted: lifted}))
}

// number is the phone of a customer of these tests.
func number(userID int) string { return fmt.Sprintf("+3912345678%02d", userID) }

// rotating returns a database with 20 customers, and two processes: from before and after
// the secret "new" replaced "old".
func rotating(t *testing.T) (before, after *db.DB) {
	t.Helper()
	s := postgrestest.New(t)
	for i := range 20 {
		roomtest.AddRecipient(t, s, notification.Customer, fmt.Sprint(i))
		postgrestest.Exec(t, s, "UPDATE recipient SET phone = $1 WHERE user_id = $2", number(i), fmt.Sprint(i))
	}
	return started(t, s, "old", ""), started(t, s, "new", "old")
}

// While a secret is replaced, each process finds and lifts the opt-outs of every other
// process.
func TestSecretsOverlap(t *testing.T) {
	t.Parallel()

	before, after := rotating(t)
	answer(t, before, number(1), false)
	answer(t, after, number(2), false)
	for _, process := range []*db.DB{before, after} {
		require.Equal(t, []notification.SuppressionReason{notification.SuppressedOptOut}, reasonsOf(t, process, "1"))
		require.Equal(t, []notification.SuppressionReason{notification.SuppressedOptOut}, reasonsOf(t, process, "2"))
		require.Empty(t, reasonsOf(t, process, "3"))
	}
	answer(t, after, number(1), true)
	answer(t, after, number(2), true)
	for _, process := range []*db.DB{before, after} {
		require.Empty(t, reasonsOf(t, process, "1"))
		require.Empty(t, reasonsOf(t, process, "2"))
	}
	require.NoError(t, suppression.On(after).Suppress(t.Context(), notification.SMS, number(4), notification.SuppressedInvalid, ""))
	require.Equal(t, []notification.SuppressionReason{notification.SuppressedInvalid},
		roomtest.Must(suppression.On(after).Unsuppress(t.Context(), notification.SMS, number(4), ""))(t))
	require.Zero(t, postgrestest.Get[int](t, after, "SELECT count(*) FROM recipient_suppression"))
}

// Suppressions move by the addresses of the directory and of notifications. A dry run
// predicts the run. An unknown address keeps the previous secret, so no opt-out is
// forgotten.
func TestRekey(t *testing.T) {
	t.Parallel()

	before, after := rotating(t)
	for i := range 10 {
		answer(t, before, number(i), false)
	}
	answer(t, after, number(5), false)
	answer(t, after, number(11), false)
	answer(t, after, "+390000000001", false)  // unknown address, while both secrets are known
	answer(t, before, "+390000000002", false) // unknown address
	postgrestest.Exec(t, before, "UPDATE recipient SET phone = NULL WHERE user_id = '9'")
	postgrestest.Add(t, before.Pool,
		postgrestest.Delivery{ID: "evt-1-customer9-SMS", UserID: "9", Channel: notification.SMS, Address: number(9)})

	planned := roomtest.Must(person.On(after).Rekey(t.Context(), true, func(person.Rekeying) {}))(t)
	require.Equal(t, 9, planned.Moved, "all except number 5, which is under both secrets, and an unknown address: %+v", planned)
	require.Equal(t, 1, planned.Remaining)
	require.NoError(t, agree(t, after, "old", ""), "a dry run changes nothing")

	pages := 0
	done := roomtest.Must(person.On(after).Rekey(t.Context(), false, func(person.Rekeying) { pages++ }))(t)
	require.Equal(t, person.Rekeying{Recipients: 20, Notifications: done.Notifications, Moved: done.Moved, Remaining: 1}, done)
	require.Equal(t, 2, pages, "one of recipients, one of notifications")
	require.Equal(t, 1, done.Notifications)
	for i := range 9 {
		require.Equal(t, []notification.SuppressionReason{notification.SuppressedOptOut}, reasonsOf(t, after, fmt.Sprint(i)), i)
	}
	requireMismatch(t, after, "old", "", db.SecretSuperseded)
	requireMismatch(t, after, "new", "", db.PreviousMissing)
	requireMismatch(t, after, "third", "new", db.SecretUnknown)

	require.NoError(t, suppression.On(after).Suppress(t.Context(), notification.SMS, "+390000000003", notification.SuppressedOptOut, ""))
	roomtest.Must(suppression.On(after).Unsuppress(t.Context(), notification.SMS, "+390000000002", ""))(t)
	done = roomtest.Must(person.On(after).Rekey(t.Context(), false, func(person.Rekeying) {}))(t)
	require.True(t, done.Retired, "%+v", done)
	alone := started(t, after, "new", "")
	for i := range 9 {
		require.Equal(t, []notification.SuppressionReason{notification.SuppressedOptOut}, reasonsOf(t, alone, fmt.Sprint(i)), i)
	}
	require.Equal(t, 13, postgrestest.Get[int](t, alone, "SELECT count(*) FROM recipient_suppression"),
		"ten numbers, number 11, and two unknown addresses")
	require.Equal(t, []string{"new"}, postgrestest.List(t, alone, "SELECT DISTINCT secret FROM recipient_suppression"))
	requireMismatch(t, alone, "old", "", db.SecretUnknown)
}

// A START during a page of a rekey still lifts the opt-out.
func TestLiftDuringARekey(t *testing.T) {
	t.Parallel()

	before, after := rotating(t)
	answer(t, before, number(1), false)
	tx := postgrestest.OpenTx(t, after, "SELECT pg_advisory_xact_lock(hashtextextended('herald recipient_suppression', 0))")
	roomtest.Must(tx.Exec(t.Context(), "UPDATE recipient_suppression SET address_hash = $1, secret = 'new'", keyOf("new").Hash(number(1))))(t)
	roomtest.CommitDuring(t, before, tx, func() error {
		return receipts.On(after).RecordOptOut(t.Context(), notification.OptOut{MessageID: "SM1", Number: number(1), Lifted: true})
	})
	require.Empty(t, reasonsOf(t, after, "1"))
}
