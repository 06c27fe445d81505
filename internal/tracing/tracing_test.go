package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/tracing"
)

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "00-" + traceID + "-b7ad6b7169203331-01"
)

// recording returns a tracer, and the spans that it records.
func recording() (*tracing.Traces, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	return tracing.With(sdk.WithSyncer(spans)), spans
}

// attributes returns a span's attributes.
func attributes(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, each := range span.Attributes {
		found[string(each.Key)] = each.Value.String()
	}
	return found
}

func TestTraceparent(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, traceparent string
		valid             bool
	}{
		{name: "sampled", traceparent: parent, valid: true},
		{name: "not sampled", traceparent: "00-" + traceID + "-b7ad6b7169203331-00", valid: true},
		{name: "none"},
		{name: "no trace id", traceparent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"},
		{name: "another text", traceparent: "ada@example.com"},
		{name: "too short", traceparent: parent[:54]},
		{name: "upper case", traceparent: "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			span := trace.SpanContextFromContext(tracing.WithParent(t.Context(), tt.traceparent))

			require.Equal(t, tt.valid, span.IsValid())
			require.Equal(t, tt.valid, tracing.Valid(tt.traceparent) == tt.traceparent && tt.traceparent != "")
		})
	}
}

type provider struct{ err error }

func (p provider) Send(context.Context, notification.Message) (notification.Answer, error) {
	return notification.Answer{Provider: "sendgrid", Status: 202, ProviderID: "m1"}, p.err
}

func TestSender(t *testing.T) {
	t.Parallel()

	message := notification.Message{
		DeliveryID: "evt-1-staff10-EMAIL", EventID: "evt-1", Title: "Table for Ada", Body: "At eight", To: "ada@example.com",
	}
	tests := []struct {
		name string
		err  error
		want map[string]string
	}{
		{name: "sent", want: map[string]string{"herald.provider": "sendgrid", "herald.outcome": "SENT", "http.response.status_code": "202"}},
		{
			name: "refused", err: fmt.Errorf("ada@example.com: %w",
				&notification.ProviderError{Provider: "smtp", Class: notification.Refused, Status: 400, Code: "no such user"}),
			want: map[string]string{"herald.provider": "smtp", "herald.outcome": "REFUSED", "http.response.status_code": "400"},
		},
		{name: "other error", err: errors.New("ada@example.com"),
			want: map[string]string{"herald.provider": "sendgrid", "herald.outcome": "ERROR", "http.response.status_code": "202"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			traces, spans := recording()

			_, err := tracing.Sender{Sender: provider{tt.err}, Channel: notification.Email, Traces: traces}.Send(tracing.WithParent(t.Context(),
				parent), message)

			require.Equal(t, tt.err, err)
			require.Len(t, spans.GetSpans(), 1)
			span := spans.GetSpans()[0]
			tt.want["herald.delivery_id"], tt.want["herald.event_id"], tt.want["herald.channel"] = "evt-1-staff10-EMAIL", "evt-1", "EMAIL"
			require.Equal(t, tt.want, attributes(span))
			require.Equal(t, "Provider:EMAIL", span.Name)
			require.Equal(t, traceID, span.SpanContext.TraceID().String())
			require.Empty(t, span.Status.Description)
			require.Empty(t, span.Events)
		})
	}
}

type broker struct{ event notification.Event }

func (b *broker) PublishEvent(_ context.Context, event notification.Event, _ []string) error {
	b.event = event
	return nil
}

func TestPublisher(t *testing.T) {
	t.Parallel()

	const span = "00-" + traceID + "-00f067aa0ba902b7-01"
	for name, ctx := range map[string]context.Context{span: tracing.WithParent(t.Context(), span), parent: t.Context()} {
		var b broker
		require.NoError(t, tracing.Publisher{Publisher: &b}.PublishEvent(ctx, notification.Event{ID: "evt-1", Traceparent: parent}, nil))
		require.Equal(t, notification.Event{ID: "evt-1", Traceparent: name}, b.event)
	}
}

type receiptStore struct{ err error }

func (receiptStore) RecordReceipts(_ context.Context, receipts []notification.Receipt) ([]notification.RecordedReceipt, error) {
	return make([]notification.RecordedReceipt, len(receipts)), nil
}

func (s receiptStore) Traceparents(context.Context, []string) (map[string]string, error) {
	return map[string]string{"d1": parent, "d2": "invalid"}, s.err
}

