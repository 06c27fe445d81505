// Package tracing continues the traces of producers through Herald, and exports the spans over
// OTLP. Spans hold ids, names and outcomes: no address, text, token, URL or error text.
package tracing

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
)

// flushTimeout limits the export of the remaining spans when the process ends.
const flushTimeout = 5 * time.Second

// Traces is the tracer of a process.
type Traces struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider // nil: traces are off
}

// Start returns the tracer of a process such as herald-worker. A background task exports the spans.
// If the collector does not answer, spans wait in a bounded queue. A full queue drops spans. The
// caller must call Close.
//
// The OpenTelemetry SDK reads the sampler, the queue's limits, the exporter's headers and the
// resource from its standard variables.
func Start(ctx context.Context, settings Settings, service, version string) (*Traces, error) {
	if !settings.On() {
		return &Traces{tracer: noop.NewTracerProvider().Tracer(scope)}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	reportFailures()
	options := []sdk.TracerProviderOption{sdk.WithBatcher(exporter), sdk.WithResource(describe(service, version))}
	if os.Getenv("OTEL_TRACES_SAMPLER") == "" {
		options = append(options, sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))
	}
	return With(options...), nil
}

// With returns the tracer of a provider with these options.
func With(options ...sdk.TracerProviderOption) *Traces {
	provider := sdk.NewTracerProvider(options...)
	return &Traces{tracer: provider.Tracer(scope), provider: provider}
}

// scope is the instrumentation scope of Herald's spans.
const scope = "herald"

// describe returns the resource of a process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
// override it.
func describe(service, version string) *resource.Resource {
	own := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
	merged, err := resource.Merge(own, resource.Environment())
	if err != nil {
		return own
	}
	return merged
}

// reportFailures logs failed exports, at most one a minute.
func reportFailures() {
	often := rate.Sometimes{Interval: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		often.Do(func() { slog.Warn("cannot export spans", "error", err) })
	}))
}

// Close exports the remaining spans.
func (t *Traces) Close() {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		slog.Warn("cannot export the last spans", "error", err)
	}
}
