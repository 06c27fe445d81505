package sandbox_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/sandbox"
)

func (b box) setFault(t *testing.T, channel notification.Channel, fault string) {
	t.Helper()
	status, _, body := b.answer(t, call{method: http.MethodPut, path: "/faults/" + string(channel), body: fault})
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, fault, body)
}

func TestFaultStatus(t *testing.T) {
	t.Parallel()
	wants := map[notification.Channel]string{ // parts of the body
		notification.Email: `{"errors":[{"message":"Service Unavailable"`,
		notification.SMS:   `"code":20503`,
		notification.Push:  `"status":"UNAVAILABLE"`,
		notification.Slack: `Service Unavailable`,
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

// TestFaultEveryStatus answers with each status that a fault may have.
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
			entries := b.entries(t, "")
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
		good     bool // the request
		accepted bool
	}{
		{`{"drop":"before"}`, true, false},
		{`{"drop":"after"}`, true, true},
		{`{"status":503,"drop":"after"}`, true, true},
		{`{"drop":"after"}`, false, false},
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

func TestFaultLatency(t *testing.T) {
	t.Parallel()

	for fault, want := range map[string]int{`{"latency":"1ms"}`: http.StatusOK, `{"status":500,"latency":"1ms"}`: http.StatusInternalServerError} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.setFault(t, notification.Slack, fault)
			status, _, _ := b.answer(t, slackCall(slackPath, goodPost))
			require.Equal(t, want, status)
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

		require.Eventually(t, func() bool { return len(b.entries(t, "")) == 1 }, time.Minute, 5*time.Millisecond)
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
		some, other bool // some requests meet the fault; others do not
	}{
		{`{"status":500,"rate":0}`, false, true},
		{`{"status":500,"rate":0.5}`, true, true}, // all or none: once in 2^99
		{`{"status":500,"rate":1}`, true, false},
		{`{"status":500}`, true, false},
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
		complaint        string // part of it
	}{
		{"empty", "EMAIL", ``, 400, "not a fault"},
		{"no JSON", "EMAIL", `{`, 400, "not a fault"},
		{"two", "EMAIL", `{"status":500}{"status":500}`, 400, "follows"},
		{"unknown field", "EMAIL", `{"statsu":500}`, 400, "statsu"},
		{"nothing", "EMAIL", `{}`, 400, "does nothing"},
		{"rate alone", "EMAIL", `{"rate":0.5}`, 400, "does nothing"},
		{"status of a success", "EMAIL", `{"status":200}`, 400, "status"},
		{"status too large", "EMAIL", `{"status":600}`, 400, "status"},
		{"status is text", "EMAIL", `{"status":"503"}`, 400, "status"},
		{"rate below 0", "EMAIL", `{"status":500,"rate":-0.1}`, 400, "rate"},
		{"rate above 1", "EMAIL", `{"status":500,"rate":1.1}`, 400, "rate"},
		{"latency without unit", "EMAIL", `{"latency":"1"}`, 400, "unit"},
		{"latency is a number", "EMAIL", `{"latency":1}`, 400, "latency"},
		{"latency below 0", "EMAIL", `{"latency":"-1s"}`, 400, "latency"},
		{"latency too long", "EMAIL", `{"latency":"6m"}`, 400, "latency"},
		{"retry_after below 0", "EMAIL", `{"status":503,"retry_after":"-1s"}`, 400, "retry_after"},
		{"retry_after too long", "EMAIL", `{"status":503,"retry_after":"25h"}`, 400, "retry_after"},
		{"retry_after without status", "EMAIL", `{"retry_after":"1s","drop":"after"}`, 400, "retry_after"},
		{"other drop", "EMAIL", `{"drop":"during"}`, 400, "drop"},
		{"too large", "EMAIL", `{"drop":"` + strings.Repeat("a", 64<<10) + `"}`, 400, "too large"},
		{"no provider", "WEBSOCKET", `{"status":500}`, 404, "EMAIL"},
		{"unknown channel", "FAX", `{"status":500}`, 404, "EMAIL"},
	}
	b := start(t)
	for _, tt := range tests {
		status, _, body := b.answer(t, call{method: http.MethodPut, path: "/faults/" + tt.path, body: tt.body})
		require.Equal(t, tt.status, status, tt.name)
		require.Contains(t, body, tt.complaint, tt.name)
		require.Contains(t, body, `{"error":`, tt.name)
	}
	status, _, _ := b.answer(t, call{method: http.MethodDelete, path: "/faults/FAX"})
	require.Equal(t, http.StatusNotFound, status)
	_, _, body := b.answer(t, call{method: http.MethodGet, path: "/faults"})
	require.JSONEq(t, `{}`, body)
}

func TestFaultsListedAndCleared(t *testing.T) {
	t.Parallel()
	b := start(t)
	list := func() string {
		_, _, body := b.answer(t, call{method: http.MethodGet, path: "/faults"})
		return body
	}
	remove := func(path string) {
		status, _, _ := b.answer(t, call{method: http.MethodDelete, path: path})
		require.Equal(t, http.StatusNoContent, status)
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
	status, _, _ := b.answer(t, smsCall(goodSMS()))
	require.Equal(t, http.StatusCreated, status)
}
