package tracing

import (
	"herald/internal/config/environment"
)

// Settings holds the standard settings of OpenTelemetry that Herald itself reads. The SDK reads
// more.
type Settings struct {
	// the collector's URL for OTLP over HTTP; if both URLs are empty, traces are off
	Endpoint       string `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	TracesEndpoint string `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"` // the full URL, for traces only
	Exporter       string `env:"OTEL_TRACES_EXPORTER" envDefault:"otlp"`
	Protocol       string `env:"OTEL_EXPORTER_OTLP_PROTOCOL" envDefault:"http/protobuf"`
}

// On reports whether spans are exported.
func (s *Settings) On() bool {
	return s.Endpoint+s.TracesEndpoint != "" && s.Exporter == "otlp"
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	if s.Exporter != "otlp" && s.Exporter != "none" {
		r.Refuse("OTEL_TRACES_EXPORTER", "must be otlp or none")
	}
	if !s.On() {
		return
	}
	if s.Protocol != "http/protobuf" {
		r.Refuse("OTEL_EXPORTER_OTLP_PROTOCOL", "must be http/protobuf; collectors accept it on port 4318")
	}
	if s.Endpoint != "" {
		r.ServerURL("OTEL_EXPORTER_OTLP_ENDPOINT", s.Endpoint)
	}
	if s.TracesEndpoint != "" {
		r.ServerURL("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", s.TracesEndpoint)
	}
}
