package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Interceptors returns the interceptor of a Temporal client and its workers; none if traces are
// off. It records a span for each start and each run of a workflow or an activity.
//
// The interceptor writes headers but no commands, so histories replay with and without it.
func (t *Traces) Interceptors() ([]interceptor.ClientInterceptor, error) {
	if t.provider == nil {
		return nil, nil
	}
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer:               t.tracer,
		TextMapPropagator:    w3c,
		SpanContextKey:       spanKey{},
		DisableBaggage:       true,
		DisableSignalTracing: true,
		DisableQueryTracing:  true,
		DisableUpdateTracing: true,
		// A header from another library must not stop a workflow.
		AllowInvalidParentSpans: true,
		SpanStarter: func(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
			_, span := tracer.Start(ctx, name, options...)
			return &withoutTexts{Span: span}
		},
	})
	return []interceptor.ClientInterceptor{tracing}, err
}

// withoutTexts is a span that records the type of an error instead of its text.
type withoutTexts struct {
	trace.Span
	continued bool // the workflow continues as a new run, which Temporal reports as an error
}

// RecordError implements [trace.Span].
func (s *withoutTexts) RecordError(err error, _ ...trace.EventOption) {
	s.continued = workflow.IsContinueAsNewError(err)
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		s.SetAttributes(attribute.String("error.type", failure.Type()))
	}
}

// SetStatus implements [trace.Span].
func (s *withoutTexts) SetStatus(code codes.Code, _ string) {
	if !s.continued {
		s.Span.SetStatus(code, "")
	}
}
