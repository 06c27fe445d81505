package sandbox_test

import (
	"context"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

func (b box) setFault(t *testing.T, channel notification.Channel, fault string) {
	t.Helper()
	body := b.expect(t, http.StatusOK, call{method: http.MethodPut, path: "/faults/" + string(channel), body: fault})
	require.JSONEq(t, fault, body)
}

func TestFaultStatus(t *testing.T) {
	t.Parallel()
	wants := map[notification.Channel]string{ // part of the body
		notification.Email: `{"errors":[{"message":"Service Unavailable"`,
		notification.SMS:   `"code":20503`,
		notification.Push:  `"status":"UNAVAILABLE"`,
		notification.Slack: `Service Unavailable`, notification.Webhook: `Service Unavailable`,
	}
	for channel, tt := range accepted() {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setFault(t, channel, `{"status":503,"retry_after":"1.5s"}`)
			status, header, body := b.answer(t, tt.call)
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Equal(t, "2", header.Get("Retry-After"))
			require.Contains(t, body, wants[channel])

			want := tt.entry
			want.Status, want.Accepted = status, false
			require.Equal(t, want, b.only(t))
		})
	}
}

// Every status of a fault reaches the client.
func TestFaultEveryStatus(t *testing.T) {
	t.Parallel()
	for channel, tt := range accepted() {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			for fault := (sandbox.Fault{Status: 300}); fault.Status < 600; fault.Status++ {
				b.setFault(t, channel, fault.String())
				status, _, _ := b.answer(t, tt.call)
				require.Equal(t, fault.Status, status)
			}
			entries := b.all(t)
			require.Len(t, entries, 300)
			for _, entry := range entries {
				require.False(t, entry.Accepted)
			}
		})
	}
}

func TestFaultDrop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault    string
		good     bool // the request is valid
		accepted bool
	}{
		{fault: `{"drop":"before"}`, good: true},
		{fault: `{"drop":"after"}`, good: true, accepted: true},
		{fault: `{"status":503,"drop":"after"}`, good: true, accepted: true},
		{fault: `{"drop":"after"}`},
	}
	for channel, sent := range accepted() {
		for _, tt := range tests {
			t.Run(string(channel)+" "+tt.fault, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				b.setFault(t, channel, tt.fault)
				request := sent.call
				if !tt.good {
					request.body = ""
				}
				response, err := b.do(t, request)
				if err == nil {
					_ = response.Body.Close()
				}
				require.Error(t, err)
				entry := b.only(t)
				require.Zero(t, entry.Status)
				require.Equal(t, tt.accepted, entry.Accepted)
				if tt.good {
					require.Equal(t, sent.entry.DeliveryID, entry.DeliveryID)
				}
			})
		}
	}
}

func TestFaultLost(t *testing.T) {
	t.Parallel()

	for channel, sent := range accepted() {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setFault(t, channel, `{"lost":true}`)
			response, err := b.do(t, sent.call)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			entry := b.only(t)
			require.Equal(t, sent.entry.Status, response.StatusCode)
			require.Equal(t, sent.entry.DeliveryID, entry.DeliveryID)
			require.False(t, entry.Accepted)
		})
	}
}

func TestFaultLatency(t *testing.T) {
	t.Parallel()

	for fault, want := range map[string]int{
		`{"latency":"1ms"}`: http.StatusOK, `{"status":500,"latency":"1ms"}`: http.StatusInternalServerError,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setFault(t, notification.Slack, fault)
			b.expect(t, want, slackCall(slackPath, goodPost))
			require.Equal(t, want == http.StatusOK, b.only(t).Accepted)
		})
	}

	t.Run("outlasts the client", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		b.setFault(t, notification.Slack, `{"latency":"5m0s"}`)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		written, answered := b.begin(ctx, t, slackCall(slackPath, goodPost))
		<-written
		leave()
		require.ErrorIs(t, <-answered, context.Canceled)

		require.Eventually(t, func() bool { return len(b.all(t)) == 1 }, time.Minute, 5*time.Millisecond)
		entry := b.only(t)
		require.Equal(t, "evt-1-staff10-SLACK", entry.DeliveryID)
		require.Zero(t, entry.Status)
		require.False(t, entry.Accepted)
	})
}

func TestFaultRate(t *testing.T) {
	t.Parallel()
	const calls = 100
	tests := []struct {
		fault       string
		some, other bool // some requests get the fault; others do not
	}{
		{fault: `{"status":500,"rate":0}`, other: true},
		{fault: `{"status":500,"rate":0.5}`, some: true, other: true}, // fails by chance once in 2^99 runs
		{fault: `{"status":500,"rate":1}`, some: true},
		{fault: `{"status":500}`, some: true},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setFault(t, notification.Slack, tt.fault)
			seen := map[int]int{}
			for range calls {
				status, _, _ := b.answer(t, slackCall(slackPath, goodPost))
				seen[status]++
			}
			require.Equal(t, tt.some, seen[500] > 0)
			require.Equal(t, tt.other, seen[200] > 0)
			require.Equal(t, calls, seen[200]+seen[500])
		})
	}
}

func TestFaultRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, body string
		status           int
		complaint        string // part of the error
	}{
		{name: "empty", path: "EMAIL", status: 400, complaint: "not a fault"},
		{name: "no JSON", path: "EMAIL", body: `{`, status: 400, complaint: "not a fault"},
		{name: "two faults", path: "EMAIL", body: `{"status":500}{"status":500}`, status: 400, complaint: "follows"},
		{name: "unknown field", path: "EMAIL", body: `{"statsu":500}`, status: 400, complaint: "statsu"},
		{name: "empty object", path: "EMAIL", body: `{}`, status: 400, complaint: "does nothing"},
		{name: "only a rate", path: "EMAIL", body: `{"rate":0.5}`, status: 400, complaint: "does nothing"},
		{name: "status of a success", path: "EMAIL", body: `{"status":200}`, status: 400, complaint: "status"},
		{name: "status too large", path: "EMAIL", body: `{"status":600}`, status: 400, complaint: "status"},
		{name: "status is text", path: "EMAIL", body: `{"status":"503"}`, status: 400, complaint: "status"},
		{name: "rate below 0", path: "EMAIL", body: `{"status":500,"rate":-0.1}`, status: 400, complaint: "rate"},
		{name: "rate above 1", path: "EMAIL", body: `{"status":500,"rate":1.1}`, status: 400, complaint: "rate"},
		{name: "latency without unit", path: "EMAIL", body: `{"latency":"1"}`, status: 400, complaint: "unit"},
		{name: "latency is a number", path: "EMAIL", body: `{"latency":1}`, status: 400, complaint: "latency"},
		{name: "latency below 0", path: "EMAIL", body: `{"latency":"-1s"}`, status: 400, complaint: "latency"},
		{name: "latency too long", path: "EMAIL", body: `{"latency":"6m"}`, status: 400, complaint: "latency"},
		{name: "retry_after below 0", path: "EMAIL", body: `{"status":503,"retry_after":"-1s"}`, status: 400, complaint: "retry_after"},
		{name: "retry_after too long", path: "EMAIL", body: `{"status":503,"retry_after":"25h"}`, status: 400, complaint: "retry_after"},
		{name: "retry_after without status", path: "EMAIL", body: `{"retry_after":"1s","drop":"after"}`, status: 400, complaint: "retry_after"},
		{name: "lost with status", path: "EMAIL", body: `{"status":503,"lost":true}`, status: 400, complaint: "lost"},
		{name: "unknown drop", path: "EMAIL", body: `{"drop":"during"}`, status: 400, complaint: "drop"},
		{name: "too large", path: "EMAIL", body: `{"drop":"` + strings.Repeat("a", 64<<10) + `"}`, status: 400, complaint: "too large"},
		{name: "a channel without a provider", path: "WEBSOCKET", body: `{"status":500}`, status: 404, complaint: "EMAIL"},
		{name: "unknown channel", path: "FAX", body: `{"status":500}`, status: 404, complaint: "EMAIL"},
	}
	b := start(t)
	for _, tt := range tests {
		body := b.expect(t, tt.status, call{method: http.MethodPut, path: "/faults/" + tt.path, body: tt.body})
		require.Contains(t, body, tt.complaint, tt.name)
		require.Contains(t, body, `{"error":`, tt.name)
	}
	b.expect(t, http.StatusNotFound, call{method: http.MethodDelete, path: "/faults/FAX"})
	body := b.get(t, "/faults")
	require.JSONEq(t, `{}`, body)
}

func TestFaultsListedAndCleared(t *testing.T) {
	t.Parallel()
	b := start(t)
	list := func() string {
		body := b.get(t, "/faults")
		return body
	}
	remove := func(path string) {
		b.expect(t, http.StatusNoContent, call{method: http.MethodDelete, path: path})
	}
	const full = `{"status":503,"rate":0.3,"retry_after":"2s","latency":"1s","drop":"before"}`

	require.JSONEq(t, `{}`, list())
	b.setFault(t, "email", `{"status":500}`)
	b.setFault(t, notification.Email, full)
	b.setFault(t, notification.SMS, `{"drop":"after"}`)
	b.setFault(t, notification.Push, `{"status":429}`)
	require.JSONEq(t, `{"EMAIL":`+full+`,"SMS":{"drop":"after"},"PUSH":{"status":429}}`, list())
	remove("/faults/EMAIL")
	require.JSONEq(t, `{"SMS":{"drop":"after"},"PUSH":{"status":429}}`, list())
	remove("/faults")
	remove("/faults")
	require.JSONEq(t, `{}`, list())
	b.expect(t, http.StatusCreated, smsCall(goodSMS()))
}

// The README names every outcome, and every field of faults, ledger lines and receipt settings.
func TestReadmeNamesTheFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, described := range []reflect.Type{
		reflect.TypeFor[sandbox.Fault](), reflect.TypeFor[sandbox.Entry](), reflect.TypeFor[sandbox.Receipts](),
	} {
		for i := range described.NumField() {
			name, _, _ := strings.Cut(described.Field(i).Tag.Get("json"), ",")
			require.Contains(t, string(text), "`"+name+"`")
		}
	}
	b := start(t)
	for _, address := range []string{"ada@example.com", "+393331234567"} {
		_, _, body := b.answer(t, call{method: http.MethodPut, path: "/receipts", body: `{"outcomes":{"` + address + `":""}}`})
		_, outcomes, told := strings.Cut(strings.TrimSuffix(body, "\"}\n"), "must be one of ")
		require.True(t, told, body)
		for outcome := range strings.SplitSeq(outcomes, ", ") {
			require.Contains(t, string(text), "`"+outcome+"`")
		}
	}
}
