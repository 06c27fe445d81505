package secret_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config/secret"
)

// Keys must never change between releases: existing links and tickets would become invalid.
// Another program made the expected keys, by RFC 5869 with SHA-256 and no salt.
func TestKeys(t *testing.T) {
	t.Parallel()

	const one, other = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeF"
	require.Equal(t, "a0dd2274f288626c730b2291f598575b2154aa4e064bff259a95e358d83df33e", hex.EncodeToString(secret.Key(one, secret.Tickets)))
	require.Equal(t, "7b619967efd5a8c67a43dd43c81ddccbdbbffff29b3e733cc2e2304e31ab6ef3", secret.Fingerprint(one))
	require.NotEqual(t, secret.Fingerprint(one), secret.Fingerprint(other))
	require.Equal(t, "83bfedd2574b70dd502017f7bdeea940a5f8105e15eb1599f9092507225ce158",
		hex.EncodeToString(secret.Key(one, secret.Unsubscribe)))
	require.Equal(t, "00734f49e702291380e563081ea6f59e7fb31cfbfb319529214748f90b312d41",
		hex.EncodeToString(secret.AddressHash(one)("anna@example.com")))
	require.Nil(t, secret.AddressHash(""), "no address can be hashed")
	require.Empty(t, secret.Fingerprint(""))
	require.NotContains(t, secret.Fingerprint(one), hex.EncodeToString(secret.Key(one, secret.Tickets)))
}
