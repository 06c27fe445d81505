// Package receipts is the gateway's room for providers: they say here what became of the
// messages that they had accepted, and what people answer to text messages. Anybody can
// reach it, so nothing counts that a provider has not signed.
package receipts

import (
	"context"
	"crypto/ecdsa"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"

	"herald/internal/notification"
)

// Recorder stores receipts, each once, with all that follows from them, or none of them. It
// returns what each came to, in their order.
type Recorder interface {
	RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error)
}

// OptOuts stores what people answer, each answer once.
type OptOuts interface {
	RecordOptOut(ctx context.Context, answer notification.OptOut) error
}

// Config holds the needs of the room.
type Config struct {
	Recorder Recorder
	OptOuts  OptOuts
	Logger   *slog.Logger
	Meter    metric.Meter

	SendGridKey *ecdsa.PublicKey // of its signed event webhook; nil: its requests are refused
	TwilioToken string           // of our account; empty: its requests are refused
	// These count too, while a key or a token is replaced; nil and empty: none.
	PreviousSendGridKey *ecdsa.PublicKey
	PreviousTwilioToken string

	PublicURL string // where Twilio reaches the gateway, which it signs; empty: its requests are refused
}

// Webhooks answers the providers' requests.
type Webhooks struct {
	Config
	metrics     *metrics
	now         func() time.Time
	bodyTimeout time.Duration
}

// New returns the room.
func New(cfg Config) (*Webhooks, error) {
	m, err := newMetrics(cfg.Meter, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &Webhooks{Config: cfg, metrics: m, now: time.Now, bodyTimeout: bodyTimeout}, nil
}

// Handler returns the paths under /webhooks/.
func (w *Webhooks) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhooks/sendgrid", &endpoint{Webhooks: w, bodyLimit: sendgridBody, admit: w.admitSendGrid, do: w.sendgrid, answer: noContent})
	mux.Handle("/webhooks/twilio", &endpoint{Webhooks: w, bodyLimit: twilioBody, admit: w.admitTwilio, do: w.twilio, answer: noContent})
	mux.Handle("/webhooks/twilio/inbound", &endpoint{Webhooks: w, bodyLimit: twilioBody, admit: w.admitTwilio, do: w.inbound, answer: noReply})
	mux.HandleFunc("/", noSuchPath)
	return mux
}

// record stores receipts, and counts them once they are stored.
func (w *Webhooks) record(ctx context.Context, receipts ...notification.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	recorded, err := w.Recorder.RecordReceipts(ctx, receipts)
	if err != nil {
		return err
	}
	for i, r := range receipts {
		w.metrics.received(r, recorded[i])
	}
	return nil
}
