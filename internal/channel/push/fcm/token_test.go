package fcm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/push/fcm"
	"herald/internal/notification"
)

// google simulates FCM and the server of access tokens.
type google struct {
	*httptest.Server
	issued     atomic.Int64
	authorized atomic.Int64 // messages with an issued token
}

func newGoogle(t *testing.T, issue http.HandlerFunc) *google {
	t.Helper()
	g := &google{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		g.issued.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		issue(w, r)
	})
	mux.HandleFunc("POST /v1/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer issued" {
			g.authorized.Add(1)
		}
		_, _ = io.WriteString(w, accepted)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

// sender returns a sender with the credentials of a service account.
func (g *google) sender(t *testing.T) channel.Sender {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	content, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "herald@example.com", "token_uri": g.URL + "/token",
		"private_key": string(pem.EncodeToMemory(block)),
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "account.json")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	return channeltest.NewSender(t, &fcm.Settings{ProjectID: "demo", BaseURL: g.URL, CredentialsFile: file}, time.Minute)
}

// issue answers with a token that is valid for the given seconds.
func issue(w http.ResponseWriter, seconds int) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":"issued","token_type":"Bearer","expires_in":%d}`, seconds)
}

func toOneDevice() notification.Message {
	msg := channeltest.Message(1)
	msg.Devices = []string{"d"}
	return msg
}

func TestTokenIsKept(t *testing.T) {
	t.Parallel()

	g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) { issue(w, 3600) })
	sender := g.sender(t)
	for range 3 {
		_, err := sender.Send(t.Context(), toOneDevice())
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, g.issued.Load())
	require.EqualValues(t, 3, g.authorized.Load())
}

// Took covers only FCM's answer, even if the token takes long.
func TestTokenIsNotPartOfTheCall(t *testing.T) {
	t.Parallel()

	const slow = 300 * time.Millisecond
	g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(slow) // the token server's delay
		issue(w, 3600)
	})
	began := time.Now()
	receipt, err := g.sender(t).Send(t.Context(), toOneDevice())
	require.NoError(t, err)
	require.Positive(t, receipt.Took)
	require.LessOrEqual(t, receipt.Took, time.Since(began)-slow)
}

func TestTokenRefused(t *testing.T) {
	t.Parallel()

	for status, class := range map[int]notification.FailureClass{
		400: notification.Account, // a revoked key
		403: notification.Account,
		429: notification.Busy,
		503: notification.Unavailable,
	} {
		g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		_, err := g.sender(t).Send(t.Context(), toOneDevice())
		require.Equal(t, &notification.ProviderError{Provider: "fcm", Class: class, Status: status, Code: "no access token"}, err)
	}
}

// A hanging endpoint gets one request at a time, and no goroutine leaks.
func TestTokenHangs(t *testing.T) {
	t.Parallel()

	release := make(chan struct{})
	g := newGoogle(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) }) // before the server waits for its handlers
	sender := g.sender(t)
	pprof.Do(t.Context(), pprof.Labels("test", t.Name()), func(ctx context.Context) {
		for range 100 {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			_, err := sender.Send(ctx, toOneDevice())
			cancel()
			require.Equal(t, &notification.ProviderError{Provider: "fcm", Class: notification.Ambiguous, Code: "timeout"}, err)
		}
	})
	require.Eventually(t, func() bool { return g.issued.Load() == 1 }, time.Minute, 10*time.Millisecond)
	// Only the fetch and net/http's goroutines for it remain.
	require.Eventually(t, func() bool { return labelled(t, t.Name()) < 20 }, time.Minute, 10*time.Millisecond)
}

// labelled counts a test's goroutines, including their children.
func labelled(t *testing.T, test string) int {
	t.Helper()
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	all := 0
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		var count int
		if strings.Contains(group, fmt.Sprintf(`"test":%q`, test)) {
			_, err := fmt.Sscanf(group, "%d @", &count)
			require.NoError(t, err, group)
		}
		all += count
	}
	return all
}

// A valid token stays in use while the next fetch takes long.
func TestTokenIsUsedWhileTheNextOneHangs(t *testing.T) {
	t.Parallel()

	var fetches atomic.Int64
	release := make(chan struct{})
	g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) {
		if fetches.Add(1) > 1 {
			<-release
		}
		issue(w, 120)
	})
	t.Cleanup(func() { close(release) })
	sender := g.sender(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for sent := int64(1); g.issued.Load() < 2; sent++ { // until the next one is fetched
		_, err := sender.Send(t.Context(), toOneDevice())
		require.NoError(t, err)
		require.Equal(t, sent, g.authorized.Load())
		<-tick.C
	}
	_, err := sender.Send(t.Context(), toOneDevice())
	require.NoError(t, err)
}

func TestTokenIsNoServiceAccount(t *testing.T) {
	t.Parallel()

	for _, content := range []string{`secretmark`, `{"type":"authorized_user","refresh_token":"secretmark"}`, `{}`} {
		file := filepath.Join(t.TempDir(), "account.json")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		settings := fcm.Settings{ProjectID: "demo", CredentialsFile: file}
		_, err := settings.NewSender(channel.Process{})
		require.ErrorContains(t, err, "service account", content)
		require.NotContains(t, err.Error(), "secretmark")
	}
}
