package console

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attention"
	"herald/internal/notification"
)

// Each finding has a sentence, a next step and a fault in words, without a word that was not filled in.
func TestFindingsInWords(t *testing.T) {
	t.Parallel()

	now := time.Now()
	for _, code := range attention.Codes() {
		for fault := range faultWords {
			for _, outcome := range append(slices.Collect(maps.Keys(outcomeWords)), notification.OutcomeSent) {
				line := inWords([]attention.Finding{{
					Code: code, Fault: fault, Source: "orders", Subject: "sendgrid", Sender: "news@example.com",
					Channel: notification.Email, Outcome: outcome, Status: 503,
					Event: notification.NoRouting, Detail: "down", People: 1, Since: now.Add(-time.Hour),
				}}, now)[0]
				for _, text := range []string{line.What, line.Do, line.Whose} {
					require.NotEmpty(t, text, code)
					require.NotRegexp(t, `\$|: \.`, text, code)
				}
				require.NotContains(t, line.Link, "$", code)
				require.Equal(t, "1 person", line.Who)
				require.Equal(t, "1 h", line.For)
			}
		}
	}
}
