package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/console"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()

	words := []string{"list", "show", "why", "cancel", "send-now", "EMAIL", "SMS"}
	for typed, want := range map[string]string{
		"shw":     `; did you mean "show"?`,  // a letter is missing
		"shoow":   `; did you mean "show"?`,  // one is too many
		"sohw":    `; did you mean "show"?`,  // two changed places
		"snow":    `; did you mean "show"?`,  // one is wrong
		"emial":   `; did you mean "EMAIL"?`, // whatever the case
		"sendnow": `; did you mean "send-now"?`,
		"dance":   "",
		"s":       "",
		"":        "",
	} {
		require.Equal(t, want, console.DidYouMean(typed, words), typed)
	}
	require.Equal(t, `; did you mean "pages" or "paged"?`, console.DidYouMean("page", []string{"pages", "paged", "pause"}))
}
