package environment_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/environment"
)

// However settings are shown, no secret is.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()

	secret := environment.Secret("hunter2")
	held := settings{Key: secret}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb+"\n", held)
		fmt.Fprintf(&shown, verb+"\n", &held)
		fmt.Fprintf(&shown, verb+"\n", secret)
	}
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("settings", "all", held, "key", secret)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("settings", "all", held, "key", secret)
	require.NoError(t, json.NewEncoder(&shown).Encode(held))
	shown.WriteString(secret.String())

	require.NotContains(t, shown.String(), "hunter")
	require.NotContains(t, shown.String(), fmt.Sprintf("%x", "hunter"))
	require.Contains(t, shown.String(), "***")
	require.Equal(t, "hunter2", string(secret))
}
