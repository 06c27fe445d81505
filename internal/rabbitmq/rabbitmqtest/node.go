// Package rabbitmqtest gives each test a virtual host on a real broker. The test may change and
// damage it like an operator.
package rabbitmqtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// requestTimeout limits one request to the management API.
	requestTimeout = time.Minute
	// patience is the limit for an expected message.
	patience = time.Minute
)

// Node is a running broker.
type Node struct {
	URL        string // amqp://guest:guest@127.0.0.1:17001/
	Management string // http://guest:guest@127.0.0.1:17004
}

// Shared returns the node of the local stack, for tests that do not stop or change it.
func Shared(t testing.TB) Node {
	t.Helper()
	node := Node{URL: os.Getenv("RABBITMQ_URL"), Management: os.Getenv("RABBITMQ_MANAGEMENT_URL")}
	if node.URL == "" || node.Management == "" {
		t.Fatal("RABBITMQ_URL and RABBITMQ_MANAGEMENT_URL are not set: run make test")
	}
	return node
}

// VHost returns the URL of a new virtual host on the shared node. The end of the test deletes it.
func VHost(t testing.TB) string {
	t.Helper()
	return Shared(t).VHost(t).URL
}

// VirtualHost is one test's virtual host.
type VirtualHost struct {
	URL  string // for AMQP
	Name string
	node Node
}

// VHost creates a virtual host on n for the duration of the test.
func (n Node) VHost(t testing.TB) VirtualHost {
	t.Helper()
	name := "test-" + rand.Text()
	user := url.PathEscape(n.user(t))
	n.Do(t, http.MethodPut, "/api/vhosts/"+name, nil)
	t.Cleanup(func() { n.Do(t, http.MethodDelete, "/api/vhosts/"+name, nil) })
	n.Do(t, http.MethodPut, "/api/permissions/"+name+"/"+user, map[string]string{"configure": ".*", "write": ".*", "read": ".*"})

	amqpURL, err := url.Parse(n.URL)
	require.NoError(t, err)
	amqpURL.Path = "/" + name
	return VirtualHost{URL: amqpURL.String(), Name: name, node: n}
}

// Do sends a request to the management API and returns the answer. It requires status 2xx,
// or 404 for a DELETE.
func (n Node) Do(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout) // t.Context() has ended at cleanup
	defer cancel()
	encoded, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(n.Management, "/")+path, bytes.NewReader(encoded))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if method != http.MethodDelete || response.StatusCode != http.StatusNotFound {
		require.Less(t, response.StatusCode, 300, "%s %s: %s", method, path, answer)
	}
	return answer
}

func (n Node) user(t testing.TB) string {
	t.Helper()
	management, err := url.Parse(n.Management)
	require.NoError(t, err)
	return management.User.Username()
}
