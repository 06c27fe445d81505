package workflows

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The test environment does not show a child's priority, so these are looked at
// from within.
func TestPriorityKey(t *testing.T) {
	t.Parallel()

	require.Equal(t, 1, priorityKey(notification.High))
	require.Equal(t, 3, priorityKey(notification.Normal))
	require.Equal(t, 3, priorityKey(""))
	require.Equal(t, 5, priorityKey(notification.Low))
}

func TestFairnessKey(t *testing.T) {
	t.Parallel()

	entity := func(id string) notification.Entity { return notification.Entity{Type: "AGENCY", ID: id} }
	require.Equal(t, "AGENCY/5", fairnessKey(entity("5")))
	require.Equal(t, "AGENCY/"+strings.Repeat("x", 57), fairnessKey(entity(strings.Repeat("x", 57))))
	require.Equal(t, "AGENCY/"+strings.Repeat("x", 57), fairnessKey(entity(strings.Repeat("x", 58))))

	cut := fairnessKey(entity(strings.Repeat("é", 50)))
	require.Equal(t, "AGENCY/"+strings.Repeat("é", 28), cut) // the 29th would be half a letter
	require.True(t, utf8.ValidString(cut))
}
