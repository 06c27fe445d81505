package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
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

// Changes need Temporal. An input that ends ends the command, and prints nothing.
func TestMCPCommand(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	require.Empty(t, c.must(t, "mcp"))
	c.fails(t, failed, "Temporal is out of reach", "mcp", "--allow-changes")
}
