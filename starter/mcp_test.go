package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"herald/internal/answer"
	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// The program serves its tools on the standard input and output, and ends with its client. Temporal is
// out of reach.
func TestMCP(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	postgrestest.Add(t, c.store(t).Pool, postgrestest.Event{ID: "evt-1"})
	program := filepath.Join(t.TempDir(), "starter")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var problems bytes.Buffer
	command := exec.CommandContext(ctx, program, "mcp")
	command.Stderr = &problems
	command.Env = os.Environ()
	for name, value := range c.environment {
		command.Env = append(command.Env, name+"="+value)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(ctx, &sdk.CommandTransport{Command: command}, nil)
	require.NoError(t, err)
	tools, err := client.ListTools(ctx, nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 6)
	document, err := os.ReadFile("../docs/mcp.md")
	require.NoError(t, err)
	for _, tool := range tools.Tools {
		require.Contains(t, string(document), "| `"+tool.Name+"` |")
	}
	_, configuration, _ := strings.Cut(string(document), "```json\n")
	configuration, _, _ = strings.Cut(configuration, "```")
	var clients struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal([]byte(configuration), &clients))
	require.Equal(t, command.Args[1:], clients.Servers["herald"].Args)
	require.Equal(t, filepath.Base(program), clients.Servers["herald"].Command)
	result, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "event_show", Arguments: map[string]any{"id": "evt-1"}})
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Contains(t, result.StructuredContent, "workflow")
	require.NoError(t, client.Close(), "%s", &problems)
}

// An input that ends ends the command, and prints nothing.
func TestMCPCommand(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	require.Empty(t, c.must(t, "mcp"))
	require.Empty(t, c.must(t, "mcp", "--allow-changes"))
	c.environment["TEMPORAL_TLS_SERVER_CA_CERT_PATH"] = "nowhere.pem"
	c.fails(t, failed, "nowhere.pem", "mcp")
}

// A Temporal that does not answer delays neither the start nor the answers from Postgres. Once it answers, it is
// found.
func TestMCPFindsTemporal(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	postgrestest.Add(t, c.store(t).Pool, postgrestest.Event{}, postgrestest.Delivery{ID: "d1", Status: notification.Pending})
	silent := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	c.environment["TEMPORAL_ADDRESS"] = silent.Addr().String()
	client := c.serveMCP(t, dialTimeout)

	status := askMCP[answer.Status](t, client, "status", answer.StatusRequest{})
	require.Nil(t, status.Pollers)
	delivery := askMCP[answer.Delivery](t, client, "delivery_show", answer.DeliveryRequest{ID: "d1"})
	require.Equal(t, explain.Unreachable, delivery.Workflow.Status)
	checked := askMCP[answer.Check](t, client, "check", answer.CheckRequest{})
	require.True(t, slices.ContainsFunc(checked.Mistakes, func(m answer.Mistake) bool { return m.Place == "setting TEMPORAL_ADDRESS" }))

	temporalServer{}.serveOn(t, silent)
	for status.Pollers == nil {
		status = askMCP[answer.Status](t, client, "status", answer.StatusRequest{})
	}
	require.Equal(t, operate.PollerRunning, status.Pollers[0].Status)
	checked = askMCP[answer.Check](t, client, "check", answer.CheckRequest{})
	require.False(t, slices.ContainsFunc(checked.Mistakes, func(m answer.Mistake) bool { return m.Place == "setting TEMPORAL_ADDRESS" }))
}

// serveMCP runs `starter mcp` until the end of the test, and returns its client, which connects within limit.
func (c shell) serveMCP(t *testing.T, limit time.Duration) *sdk.ClientSession {
	t.Helper()
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	var problems bytes.Buffer
	a := &app{Output: terminal.Output{Out: out, Err: &problems}, in: in, environment: c.environment}
	ended := make(chan int, 1)
	go func() { ended <- a.run(context.WithoutCancel(t.Context()), []string{"mcp"}) }()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(ctx, &sdk.IOTransport{Reader: answers, Writer: requests}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		require.Equal(t, succeeded, <-ended, "%s", &problems)
	})
	return client
}

// askMCP calls a tool that must answer.
func askMCP[Out any](t *testing.T, client *sdk.ClientSession, tool string, in any) (out Out) {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	require.NoError(t, err)
	written, err := json.Marshal(result)
	require.NoError(t, err)
	require.False(t, result.IsError, "%s", written)
	written, err = json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(written, &out))
	return out
}
