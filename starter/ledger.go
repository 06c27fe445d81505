package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"herald/internal/example"
)

// ledgerClient reads the ledger of a sandbox.
type ledgerClient struct {
	baseURL string
}

const (
	// ledgerTimeout bounds one answer of the sandbox.
	ledgerTimeout = 15 * time.Second
	// maxLedger is what is read of it, in bytes: a thousand times what the example writes.
	maxLedger = 64 << 20
)

func (c ledgerClient) reachable(ctx context.Context) error {
	return c.get(ctx, "/healthz", func(io.Reader) error { return nil })
}

// since reads the lines from a time on.
func (c ledgerClient) since(ctx context.Context, from time.Time) ([]example.LedgerLine, error) {
	var lines []example.LedgerLine
	query := url.Values{"since": {from.UTC().Format(time.RFC3339)}}
	err := c.get(ctx, "/ledger?"+query.Encode(), func(body io.Reader) (err error) {
		lines, err = example.ReadLedger(io.LimitReader(body, maxLedger))
		return err
	})
	return lines, err
}

func (c ledgerClient) get(ctx context.Context, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.baseURL+path, nil)
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the sandbox: it answered %d", response.StatusCode)
	}
	return read(response.Body)
}
