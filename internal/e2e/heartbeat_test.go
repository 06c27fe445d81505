package e2e_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/workflows"
)

// Temporal answers no heartbeat while a batch's only group is with the provider, so every heartbeat
// call times out. The batch still finds the deliveries that failed temporarily, and its workflow
// sends them without the help of the sweep.
func TestBatchWithoutHeartbeatAnswers(t *testing.T) {
	t.Parallel()

	const customers = 60
	s := newSystem(t, inBatches, "EMAIL_MAX_ATTEMPTS=100", "EMAIL_RETRY_COEFFICIENT=1")
	s.prepareNews(customers, "EMAIL")
	s.fault("EMAIL", `{"status":503,"rate":0.3,"latency":"6s"}`)
	silent := silenceHeartbeats(t, s.servers.temporalAddress)
	s.with("TEMPORAL_ADDRESS=" + silent.address).startWorker(mailWorker...)
	event := s.emitNews()

	s.awaitCount(customers, `SELECT count(*) FROM notification WHERE attempt_count > 0 AND attempt_owner IS NULL`)
	s.mend()
	var batch workflows.BatchResult
	s.awaitBegun(workflows.BatchID(event, notification.Email, 1))
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), workflows.BatchID(event, notification.Email, 1), "").Get(t.Context(), &batch))
	require.Positive(t, silent.heartbeats.Load())
	require.Positive(t, batch.Pages, "of deliveries that failed temporarily")
	s.awaitDeliveries(event, "SENT", customers)
	s.awaitSuccess(event)
	s.sentOnce(customers)
}

// silencer is a proxy of Temporal that never answers a heartbeat.
type silencer struct {
	address    string
	heartbeats atomic.Int64 // without an answer
}

func silenceHeartbeats(t *testing.T, temporal string) *silencer {
	t.Helper()
	var clear http.Protocols // HTTP/2 without TLS, as gRPC in clear text uses it
	clear.SetUnencryptedHTTP2(true)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: temporal})
	proxy.Transport, proxy.FlushInterval = &http.Transport{Protocols: &clear}, -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	s := &silencer{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/RecordActivityTaskHeartbeat") {
			s.heartbeats.Add(1)
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.Protocols = &clear
	server.Start()
	t.Cleanup(server.CloseClientConnections)
	s.address = strings.TrimPrefix(server.URL, "http://")
	return s
}
