package tracing

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"herald/internal/notification"
)

// These steps have no span from Temporal's interceptor.
type (
	sender interface {
		Send(ctx context.Context, message notification.Message) (notification.Answer, error)
	}
	publisher interface {
		PublishEvent(ctx context.Context, event notification.Event, audiences []string) error
	}
	recorder interface {
		RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error)
		// Traceparents returns the traceparents of deliveries whose events have one.
		Traceparents(ctx context.Context, deliveryIDs []string) (map[string]string, error)
	}
)

// Sender records a span for each call of a channel's provider.
type Sender struct {
	Sender  sender
	Channel notification.Channel
	Traces  *Traces
}

// Send sends a message.
func (s Sender) Send(ctx context.Context, message notification.Message) (notification.Answer, error) {
	ctx, span := s.Traces.tracer.Start(ctx, "Provider:"+string(s.Channel), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("herald.delivery_id", message.DeliveryID),
		attribute.String("herald.event_id", message.EventID),
		attribute.String("herald.channel", string(s.Channel)),
	))
	defer span.End()
	answer, err := s.Sender.Send(ctx, message)
	provider, status, outcome := answer.Provider, answer.Status, notification.OutcomeSent
	if err != nil {
		outcome = notification.OutcomeError
		if failure, ok := errors.AsType[*notification.ProviderError](err); ok {
			provider, status, outcome = failure.Provider, failure.Status, failure.Class.Outcome()
		}
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(attribute.String("herald.provider", provider), attribute.String("herald.outcome", string(outcome)))
	if status != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	return answer, err
}

// Publisher gives an event's message the traceparent of the activity that publishes it. Without a
// span, the message keeps the producer's traceparent.
type Publisher struct{ Publisher publisher }

// PublishEvent publishes an event's message.
func (p Publisher) PublishEvent(ctx context.Context, event notification.Event, audiences []string) error {
	if span := current(ctx); span != "" {
		event.Traceparent = span
	}
	return p.Publisher.PublishEvent(ctx, event, audiences)
}

// Recorder records a span for each receipt of a delivery whose event has a traceparent.
type Recorder struct {
	Recorder recorder
	Traces   *Traces
}

// RecordReceipts stores receipts. If it cannot read their traces, it records no spans.
func (r Recorder) RecordReceipts(ctx context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error) {
	began := time.Now()
	recorded, err := r.Recorder.RecordReceipts(ctx, receipts)
	if err != nil || r.Traces.provider == nil {
		return recorded, err
	}
	ids := make([]string, len(receipts))
	for i, receipt := range receipts {
		ids[i] = receipt.DeliveryID
	}
	parents, err := r.Recorder.Traceparents(ctx, ids)
	if err != nil {
		slog.Warn("cannot record spans of receipts", "error", err)
	}
	for i, receipt := range receipts {
		if parent := parents[receipt.DeliveryID]; parent != "" {
			r.Traces.receipt(WithParent(ctx, parent), receipt, recorded[i], began)
		}
	}
	return recorded, nil
}

func (t *Traces) receipt(ctx context.Context, receipt notification.Receipt, recorded notification.RecordedReceipt, began time.Time) {
	_, span := t.tracer.Start(ctx, "Receipt:"+string(recorded.Channel), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began),
		trace.WithAttributes(
			attribute.String("herald.delivery_id", receipt.DeliveryID),
			attribute.String("herald.channel", string(recorded.Channel)),
			attribute.String("herald.provider", receipt.Provider),
			attribute.String("herald.outcome", string(receipt.Status)),
			attribute.Bool("herald.repeated", recorded.Repeated),
		))
	span.End()
}
