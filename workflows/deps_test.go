package workflows_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Workflows link no clients of brokers and providers: activities use them behind interfaces. The
// second column proves that the module's name is correct. The database is behind the rooms that
// activities call.
func TestWorkflowsImportNoClients(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, from string }{
		{"github.com/pressly/goose/v3", "herald/internal/db/migrate"},
		{"github.com/rabbitmq/amqp091-go", "herald/internal/rabbitmq"},
		{"github.com/sendgrid/sendgrid-go", "herald/internal/channel/email/sendgrid"},
		{"github.com/twilio/twilio-go", "herald/internal/channel/sms/twilio"},
		{"firebase.google.com/go/v4", "herald/internal/channel/push/fcm"},
		{"herald/internal/channel/slack", "herald/internal/channel/slack"},
		{"herald/internal/channel/websocket", "herald/internal/channel/websocket"},
	}
	ours := dependencies(t, "herald/workflows")
	require.Contains(t, ours, "herald/activities")
	for _, tt := range tests {
		require.True(t, within(dependencies(t, tt.from), tt.name), tt.name)
		require.False(t, within(ours, tt.name), tt.name)
		require.False(t, within(ours, tt.from), tt.name)
	}
}

func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg)
	out, err := list.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// within reports whether one of the packages is the module, or below it.
func within(packages []string, module string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return p == module || strings.HasPrefix(p, module+"/") })
}
