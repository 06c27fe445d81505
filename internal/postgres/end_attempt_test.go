package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

func TestEndAttempt(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	begin(t, s, mail, 0)
	refused := notification.AttemptResult{DeliveryID: mail, Number: 1, Outcome: notification.OutcomeAccount, ProviderStatus: 401, Detail: "sendgrid rejected our account: 401"}
	endAs(t, s, refused)
	begin(t, s, mail, 0)
	accepted := notification.AttemptResult{DeliveryID: mail, Number: 2, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", Took: 40 * time.Millisecond}
	endAs(t, s, accepted)

	require.Equal(t, row{Status: "SENT", Attempts: 2, Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL"), ProviderID: ptr("sg-1"), Sent: true}, delivery(t, s, mail))
	var outcomes [2]string
	for i := range outcomes {
		outcomes[i] = get[string](t, s, `
			SELECT concat_ws(' ', outcome, provider_status, detail, took)
			FROM   delivery_attempt
			WHERE  attempt = $1 AND ended_at >= started_at`, i+1)
	}
	require.Equal(t, [2]string{"ACCOUNT 401 sendgrid rejected our account: 401", "SENT 202 00:00:00.04"}, outcomes)
}

// The age of the event, of what is sent as soon as it can be: seven hours.
func TestEndAttemptMeasures(t *testing.T) {
	t.Parallel()

	const sent = notification.OutcomeSent
	tests := []struct {
		name     string
		sql      string // makes it a case of its own
		outcome  notification.AttemptOutcome
		measured bool
	}{
		{name: "at once", outcome: sent, measured: true},
		{name: "not sent", outcome: notification.OutcomeBusy},
		{name: "delayed", sql: "UPDATE notification SET strategy = 'DELAYED'", outcome: sent},
		{name: "deferred by quiet hours", sql: "UPDATE notification SET send_after = now()", outcome: sent},
		{name: "in a digest", sql: "UPDATE notification SET strategy = 'AGGREGATE'", outcome: sent},
		{name: "made once more", sql: "INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) SELECT delivery_id, 'r', false, 'FAILED' FROM notification", outcome: sent},
		{name: "of an event that is no longer there", sql: "DELETE FROM event_outbox", outcome: sent},
		{name: "of an event from the future", sql: "UPDATE event_outbox SET created_at = now() + interval '1 hour'", outcome: sent},
		{name: "sent before", sql: "UPDATE notification SET status = 'SENT', sent_at = now()", outcome: sent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := withMail(t)
			emitEvent(t, s, "evt-1")
			exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '7 hours'")
			begin(t, s, mail, 0)
			if tt.sql != "" {
				exec(t, s, tt.sql)
			}
			result := notification.AttemptResult{DeliveryID: mail, Number: 1, Outcome: tt.outcome, Detail: "why"}

			age := endAs(t, s, result)

			require.Equal(t, tt.measured, age.Truncate(time.Hour) == 7*time.Hour, age)
			require.Equal(t, tt.measured, age != 0, age)
			require.Zero(t, endAs(t, s, result), "it is measured once")
		})
	}
}

// A result that is written twice, the second time late, changes nothing then.
func TestEndAttemptRepeated(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	begin(t, s, mail, 0)
	endAttempt(t, s, 1, notification.OutcomeBusy, "first")
	begin(t, s, mail, 0)
	endAttempt(t, s, 2, notification.OutcomeRefused, "second")
	_, err := s.GiveUp(t.Context(), mail, notification.Failed, "given up")
	require.NoError(t, err)

	endAttempt(t, s, 1, notification.OutcomeBusy, "first, repeated")

	require.Equal(t, ptr("given up"), delivery(t, s, mail).Error)
	require.Equal(t, "first", get[string](t, s, "SELECT detail FROM delivery_attempt WHERE attempt = 1"))
}

func TestEndAttemptSwitchesDeadDevicesOff(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	addRecipient(t, s, notification.RestaurantUser, "10")
	addRecipient(t, s, notification.RestaurantUser, "11")
	exec(t, s, `
		INSERT INTO recipient_device (user_type, user_id, token)
		VALUES ('RESTAURANT_USER', '10', 'good'), ('RESTAURANT_USER', '10', 'dead'), ('RESTAURANT_USER', '11', 'dead')`)
	savePlan(t, s, decided("10", planned(notification.Push)))
	const push = "evt-1-staff10-PUSH"

	require.Equal(t, []string{"dead", "good"}, begin(t, s, push, 0).Message.Devices)
	endAs(t, s, notification.AttemptResult{DeliveryID: push, Number: 1, Outcome: notification.OutcomeAmbiguous, Detail: "fcm", DeadDevices: []string{"dead"}})

	require.Equal(t, []string{"good"}, begin(t, s, push, 0).Message.Devices)
	require.True(t, get[bool](t, s, "SELECT active FROM recipient_device WHERE user_id = '11'"), "the device is somebody else's too")
	exec(t, s, `
		INSERT INTO recipient_device (user_type, user_id, token)
		SELECT 'RESTAURANT_USER', '10', 'device-' || i FROM generate_series(1, 30) AS i`)
	require.Len(t, begin(t, s, push, 0).Message.Devices, 20)
}
