package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheExampleHasNoMistakes(t *testing.T) {
	t.Parallel()

	i := newInstallation(t)
	i.event(t, "evt-1", "RESERVATION_REQUESTED", "RESTAURANT", `{"restaurantId": 5}`)
	i.event(t, "evt-2", "REVIEW_POSTED", "RESTAURANT", `{"stars": 5, "guest": "Ada", "text": "fine"}`)
	result := i.check(t, nil)

	require.Empty(t, result.Mistakes)
	require.Empty(t, result.NotChecked)
	require.Equal(t, []string{"schema", "directory", "rules", "templates", "channels", "providers"}, result.Checked)
	require.Empty(t, i.sent(t), "a check sends nothing")
}
