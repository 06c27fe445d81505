package receipts

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Outcomes of receipts.
const (
	outcomeDelivered    = "delivered"
	outcomeBounced      = "bounced"      // the address is invalid, and is now suppressed
	outcomeFailed       = "failed"       // failed for another reason
	outcomeComplained   = "complained"   // the recipient reported the message as spam
	outcomeUnsubscribed = "unsubscribed" // the recipient unsubscribed from such messages
	outcomeNoted        = "noted"        // the receipt changes nothing
	outcomeRepeated     = "repeated"
	outcomeUnknown      = "unknown" // not a delivery of this installation
	outcomeMalformed    = "malformed"
)

// Labels of the metrics.
const (
	channelLabel = "channel"
	outcomeLabel = "outcome"
	causeLabel   = "cause"
)

// saidInterval is the minimum time between two log lines about the same cause.
const saidInterval = time.Minute

// ageBuckets is in seconds. Most e-mails arrive within seconds; providers try for three days.
var ageBuckets = []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 72 * 3600}

type metrics struct {
	logger             *slog.Logger
	receipts, refusals metric.Int64Counter
	age                metric.Float64Histogram
	malformed          rate.Sometimes
	refused            map[string]*rate.Sometimes // by cause
}

// newMetrics creates the metrics. It sets counters to 0, so that an alert sees the first increase.
func newMetrics(cfg Config) (*metrics, error) {
	var failed [3]error
	meter := cfg.Meter
	m := &metrics{logger: cfg.Logger, malformed: rate.Sometimes{Interval: saidInterval}, refused: map[string]*rate.Sometimes{}}
	m.receipts, failed[0] = meter.Int64Counter("herald_receipts",
		metric.WithDescription("Receipts of providers for messages that they had accepted."))
	m.refusals, failed[1] = meter.Int64Counter("herald_receipts_refused",
		metric.WithDescription("Refused requests to the webhooks for providers."))
	m.age, failed[2] = meter.Float64Histogram("herald_receipt_age", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(ageBuckets...),
		metric.WithDescription("Time from the provider's acceptance of a message to its receipt."))
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	for _, cause := range []string{
		string(channel.Unsigned), string(channel.Forged), string(channel.Stale), string(channel.NoKey), tooLarge, incomplete, full, away,
	} {
		m.refused[cause] = &rate.Sometimes{Interval: saidInterval}
		m.refusals.Add(context.Background(), 0, label(causeLabel, cause))
	}
	for _, receiver := range cfg.Receivers {
		for _, outcome := range []string{
			outcomeDelivered, outcomeBounced, outcomeFailed, outcomeComplained, outcomeUnsubscribed, outcomeNoted, outcomeRepeated, outcomeUnknown,
			outcomeMalformed,
		} {
			m.count(receiver.Channel, outcome, 0)
		}
	}
	return m, nil
}

func label(name, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(name, value))
}

func (m *metrics) count(channel notification.Channel, outcome string, n int) {
	m.receipts.Add(context.Background(), int64(n), label(channelLabel, string(channel)), label(outcomeLabel, outcome))
}

// received counts a receipt after recording: stored, repeated or of an unknown delivery.
func (m *metrics) received(channel notification.Channel, r notification.Receipt, recorded notification.RecordedReceipt) {
	m.count(channel, outcomeOf(r, recorded), 1)
	if r.Status != "" && !recorded.Repeated && recorded.Age > 0 {
		m.age.Record(context.Background(), recorded.Age.Seconds(), label(channelLabel, string(channel)))
	}
}

func outcomeOf(r notification.Receipt, recorded notification.RecordedReceipt) string {
	switch {
	case recorded.Unknown:
		return outcomeUnknown
	case recorded.Repeated:
		return outcomeRepeated
	case r.Status == notification.Delivered:
		return outcomeDelivered
	case r.Status == notification.Failed && (r.Suppress == notification.SuppressedBounce || r.Suppress == notification.SuppressedInvalid):
		return outcomeBounced
	case r.Status == notification.Failed:
		return outcomeFailed
	case r.Suppress == notification.SuppressedComplaint:
		return outcomeComplained
	case r.Unsubscribes:
		return outcomeUnsubscribed
	}
	return outcomeNoted
}

// dropped counts n signed receipts that are not stored. It logs malformed receipts at most once a
// minute.
func (m *metrics) dropped(from channel.Receiver, outcome string, n int) {
	m.count(from.Channel, outcome, n)
	if outcome == outcomeMalformed && n > 0 {
		m.malformed.Do(func() {
			m.logger.Warn("a provider sent a malformed receipt; herald_receipts_total counts it", "provider", from.Provider)
		})
	}
}

// refuse counts a refused request, and logs at most one per minute and cause. err may be nil.
func (m *metrics) refuse(cause string, err error) {
	m.refusals.Add(context.Background(), 1, label(causeLabel, cause))
	m.refused[cause].Do(func() {
		attributes := []any{"cause", cause}
		if err != nil {
			attributes = append(attributes, "error", err)
		}
		m.logger.Warn("requests to /webhooks/ are refused; herald_receipts_refused_total counts them", attributes...)
	})
}
