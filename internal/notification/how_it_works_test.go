package notification_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The diagrams of docs/how-it-works.md have exactly the statuses of the code and of the schema, and a
// way to each.
func TestHowItWorks(t *testing.T) {
	t.Parallel()

	document, err := os.ReadFile("../../docs/how-it-works.md")
	require.NoError(t, err)
	schema, err := os.ReadFile("../../migrations/schema.sql")
	require.NoError(t, err)
	diagrams := regexp.MustCompile("(?s)```mermaid\n(.*?)```").FindAllStringSubmatch(string(document), -1)
	statuses := []struct {
		constraint string
		code       []string
	}{
		{"event_outbox_status", texts(notification.OutboxPending, notification.OutboxProcessed, notification.OutboxFailed)},
		{"processed_event_status", texts(notification.Processing, notification.ProcessedSuccess, notification.ProcessedFailed)},
		{"notification_status", texts(notification.Statuses()...)},
	}
	require.Len(t, diagrams, len(statuses))
	for i, want := range statuses {
		slices.Sort(want.code)
		check := regexp.MustCompile(`CONSTRAINT ` + want.constraint + ` CHECK (.*)`).FindString(string(schema))
		require.Equal(t, want.code, names(check, `'([A-Z]+)'`), want.constraint)
		require.Equal(t, want.code, names(diagrams[i][1], `\b([A-Z]{2,})\b`), want.constraint)
		require.Equal(t, want.code, names(diagrams[i][1], `--> ([A-Z]+):`), "reached")
	}
}

func texts[T ~string](all ...T) (found []string) {
	for _, one := range all {
		found = append(found, string(one))
	}
	return found
}

// names returns the sorted matches of a pattern, each once. It ignores what follows a colon.
func names(text, pattern string) (found []string) {
	for line := range strings.Lines(text) {
		before, _, _ := strings.Cut(line, ": ")
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(before+":", -1) {
			found = append(found, match[1])
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
