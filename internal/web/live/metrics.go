package live

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Labels of the metrics.
const (
	KindLabel    = "kind"
	CauseLabel   = "cause"
	OutcomeLabel = "outcome"
)

// Causes of refused sockets.
const (
	full      = "full"
	tooMany   = "recipient"
	draining  = "draining"
	notSocket = "handshake"
)

// Outcomes of acknowledgements.
const (
	taken   = "recorded"
	ignored = "not_sent" // the socket was not sent the acknowledged notification
	dropped = "dropped"  // too many acknowledgements wait for the database
)

// Outcomes of messages from the broker.
const (
	toSockets   = "sockets"
	toEverybody = "everybody"
	toNobody    = "nobody"
	malformed   = "malformed"
)

type metrics struct {
	frames, cutOffs, catchUps, refusals, acks, messages metric.Int64Counter
}

// register creates the metrics. It sets counters with labels to 0, so that an alert sees the first
// increase.
func (m *metrics) register(meter metric.Meter, sockets func() int) error {
	var failed []error
	counter := func(name, meaning string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(meaning))
		failed = append(failed, err)
		return c
	}
	_, err := meter.Int64ObservableGauge("herald_gateway_sockets", metric.WithDescription("Sockets that are open, or being opened."),
		metric.WithInt64Callback(func(_ context.Context, observer metric.Int64Observer) error {
			observer.Observe(int64(sockets()))
			return nil
		}))
	m.frames = counter("herald_gateway_frames", "Notifications that were written to sockets, by origin.")
	m.cutOffs = counter("herald_gateway_cut_offs", "Sockets that the gateway closed.")
	m.catchUps = counter("herald_gateway_catch_ups", "Catch-ups of sockets from the table.")
	m.refusals = counter("herald_gateway_socket_refusals", "Sockets that the gateway refused to signed-in recipients.")
	m.acks = counter("herald_gateway_acknowledgements", "Acknowledgements of clients, by result.")
	m.messages = counter("herald_gateway_messages", "Messages from the broker, by the kind of socket that they reached.")
	if err := errors.Join(append(failed, err)...); err != nil {
		return err
	}
	m.zero()
	return nil
}

func (m *metrics) zero() {
	for _, k := range []kind{fresh, caughtUp, broadcast} {
		count(m.frames, 0, KindLabel, string(k))
	}
	for _, e := range []ending{expired, deactivated, slow, silent, restarting, tooLarge, violation} {
		count(m.cutOffs, 0, CauseLabel, e.cause)
	}
	for _, cause := range []string{full, tooMany, draining, notSocket} {
		count(m.refusals, 0, CauseLabel, cause)
	}
	for _, outcome := range []string{taken, ignored, dropped} {
		count(m.acks, 0, OutcomeLabel, outcome)
	}
	for _, outcome := range []string{toSockets, toEverybody, toNobody, malformed} {
		count(m.messages, 0, OutcomeLabel, outcome)
	}
	for kind := after; kind <= late; kind++ {
		m.catchUp(kind, true, 0)
		m.catchUp(kind, false, 0)
	}
}

func count(c metric.Int64Counter, n int, label, value string) {
	c.Add(context.Background(), int64(n), metric.WithAttributes(attribute.String(label, value)))
}

func (m *metrics) sent(k kind)                        { count(m.frames, 1, KindLabel, string(k)) }
func (m *metrics) cutOff(why ending)                  { count(m.cutOffs, 1, CauseLabel, why.cause) }
func (m *metrics) refused(cause string)               { count(m.refusals, 1, CauseLabel, cause) }
func (m *metrics) acknowledged(outcome string, n int) { count(m.acks, n, OutcomeLabel, outcome) }
func (m *metrics) message(outcome string)             { count(m.messages, 1, OutcomeLabel, outcome) }
func (m *metrics) caughtUp(kind asked, done bool)     { m.catchUp(kind, done, 1) }

func (m *metrics) catchUp(kind asked, done bool, n int) {
	outcome := "done"
	if !done {
		outcome = "failed" // and will be retried
	}
	m.catchUps.Add(context.Background(), int64(n),
		metric.WithAttributes(attribute.String(KindLabel, kind.String()), attribute.String(OutcomeLabel, outcome)))
}
