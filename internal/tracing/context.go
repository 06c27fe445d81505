package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// w3c reads and writes the header traceparent.
var w3c propagation.TraceContext

// header is the name of a span's id in headers of messages and requests.
const header = "traceparent"

// spanKey is the key of the Temporal interceptor's span in a context.
type spanKey struct{}

// WithParent returns a context whose next span continues a producer's trace. With an invalid or
// empty traceparent, the next span begins a new trace, because the poller's span is not a parent of
// events.
func WithParent(ctx context.Context, traceparent string) context.Context {
	ctx = context.WithValue(ctx, spanKey{}, nil)
	return trace.ContextWithRemoteSpanContext(ctx, parse(traceparent))
}

// Valid returns a traceparent if it has W3C's form; otherwise "".
func Valid(traceparent string) string {
	if !parse(traceparent).IsValid() {
		return ""
	}
	return traceparent
}

func parse(traceparent string) trace.SpanContext {
	carrier := propagation.MapCarrier{header: traceparent}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier))
}

// current returns the traceparent of the span in ctx; "": no span.
func current(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	return carrier[header]
}
