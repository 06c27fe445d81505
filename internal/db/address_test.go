package db_test

import (
	"crypto/sha256"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/roomtest"
)

// linkTo returns a link that was sent to an address.
func linkTo(who notification.RecipientKey, channel notification.Channel, address string) preference.Link {
	salt := make([]byte, 32)
	digest := sha256.Sum256(append(salt, address...))
	return preference.Link{RecipientKey: who, Channel: channel, Salt: salt, Digest: digest[:16]}
}

// A gateway learns whether a person has the address of a link, and nothing else: it cannot read addresses, and
// no digest, or another salt, finds any.
func TestGatewayComparesAddresses(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserID: "7", Email: "Ada@example.com "}, postgrestest.Recipient{UserID: "8"})
	roles := newRoles(t, s)
	postgrestest.Exec(t, s, roles.Replace(string(roomtest.Must(os.ReadFile("../../docs/roles.sql"))(t))))
	of := func(role string) *db.DB {
		d, _ := heardAs(t, s, roles.Replace("herald_"+role))
		return d
	}
	gateway := of("gateway")
	has := func(l preference.Link) bool {
		_, ok, err := preference.On(gateway).Holder(t.Context(), l)
		require.NoError(t, err)
		return ok
	}
	right := linkTo(roomtest.Customer7, notification.Email, "Ada@example.com ")
	require.True(t, has(right))
	for name, change := range map[string]func(*preference.Link){
		"another spelling": func(l *preference.Link) { *l = linkTo(l.RecipientKey, l.Channel, "ada@example.com") },
		"another channel":  func(l *preference.Link) { l.Channel = notification.SMS },
		"no such channel":  func(l *preference.Link) { l.Channel = "FAX" },
		"another person":   func(l *preference.Link) { l.UserID = "8" },
		"no digest":        func(l *preference.Link) { l.Digest = nil },
		"an empty digest":  func(l *preference.Link) { l.Digest = []byte{} },
		"a short digest":   func(l *preference.Link) { l.Digest = l.Digest[:1] },
		"no salt":          func(l *preference.Link) { l.Salt = nil },
		"another salt":     func(l *preference.Link) { l.Salt = append([]byte{1}, l.Salt[1:]...) },
	} {
		wrong := right
		change(&wrong)
		require.False(t, has(wrong), name)
	}
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false")
	require.False(t, has(right))

	_, err := gateway.Pool.Exec(t.Context(), "SELECT email FROM recipient")
	require.Equal(t, noPermission, codeOf(err))
	for _, role := range []string{"worker", "producer"} {
		_, _, err := preference.On(of(role)).Holder(t.Context(), right)
		require.Error(t, err, role)
	}
	_, err = of("worker").Pool.Exec(t.Context(), "SELECT herald_has_address('CUSTOMER', '7', 'EMAIL', '', '')")
	require.Equal(t, noPermission, codeOf(err))
}

// The comparison works with an application's views, with any types, and without optional columns.
func TestCompareAddressesInAForeignDirectory(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	postgrestest.Exec(t, s, "UPDATE guest SET mail = 'ada@example.com' WHERE id = 7")
	for _, channel := range notification.Channels() {
		_, ok, err := preference.On(s).Holder(t.Context(), linkTo(roomtest.Customer7, channel, "ada@example.com"))
		require.NoError(t, err)
		require.Equal(t, channel == notification.Email, ok, channel)
	}
}
