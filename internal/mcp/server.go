// Package mcp offers the answers of starter as tools of the Model Context Protocol. It decides nothing:
// package answer reads, and package operate changes.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"herald/internal/answer"
)

// Config holds the dependencies and settings of a server.
type Config struct {
	Answers answer.Reader
	Version string
	Logger  *slog.Logger // not to the standard output, which has the protocol
	Changes *Changes     // nil: no tool changes anything
}

const (
	// timeout limits the time of a call, and slowTimeout the time of a check, a simulation and a change.
	timeout     = 10 * time.Second
	slowTimeout = time.Minute
)

const instructions = `Herald tells people about events over channels such as EMAIL and SMS. These tools show what it did and ` +
	`why, by ids, codes and counts. They never show names, addresses, texts, payloads or secrets. Begin with status, or with why.`

// New returns a server with its tools.
func New(cfg Config) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "herald", Title: "Herald", Version: cfg.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: cfg.Logger, Capabilities: &sdk.ServerCapabilities{}})
	r := cfg.Answers
	read(server, cfg, timeout, "why", "Explain why a recipient got or did not get something: one delivery, one decision about an event, a "+
		"recipient and a channel, or the latest decisions about a recipient.", r.Why)
	read(server, cfg, timeout, "event_show", "Show an event: its state, its workflow, and the decisions and deliveries of its "+
		"recipients.", r.Event)
	read(server, cfg, timeout, "delivery_show", "Show a delivery: its state, attempts, receipts, retries and workflow.", r.Delivery)
	read(server, cfg, slowTimeout, "check", "Look for mistakes in the configuration, and name the remedy of each.", r.Check)
	read(server, cfg, slowTimeout, "simulate", "Plan an event by the current rules, without storing or sending anything.", r.Simulate)
	read(server, cfg, timeout, "status", "Show the backlog, the deliveries by status, the providers, the senders and the pollers.", r.Status)
	if cfg.Changes != nil {
		cfg.Changes.add(server, cfg)
	}
	return server
}

// read adds a tool that changes nothing.
func read[In, Out any](
	server *sdk.Server, cfg Config, limit time.Duration, name, description string, ask func(context.Context, In) (Out, error),
) {
	closed := false
	add(server, cfg, limit, &sdk.Tool{
		Name: name, Description: description,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, ask)
}

// add adds a tool. An error of ask is an error of the tool: a sentence with the next step.
func add[In, Out any](
	server *sdk.Server, cfg Config, limit time.Duration, tool *sdk.Tool, ask func(context.Context, In) (Out, error),
) {
	sdk.AddTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		out, err := ask(ctx, in)
		if err == nil {
			return nil, out, nil
		}
		text, known := answer.Problem(err)
		if !known {
			cfg.Logger.ErrorContext(ctx, "a tool failed", "tool", tool.Name, "error", err)
		}
		return nil, out, errors.New(text)
	})
}
