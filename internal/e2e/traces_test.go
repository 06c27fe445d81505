package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"herald/internal/rabbitmq"
)

// spanCollector takes spans by OTLP over HTTP.
type spanCollector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*otlp.ResourceSpans
}

func newSpanCollector(t *testing.T) *spanCollector {
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil || r.URL.Path != "/v1/traces" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans = append(c.spans, request.ResourceSpans...)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// tree returns each span as its service, its name and the names of the spans above it. text is
// everything that was exported.
func (c *spanCollector) tree() (tree map[string]int, traces map[string]bool, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	type named struct{ service, name, parent string }
	spans := map[string]named{}
	traces = map[string]bool{}
	for _, resource := range c.spans {
		text += resource.String()
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				spans[string(span.SpanId)] = named{serviceOf(resource), span.Name, string(span.ParentSpanId)}
				traces[fmt.Sprintf("%x", span.TraceId)] = true
			}
		}
	}
	tree = map[string]int{}
	for _, span := range spans {
		path := span.name
		for above, ok := spans[span.parent]; ok; above, ok = spans[above.parent] {
			path = above.name + " > " + path
		}
		tree[strings.TrimPrefix(span.service, "herald-")+": "+path]++
	}
	return tree, traces, text
}

func serviceOf(resource *otlp.ResourceSpans) string {
	for _, attribute := range resource.Resource.Attributes {
		if attribute.Key == "service.name" {
			return attribute.Value.GetStringValue()
		}
	}
	return ""
}

// A producer's trace continues through poller, event, delivery, provider call, receipt and RabbitMQ.
// Events without a sampled traceparent have no spans, and no span holds a text or an address. Then a
// message bounces.
func TestTraces(t *testing.T) {
	t.Parallel()

	const trace = "0af7651916cd43dd8448eb211c80319c"
	s, gateway := newSystemWithReceipts(t, `{"delay":"10ms","twice":true,"shuffled":true}`)
	spans := newSpanCollector(t)
	setting := strings.TrimPrefix(strings.TrimSpace(codeBlocks(t, "docs/traces.md")[0].text), "export ")
	s.env = append(s.env, strings.Replace(setting, "http://127.0.0.1:4318", spans.URL, 1), "OTEL_BSP_SCHEDULE_DELAY=50")
	s.prepareLoad()
	g := s.startGateway("GATEWAY_HTTP_ADDR=" + gateway)
	w := s.startAll(loadWorker...)
	for name, traceparent := range map[string]string{
		"traced": "00-" + trace + "-b7ad6b7169203331-01", "not-sampled": "00-1" + trace[1:] + "-b7ad6b7169203331-00", "invalid": "00-traced",
		"none": "",
	} {
		s.emit(s.name+name, "LOAD", "CUSTOMER/1", `{"number":7}`, "--traceparent", traceparent)
		s.awaitSuccess(s.name + name)
		s.awaitCount(2, `SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'DELIVERED'`, s.name+name)
	}

	const event = "worker: StartWorkflow:NotifyEvent > RunWorkflow:NotifyEvent"
	const delivery = event + " > StartChildWorkflow:DeliverNotification > RunWorkflow:DeliverNotification"
	want := map[string]int{
		event: 1,
		event + " > StartActivity:PublishEvent > RunActivity:PublishEvent":     1,
		event + " > StartActivity:PlanDeliveries > RunActivity:PlanDeliveries": 1,
		delivery: 3,
		delivery + " > StartActivity:SendFirst > RunActivity:SendFirst > Provider:EMAIL": 1,
		delivery + " > StartActivity:SendFirst > RunActivity:SendFirst > Provider:PUSH":  1,
		delivery + " > StartActivity:SendFirst > RunActivity:SendFirst > Provider:SMS":   1,
		"gateway: Receipt:EMAIL": 1,
		"gateway: Receipt:SMS":   1,
	}
	s.eventually(func() bool {
		tree, _, _ := spans.tree()
		for path, count := range want {
			if tree[path] < count {
				return false
			}
		}
		return true
	}, "spans are missing")
	s.bounces(g)
	require.NoError(t, w.stop())
	g.kill()
	_, traces, text := spans.tree()
	require.Equal(t, map[string]bool{trace: true}, traces)
	require.Contains(t, text, s.name+"traced-customer1-EMAIL")
	for _, personal := range []string{"Ada", "example.com", "12015550101", "token-1", "Number 7", "Hello", s.sandbox.URL, "SG.tools"} {
		require.NotContains(t, text, personal)
	}
	require.Regexp(t, "^00-"+trace+"-[0-9a-f]{16}-01$", s.traceparents("customer")[s.name+"traced"])
	s.replays("NotifyEvent", s.name+"traced")
}

// traceparents returns the header traceparent of the messages in a queue of events, by event.
func (s *system) traceparents(audience string) map[string]any {
	conn := must(amqp.Dial(s.servers.rabbitURL))(s.t)
	defer func() { _ = conn.Close() }()
	channel := must(conn.Channel())(s.t)
	found := map[string]any{}
	for {
		message, ok, err := channel.Get(rabbitmq.EventQueue(audience), true)
		require.NoError(s.t, err)
		if !ok {
			return found
		}
		found[message.MessageId] = message.Headers["traceparent"]
	}
}
