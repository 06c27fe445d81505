package e2e_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

var (
	ingestRate = flag.Int("ingest-rate", 200, "requests a second in TestIngest")
	ingestFor  = flag.Duration("ingest-for", 3*time.Second, "the time for which TestIngest sends requests")
)

// A gateway is killed under load. Every event that it accepted with 201 is stored exactly once. Clients
// repeat requests whose answers were lost.
func TestIngest(t *testing.T) {
	t.Parallel()

	const audience = "herald-events"
	s := newSystem(t)
	s.starter("migrate", "up")
	s.fill(postgrestest.Route{EventType: "ORDER_PLACED"}, postgrestest.Template{Title: "Order", Body: "Placed"})
	token := must(jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": tokenIssuer, "aud": audience, "sub": "orders", "events": []string{"ORDER_PLACED"}, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(tokenSecret)))(t)
	first, second := s.startGateway("INGEST_AUDIENCE="+audience), s.startGateway("INGEST_AUDIENCE="+audience)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	text := strings.Repeat("x", 900) // the body has 1 KiB

	post := func(g *gateway, n int) (status int, took time.Duration) {
		body := fmt.Sprintf(`{"event_type":"ORDER_PLACED","aggregate_type":"CUSTOMER","aggregate_id":7,"payload":{"text":%q}}`, text)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+g.host()+"/api/events", strings.NewReader(body))
		if err != nil {
			return 0, 0
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
			"Idempotency-Key": fmt.Sprint(s.name, "-", n)} {
			request.Header.Set(name, value)
		}
		began := time.Now()
		answer, err := client.Do(request)
		if err != nil {
			return 0, 0
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode, time.Since(began)
	}

	for _, want := range []int{http.StatusCreated, http.StatusOK} {
		header := bearer(token)
		header["Content-Type"], header["traceparent"] = "application/json", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		status, answer := first.request(http.MethodPost, "/api/events", codeBlocks(t, "docs/ingest.md")[0].text, header)
		require.Equal(t, want, status, answer)
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM event_outbox WHERE traceparent LIKE '00-%-01'`))

	total := int(ingestFor.Seconds() * float64(*ingestRate))
	statuses, times := make([]int, total), make([]time.Duration, total)
	var sending sync.WaitGroup
	began := time.Now()
	for n := range total {
		time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(*ingestRate))))
		if n == total*3/4 {
			first.kill()
		}
		sending.Go(func() { statuses[n], times[n] = post([]*gateway{first, second}[n%2], n) })
	}
	sending.Wait()

	taken, lost := 0, 0
	for n, status := range statuses {
		if status == http.StatusCreated {
			taken++
			continue
		}
		lost++
		require.Contains(t, []int{0, http.StatusServiceUnavailable}, status)
		again, _ := post(second, n)
		require.Contains(t, []int{http.StatusCreated, http.StatusOK}, again)
	}
	require.Positive(t, taken)
	require.Positive(t, lost, "the killed gateway answered everything")
	require.Equal(t, total+1, s.count(`SELECT count(*) FROM event_outbox`))
	before := slices.Clone(times[:total*3/4])
	slices.Sort(before)
	t.Logf("%d requests at %d a second: p50 %s, p99 %s; %d lost with the gateway", total, *ingestRate, before[len(before)/2],
		before[len(before)*99/100], lost)
}
