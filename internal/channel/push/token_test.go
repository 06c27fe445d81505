package push_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/push"
	"herald/internal/notification"
)

// google stands in for FCM and for the server that issues access tokens.
type google struct {
	*httptest.Server
	issued     atomic.Int64
	authorized atomic.Int64 // messages that came with an issued token
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

// sender returns one that has the credentials of a service account.
func (g *google) sender(t *testing.T) *push.Sender {
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
	sender, err := push.New(push.Config{ProjectID: "demo", BaseURL: g.URL, CredentialsFile: file, Timeout: 5 * time.Second})
	require.NoError(t, err)
	return sender
}

func toOneDevice() notification.Message {
	msg := channeltest.Message(1)
	msg.Devices = []string{"d"}
	return msg
}

func TestTokenIsKept(t *testing.T) {
	t.Parallel()

	g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"issued","token_type":"Bearer","expires_in":3600}`)
	})
	sender := g.sender(t)
	for range 3 {
		_, err := sender.Send(t.Context(), toOneDevice())
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, g.issued.Load())
	require.EqualValues(t, 3, g.authorized.Load())
}

func TestTokenRefused(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		status int
		class  notification.FailureClass
	}{
		"revoked key": {400, notification.Account},
		"forbidden":   {403, notification.Account},
		"busy":        {429, notification.Busy},
		"outage":      {503, notification.Ambiguous},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			g := newGoogle(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) })
			_, err := g.sender(t).Send(t.Context(), toOneDevice())
			require.Equal(t, &notification.ProviderError{
				Provider: "fcm", Class: tt.class, Status: tt.status, Code: "no access token",
			}, err)
		})
	}
}

func TestTokenHangs(t *testing.T) {
	t.Parallel()

	release := make(chan struct{})
	g := newGoogle(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) }) // before the server waits for its handlers
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := g.sender(t).Send(ctx, toOneDevice())
	require.Equal(t, &notification.ProviderError{Provider: "fcm", Class: notification.Ambiguous, Code: "timeout"}, err)
}

func TestTokenIsNoServiceAccount(t *testing.T) {
	t.Parallel()

	tests := map[string]string{
		"no JSON":        `secretmark`,
		"another type":   `{"type":"authorized_user","refresh_token":"secretmark"}`,
		"empty document": `{}`,
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			file := filepath.Join(t.TempDir(), "account.json")
			require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			_, err := push.New(push.Config{ProjectID: "demo", CredentialsFile: file})
			require.ErrorContains(t, err, "service account")
			require.NotContains(t, err.Error(), "secretmark")
		})
	}
}
