package template

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// A template with few steps gets more time, because a busy machine may be the cause. It still has
// a limit.
func TestLimitedByTime(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		began  time.Duration // how long ago
		writes int
		want   error
	}{
		{name: "in time", writes: 100_000},
		{name: "late, after few steps", began: 2 * maxTime, writes: 1},
		{name: "late, after many steps", began: 2 * maxTime, writes: fewWrites + 1, want: errTooSlow},
		{name: "very late, after few steps", began: 11 * maxTime, writes: 1, want: errTooSlow},
	}
	for _, tt := range tests {
		out := &limited{ctx: t.Context(), start: time.Now().Add(-tt.began), writes: tt.writes - 1}
		_, err := out.Write([]byte("x"))
		require.ErrorIs(t, err, tt.want, tt.name)
	}
}

// A slow template is tried three times. Then it fails at once with the same error. Other
// templates still work.
func TestSetStopsTryingASlowTemplate(t *testing.T) {
	t.Parallel()

	event := notification.Event{Type: "T", Payload: []byte(`{"many": [` + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + `]}`)}
	body := strings.Repeat("{{range $.payload.many}}", 8) + strings.Repeat("{{end}}", 8)
	s := Engine{}.NewSet(event, []notification.Template{
		{EventType: "*", Channel: "*", Locale: "en", Body: body}, {EventType: "*", Channel: "SMS", Locale: "en", Body: "x"},
	})
	for range 20 {
		_, err := s.Render(t.Context(), notification.Push, notification.Recipient{})
		require.EqualError(t, err, "template */*/en: body: took longer than 100 ms")
		_, err = s.Render(t.Context(), notification.SMS, notification.Recipient{})
		require.NoError(t, err)
	}
	require.Equal(t, map[key]int{{"*", "*", "en"}: maxTimeouts}, s.timeouts)
}

func TestRenderEndsWithItsContext(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := Engine{}.NewSet(notification.Event{Type: "T", Payload: []byte("{}")},
		[]notification.Template{{EventType: "*", Channel: "*", Locale: "en", Body: "x"}})
	_, err := s.Render(ctx, notification.Push, notification.Recipient{})
	require.Error(t, err)
	require.Empty(t, s.timeouts)
}
