// Package receipts serves the gateway's webhooks for providers. They report the outcome of accepted
// messages, and people's answers to text messages. Anybody can send requests, so only requests
// signed by a provider count.
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

// Recorder stores all receipts, each once and with all its effects, or none of them. It returns
// the results in the order of receipts.
type Recorder interface {
	RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error)
}

// OptOuts stores people's STOP and START answers, each answer once.
type OptOuts interface {
	RecordOptOut(ctx context.Context, answer notification.OptOut) error
}

// Config holds the dependencies and keys of [Webhooks].
type Config struct {
	Recorder Recorder
	OptOuts  OptOuts
	Logger   *slog.Logger
	Meter    metric.Meter

	SendGridKey  *ecdsa.PublicKey // verifies SendGrid's event webhook; if nil, its requests are refused
	TwilioToken  string           // of our account; if empty, Twilio's requests are refused
	VonageSecret string           // signs Vonage's receipts; if empty, its requests are refused
	// The previous ones are also valid while operators replace them; nil and empty if there are none.
	PreviousSendGridKey  *ecdsa.PublicKey
	PreviousTwilioToken  string
	PreviousVonageSecret string

	PublicURL string // the gateway's URL, which Twilio signs; if empty, Twilio's requests are refused
}

// Webhooks answers the providers' requests.
type Webhooks struct {
	Config
	metrics     *metrics
	now         func() time.Time
	bodyTimeout time.Duration
}

// New returns webhooks with their metrics.
func New(cfg Config) (*Webhooks, error) {
	m, err := newMetrics(cfg.Meter, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &Webhooks{Config: cfg, metrics: m, now: time.Now, bodyTimeout: bodyTimeout}, nil
}

// Handler serves the paths under /webhooks/.
func (w *Webhooks) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhooks/sendgrid", &endpoint{Webhooks: w, bodyLimit: sendgridBody, admit: w.admitSendGrid, do: w.sendgrid, answer: noContent})
	mux.Handle("/webhooks/twilio", &endpoint{Webhooks: w, bodyLimit: textBody, admit: w.admitTwilio, do: w.twilio, answer: noContent})
	mux.Handle("/webhooks/twilio/inbound", &endpoint{Webhooks: w, bodyLimit: textBody, admit: w.admitTwilio, do: w.inbound, answer: noReply})
	mux.Handle("/webhooks/vonage", &endpoint{Webhooks: w, bodyLimit: textBody, admit: w.admitVonage, do: w.vonage, answer: noContent})
	mux.HandleFunc("/", noSuchPath)
	return mux
}

// record stores receipts, and then counts them.
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
