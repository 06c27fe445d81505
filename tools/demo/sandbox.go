package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	BaseURL string // scheme and host
}

const (
	// sandboxTimeout limits one request to the sandbox.
	sandboxTimeout = 15 * time.Second
	// maxLedger is the maximum number of bytes to read of the ledger: a thousand times the size of
	// the example's entries.
	maxLedger = 64 << 20
	maxAnswer = 1 << 20 // maximum size of other answers, in bytes
)

// Since returns the ledger's entries, without entries older than `from`.
func (s Sandbox) Since(ctx context.Context, from time.Time) ([]sandbox.Entry, error) {
	var entries []sandbox.Entry
	query := url.Values{"since": {from.UTC().Format(time.RFC3339)}}
	err := s.call(ctx, http.MethodGet, "/ledger?"+query.Encode(), nil, func(body io.Reader) (err error) {
		entries, err = readLedger(io.LimitReader(body, maxLedger))
		return err
	})
	return entries, err
}

// Receipts returns the sandbox's settings for receipts, and whether it sends receipts.
func (s Sandbox) Receipts(ctx context.Context) (settings sandbox.Receipts, sent bool, err error) {
	var shown sandbox.ShownReceipts
	err = s.call(ctx, http.MethodGet, "/receipts", nil, func(body io.Reader) error {
		return json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(&shown)
	})
	return shown.Receipts, shown.Gateway != "", err
}

// disturb adds outcomes to the settings of the sandbox, and sets faults. undo restores the
// settings and clears the faults.
func (s Sandbox) disturb(ctx context.Context, settings sandbox.Receipts, outcomes map[string]string, faults map[notification.Channel]json.RawMessage) (undo func(context.Context) error, err error) {
	changed := settings
	changed.Outcomes = maps.Clone(settings.Outcomes)
	if changed.Outcomes == nil {
		changed.Outcomes = map[string]string{}
	}
	maps.Copy(changed.Outcomes, outcomes)
	if err := s.put(ctx, "/receipts", changed); err != nil {
		return nil, err
	}
	for channel, fault := range faults {
		if err := s.put(ctx, "/faults/"+string(channel), fault); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for channel := range faults {
			if err := s.call(ctx, http.MethodDelete, "/faults/"+string(channel), nil, ignore); err != nil {
				return err
			}
		}
		return s.put(ctx, "/receipts", settings)
	}, nil
}

func (s Sandbox) put(ctx context.Context, path string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	return s.call(ctx, http.MethodPut, path, body, ignore)
}

func ignore(io.Reader) error { return nil }

func (s Sandbox) call(ctx context.Context, method, path string, sent []byte, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, sandboxTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.BaseURL+path, bytes.NewReader(sent))
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("ask the sandbox: it answered %d", response.StatusCode)
	}
	return read(response.Body)
}
