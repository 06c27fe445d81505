package push_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/push"
	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

const (
	phone   = "phone"
	browser = `{"endpoint":"https://push.example.com/1"}`
)

// provider gives each message the same answer.
type provider struct {
	asked  atomic.Int64
	answer notification.Answer
	err    error
	got    notification.Message // the last message
}

func (p *provider) Send(_ context.Context, msg notification.Message) (notification.Answer, error) {
	p.asked.Add(1)
	p.got = msg
	return p.answer, p.err
}

func failing(class notification.FailureClass) *provider {
	return &provider{err: &notification.ProviderError{Provider: "p", Class: class}}
}

func both(circuits *limit.Circuits, fcm, webpush *provider) *push.Sender {
	return push.NewSender(of(circuits, "fcm", fcm), of(circuits, "webpush", webpush))
}

func of(circuits *limit.Circuits, kind string, sender *provider) push.Provider {
	return push.Provider{
		Kind: notification.DeviceKind(kind), Counted: limit.NewFailover(circuits, &limit.Provider{Name: kind, Sender: sender}),
	}
}

func message(devices ...string) notification.Message {
	return notification.Message{Devices: devices, Provider: "fcm"}
}

// Each provider gets its devices. A push counts as sent if one device accepted it, whatever happened at
// the others.
func TestSend(t *testing.T) {
	t.Parallel()

	sent := func(id string, dead ...string) *provider {
		return &provider{answer: notification.Answer{ProviderID: id, Took: time.Second, DeadDevices: dead}}
	}
	gone := func() *provider {
		p := failing(notification.Refused)
		p.answer = notification.Answer{DeadDevices: []string{browser}, Took: time.Minute}
		return p
	}
	tests := map[string]struct {
		fcm, webpush *provider
		want         string // the provider that has or may have the message
		err          notification.FailureClass
		dead         []string
	}{
		"both":          {fcm: sent("f"), webpush: sent("w"), want: "fcm"},
		"one is gone":   {fcm: sent("f"), webpush: gone(), want: "fcm", dead: []string{browser}},
		"one is busy":   {fcm: failing(notification.Busy), webpush: sent("w", "other"), want: "webpush", dead: []string{"other"}},
		"busy and gone": {fcm: failing(notification.Busy), webpush: gone(), err: notification.Busy, dead: []string{browser}},
		"account and unclear": {fcm: failing(notification.Account), webpush: failing(notification.Ambiguous), want: "webpush",
			err: notification.Ambiguous},
		"refused and rejected": {fcm: failing(notification.Refused), webpush: failing(notification.Account), err: notification.Account},
		"a bug":                {fcm: &provider{err: errors.New("broken")}, webpush: failing(notification.Refused), err: notification.Refused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			answer, err := both(nil, tt.fcm, tt.webpush).Send(t.Context(), message(browser, phone))
			require.Equal(t, []string{phone}, tt.fcm.got.Devices)
			require.Equal(t, []string{browser}, tt.webpush.got.Devices)
			require.Equal(t, tt.want, answer.Provider)
			require.Equal(t, tt.dead, answer.DeadDevices)
			require.Equal(t, max(tt.fcm.answer.Took, tt.webpush.answer.Took), answer.Took)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.err, failure.Class)
		})
	}
}

// A message to a recipient without devices is refused. If no provider here reaches the devices, the
// message waits for the operator, as with a channel that is off.
func TestNoProvider(t *testing.T) {
	t.Parallel()

	fcm := &provider{}
	only := push.NewSender(of(nil, "fcm", fcm))
	_, err := only.Send(t.Context(), message())
	require.EqualError(t, err, "push was not asked: no working device")
	var off *notification.NotConfiguredError
	_, err = only.Send(t.Context(), message(browser))
	require.ErrorAs(t, err, &off)
	require.Zero(t, fcm.asked.Load())
	_, err = only.Send(t.Context(), message(browser, phone))
	require.NoError(t, err)
	require.Equal(t, []string{phone}, fcm.got.Devices)
}

// While one provider rests, the devices of the other provider get their messages. A message for both
// counts an attempt only if the other provider was asked.
func TestOneRests(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	require.NoError(t, limit.On(db).OpenCircuit(t.Context(), "webpush", "broken", time.Hour, time.Hour, false))
	circuits := limit.NewCircuits(limit.On(db))
	circuits.Read(t.Context())
	fcm, webpush := &provider{}, &provider{}
	sender := both(circuits, fcm, webpush)
	require.Equal(t, map[string]bool{"fcm": false, "webpush": true}, sender.OpenCircuits())

	_, err := sender.Send(t.Context(), message(phone))
	require.NoError(t, err)
	answer, err := sender.Send(t.Context(), message(browser, phone))
	require.NoError(t, err)
	require.Equal(t, "fcm", answer.Provider)
	_, err = sender.Send(t.Context(), message(browser))
	require.ErrorIs(t, err, notification.ErrBackOff)
	fcm.answer, fcm.err = notification.Answer{DeadDevices: []string{phone}}, failing(notification.Refused).err
	answer, err = sender.Send(t.Context(), message(browser, phone))
	require.EqualError(t, err, "webpush is busy: rests")
	require.Equal(t, []string{phone}, answer.DeadDevices)
	require.Zero(t, webpush.asked.Load())
}
