package operate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/wiring"
)

// An operator resumes a paused sender with a reason, which the audit has.
func TestResumeSender(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	paused := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	postgrestest.Exec(t, s, `INSERT INTO sender_state (channel, provider, sender, recipients, complaints, paused_at)
		VALUES ('EMAIL', 'sendgrid', 'news@example.com', 3000, 12, $1)`, paused)
	o := &operate.Operator{DB: s, Order: operate.Order{Actor: "ann", Command: "channel resume", Flags: "--sender news@example.com"}}
	require.ErrorContains(t, o.ResumeSender(t.Context(), "sendgrid", "news@example.com"), "not resumed without a reason")
	o.Order.Reason = "old addresses removed"
	require.ErrorContains(t, o.ResumeSender(t.Context(), "smtp", "news@example.com"),
		`no sender "news@example.com" is paused at provider "smtp"`)

	views, err := operate.ReadProviders(t.Context(), s, wiring.New())
	require.NoError(t, err)
	require.Equal(t, notification.SenderPaused, senderOf(t, views, "sendgrid").Level())
	require.NoError(t, o.ResumeSender(t.Context(), "sendgrid", "news@example.com"))
	require.Equal(t, []string{
		"ann channel resume smtp --sender news@example.com --reason old addresses removed", // written before anything changes
		"ann channel resume sendgrid --sender news@example.com --reason old addresses removed",
	}, postgrestest.List(t, s, "SELECT concat_ws(' ', actor, command, target, detail) FROM operator_action ORDER BY id"))
	states, err := limit.On(s).SenderStates(t.Context())
	require.NoError(t, err)
	require.Nil(t, states[0].PausedAt)
	require.Equal(t, "old addresses removed", states[0].ResumeReason)
	require.Error(t, o.ResumeSender(t.Context(), "sendgrid", "news@example.com"), "it is not paused any more")
}

func senderOf(t *testing.T, views []operate.ProviderView, provider string) notification.SenderState {
	t.Helper()
	for _, view := range views {
		if view.Provider == provider {
			require.Len(t, view.Senders, 1)
			return view.Senders[0]
		}
		require.Empty(t, view.Senders)
	}
	t.Fatalf("no provider %s", provider)
	return notification.SenderState{}
}
