// Package receipts serves the gateway's webhooks for providers. They report the outcome of accepted
// messages, and people's answers to text messages. Anybody can send requests, so only requests
// signed by a provider count.
package receipts

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Recorder stores all receipts, each once and with all its effects, or none of them. It returns
// the results in the order of receipts.
type Recorder interface {
	RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error)
}

// Config holds the dependencies of [Webhooks].
type Config struct {
	Recorder Recorder
	OptOuts  Store
	Logger   *slog.Logger
	Meter    metric.Meter

	Receivers []channel.Receiver // of all providers; see package wiring
}

// Webhooks answers the providers' requests.
type Webhooks struct {
	Config
	metrics     *metrics
	unstored    unstoredAnswers
	bodyTimeout time.Duration
}

// New returns webhooks with their metrics.
func New(cfg Config) (*Webhooks, error) {
	m, err := newMetrics(cfg)
	if err != nil {
		return nil, err
	}
	return &Webhooks{Config: cfg, metrics: m, bodyTimeout: bodyTimeout}, nil
}

// Handler serves the paths under /webhooks/.
func (w *Webhooks) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, receiver := range w.Receivers {
		mux.Handle(receiver.Path, &endpoint{Webhooks: w, Receiver: receiver})
	}
	mux.HandleFunc("/", noSuchPath)
	return mux
}

// record stores what a provider has sent, and then counts it.
func (w *Webhooks) record(ctx context.Context, from channel.Receiver, received channel.Received) error {
	w.metrics.dropped(from, outcomeMalformed, received.Malformed)
	w.metrics.dropped(from, outcomeUnknown, received.Foreign)
	for _, answer := range received.OptOuts {
		answer.Provider = from.Provider
		w.unstored.date(&answer)
		if err := w.OptOuts.RecordOptOut(ctx, answer); err != nil {
			w.unstored.keep(answer)
			return err
		}
	}
	if len(received.Receipts) == 0 {
		return nil
	}
	for i := range received.Receipts {
		received.Receipts[i].Provider = from.Provider
	}
	recorded, err := w.Recorder.RecordReceipts(ctx, received.Receipts)
	if err != nil {
		return err
	}
	for i, r := range received.Receipts {
		w.metrics.received(from.Channel, r, recorded[i])
	}
	return nil
}
