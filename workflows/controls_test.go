package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/workflows"
)

// controlled is a workflow with a message that an operator may send now or reschedule.
type controlled struct {
	name      string
	signalled time.Duration // time of the signal, from the start
	otherwise time.Duration // time of sending without the signal, from the start
	begin     func(env *environment) (workflow, in any, calls *sendCalls)
}

func controlledWorkflows() []controlled {
	const night = 8 * time.Hour
	sendsTo := func(env *environment) {
		env.joins(0, items(1)...)
		env.tells(workflows.DigestEnded{Status: notification.Sent}, items(1)...)
	}
	return []controlled{
		{name: "a delivery that waits", signalled: time.Hour,
			otherwise: night, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				env.row.until = env.Now().Add(night)
				return workflows.DeliverNotification, deliverInput(notification.Email), env.answersInTurn(sent)
			}},
		{name: "a delivery in quiet hours", signalled: 90 * time.Minute,
			otherwise: night, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				env.row.until = env.Now().Add(time.Hour)
				return workflows.DeliverNotification, deliverInput(notification.Email), env.answersInTurn(append(untils(env.Now(), hours(8)), sent)...)
			}},
		{name: "a delivery between attempts", signalled: 10 * time.Second,
			otherwise: 30 * time.Second, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				return workflows.DeliverNotification, deliverInput(notification.Email), env.answersInTurn(outage, sent)
			}},
		{name: "a delivery whose first attempt failed in a batch", signalled: 10 * time.Second,
			otherwise: 30 * time.Second, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				env.row.until = env.Now().Add(30 * time.Second)
				return workflows.DeliverNotification, deliverInput(notification.Email), env.answersInTurn(sent)
			}},
		{name: "a digest that collects", signalled: time.Minute,
			otherwise: window, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				sendsTo(env)
				env.sendsDigest(listed(1))
				return workflows.Digest, digestInput(), env.seals(sealed(1))
			}},
		{name: "a digest in quiet hours", signalled: time.Hour,
			otherwise: night, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				sendsTo(env)
				env.sendsDigest(listed(1))
				return workflows.Digest, digestInput(), env.seals(quietUntil(env.Now().Add(night)), sealed(1))
			}},
		{name: "a digest between attempts", signalled: window + 10*time.Second,
			otherwise: window + 30*time.Second, begin: func(env *environment) (workflow, in any, calls *sendCalls) {
				sendsTo(env)
				env.seals(sealed(1))
				return workflows.Digest, digestInput(), env.sendsDigest(digestAnswer{err: outage.err}, listed(1))
			}},
	}
}

// An operator's signals have the same effect in every workflow with a message to send. In this test
// no signal comes during an attempt; the recorded histories cover that.
func TestControls(t *testing.T) {
	t.Parallel()

	const ignored = -1
	tests := []struct {
		name     string
		signal   string
		argument func(start time.Time) any
		moves    time.Duration // new time, from the start; 0: the time of the signal
		hastens  bool          // the message ignores quiet hours
	}{
		{name: "send now", signal: workflows.SendNow, argument: func(time.Time) any { return nil }, hastens: true},
		{name: "send now, with an argument", signal: workflows.SendNow, argument: func(time.Time) any { return "tomorrow" }, hastens: true},
		{name: "reschedule", signal: workflows.Reschedule, argument: func(start time.Time) any { return start.Add(2 * time.Hour) },
			moves: 2 * time.Hour},
		{name: "reschedule to a late hour", signal: workflows.Reschedule,
			argument: func(start time.Time) any { return start.Add(20 * time.Hour) }, moves: 20 * time.Hour},
		{name: "reschedule to the past", signal: workflows.Reschedule, argument: func(start time.Time) any { return start.Add(-time.Hour) }},
		{name: "reschedule to a text", signal: workflows.Reschedule, argument: func(time.Time) any { return "tomorrow" }, moves: ignored},
		{name: "reschedule without an argument", signal: workflows.Reschedule, argument: func(time.Time) any { return nil }, moves: ignored},
		{name: "reschedule to the zero time", signal: workflows.Reschedule, argument: func(time.Time) any { return time.Time{} }, moves: ignored},
		{name: "an unknown signal", signal: "hurry", argument: func(time.Time) any { return nil }, moves: ignored},
	}
	for _, c := range controlledWorkflows() {
		for _, tt := range tests {
			t.Run(c.name+": "+tt.name, func(t *testing.T) {
				t.Parallel()

				env := newEnv(t)
				workflow, in, calls := c.begin(env)
				env.signals(c.signalled, tt.signal, tt.argument(env.Now()))

				env.ExecuteWorkflow(workflow, in)

				require.NoError(t, env.GetWorkflowError())
				want, last := tt.moves, len(calls.at)-1
				switch tt.moves {
				case ignored:
					want = c.otherwise
				case 0:
					want = c.signalled
				}
				require.Equal(t, want, calls.at[last])
				if len(calls.judged) > 0 {
					require.Equal(t, !tt.hastens, calls.judged[last])
				}
			})
		}
	}
}
