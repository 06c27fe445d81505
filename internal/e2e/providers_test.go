package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"herald/internal/sandbox"
)

// fault makes the sandbox's provider of a channel misbehave.
func (s *system) fault(channel, fault string) {
	s.t.Helper()
	s.askSandbox(http.MethodPut, "/faults/"+channel, fault)
}

// mend ends all faults.
func (s *system) mend() {
	s.t.Helper()
	s.askSandbox(http.MethodDelete, "/faults", "")
}

func (s *system) askSandbox(method, path, body string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.sandbox.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Less(s.t, response.StatusCode, 300, "%s", text)
	return string(text)
}

// messages are those that the providers accepted, in their order.
func (s *system) messages() []sandbox.Entry {
	s.t.Helper()
	var accepted []sandbox.Entry
	for lines := json.NewDecoder(strings.NewReader(s.askSandbox(http.MethodGet, "/ledger", ""))); ; {
		var entry sandbox.Entry
		if err := lines.Decode(&entry); errors.Is(err, io.EOF) {
			return accepted
		} else {
			require.NoError(s.t, err)
		}
		if entry.Accepted {
			accepted = append(accepted, entry)
		}
	}
}

// accepted counts, by delivery id, the messages that the providers accepted.
func (s *system) accepted() map[string]int {
	s.t.Helper()
	counts := map[string]int{}
	for _, m := range s.messages() {
		counts[m.DeliveryID]++
	}
	return counts
}

// sentOnce requires that the providers accepted so many deliveries, each of them once.
func (s *system) sentOnce(deliveries int) {
	s.t.Helper()
	accepted := s.accepted()
	require.Len(s.t, accepted, deliveries)
	for id, times := range accepted {
		require.Equal(s.t, 1, times, id)
	}
}