func TestRecorder(t *testing.T) {
	t.Parallel()

	receipts := []notification.Receipt{
		{Provider: "sendgrid", DeliveryID: "d1", Status: notification.Delivered, Detail: "550 ada@example.com", Address: "ada@example.com"},
		{DeliveryID: "d2"}, {DeliveryID: "d3"},
	}
	spans := tracetest.NewInMemoryExporter()
	traces := tracing.With(sdk.WithSyncer(spans), sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))

	recorded, err := tracing.Recorder{Recorder: receiptStore{}, Traces: traces}.RecordReceipts(t.Context(), receipts)

	require.NoError(t, err)
	require.Len(t, recorded, 3)
	require.Len(t, spans.GetSpans(), 1, "the other receipts have no sampled parent")
	span := spans.GetSpans()[0]
	require.Equal(t, traceID, span.SpanContext.TraceID().String())
	require.Equal(t, map[string]string{
		"herald.delivery_id": "d1", "herald.channel": "", "herald.provider": "sendgrid", "herald.outcome": "DELIVERED",
		"herald.repeated": "false",
	}, attributes(span))
}

// Receipts are stored even if their traces cannot be read.
func TestRecorderWithoutTraces(t *testing.T) {
	t.Parallel()

	traces, spans := recording()
	recorded, err := tracing.Recorder{Recorder: receiptStore{errors.New("permission denied")}, Traces: traces}.RecordReceipts(t.Context(),
		[]notification.Receipt{{DeliveryID: "d3"}})
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	require.Empty(t, spans.GetSpans())
}

// A span of an activity that fails has the type of the error, but not its text.
func TestErrorsHaveNoText(t *testing.T) {
	t.Parallel()

	traces, spans := recording()
	interceptors, err := traces.Interceptors()
	require.NoError(t, err)
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{interceptors[0].(interceptor.WorkerInterceptor)}})
	fails := func(context.Context) error {
		return temporal.NewNonRetryableApplicationError("ada@example.com is unknown", "NoText", nil)
	}
	env.RegisterActivity(fails)

	_, err = env.ExecuteActivity(fails)

	require.Error(t, err)
	require.Len(t, spans.GetSpans(), 1)
	span := spans.GetSpans()[0]
	require.Equal(t, "NoText", attributes(span)["error.type"])
	require.Equal(t, "Error", span.Status.Code.String())
	require.NotContains(t, fmt.Sprintf("%+v", span), "example.com")
}

func TestSettings(t *testing.T) {
	t.Parallel()

	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tests := []struct {
		name   string
		values map[string]string
		on     bool
		wrong  string // a part of the error
	}{
		{name: "none"},
		{name: "collector", values: map[string]string{endpoint: "http://127.0.0.1:4318"}, on: true},
		{name: "only for traces", values: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://collector.example.com/v1/traces"},
			on: true},
		{name: "no exporter", values: map[string]string{endpoint: "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}},
		{name: "other exporter", values: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wrong: "OTEL_TRACES_EXPORTER"},
		{name: "gRPC", values: map[string]string{endpoint: "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, on: true,
			wrong: "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{name: "no URL", values: map[string]string{endpoint: "collector:4318"}, on: true, wrong: endpoint},
		{name: "clear text", values: map[string]string{endpoint: "http://collector.example.com:4318"}, on: true, wrong: "ALLOW_CLEARTEXT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var settings tracing.Settings
			r := environment.NewReader(tt.values)
			settings.Read(r)

			require.Equal(t, tt.on, settings.On())
			if tt.wrong == "" {
				require.NoError(t, r.Err())
			} else {
				require.ErrorContains(t, r.Err(), tt.wrong)
			}
		})
	}
}

// Without a collector, there is no interceptor and no span, and nothing fails.
func TestTracesOff(t *testing.T) {
	t.Parallel()

	traces, err := tracing.Start(t.Context(), tracing.Settings{}, "herald-worker", "dev")
	require.NoError(t, err)
	interceptors, err := traces.Interceptors()
	require.NoError(t, err)
	require.Empty(t, interceptors)
	_, err = tracing.Sender{Sender: provider{}, Channel: notification.Email, Traces: traces}.Send(t.Context(), notification.Message{})
	require.NoError(t, err)
	recorded, err := tracing.Recorder{Recorder: receiptStore{errors.New("not asked")}, Traces: traces}.RecordReceipts(t.Context(),
		[]notification.Receipt{{DeliveryID: "d1"}})
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	traces.Close()
}
