package check

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// If the time runs out, no template is reported.
func TestNoTimeForTemplates(t *testing.T) {
	t.Parallel()

	rows := []notification.Template{{EventType: "ORDER_PAID", Channel: "EMAIL", Locale: "en", Title: "Paid", Body: "Thank you"}}
	looked := templates{rows: rows, locales: []string{"en"}, set: template.Engine{}.NewSet(notification.Event{Payload: []byte("{}")}, rows)}
	event := notification.Event{ID: "evt-1", Type: "ORDER_PAID", Payload: []byte("{}")}
	types := []recentType{{
		name:   event.Type,
		setup:  notification.EventSetup{Event: event, Routing: []notification.Routing{{Channel: notification.Email}}, Templates: rows},
		events: []notification.Event{event},
	}}
	found, err := looked.unfit(t.Context(), types)
	require.NoError(t, err)
	require.Empty(t, found)

	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	found, err = looked.unfit(ended, types)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, found)
}
