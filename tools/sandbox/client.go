package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Client asks a running sandbox.
type Client struct {
	URL string // scheme and host
}

// clientTimeout limits one request to the sandbox.
const clientTimeout = time.Minute

// Entries returns the ledger's entries, without entries older than `since`.
func (c Client) Entries(ctx context.Context, since time.Time) (entries []Entry, err error) {
	query := url.Values{"since": {since.UTC().Format(time.RFC3339Nano)}}
	err = c.call(ctx, http.MethodGet, "/ledger?"+query.Encode(), "", func(body io.Reader) error {
		return eachEntry(body, func(entry Entry, _ []byte) error {
			entries = append(entries, entry)
			return nil
		})
	})
	return entries, err
}

// Accepted returns the messages that the providers accepted, without messages older than `since`.
func (c Client) Accepted(ctx context.Context, since time.Time) ([]Entry, error) {
	entries, err := c.Entries(ctx, since)
	return slices.DeleteFunc(entries, func(entry Entry) bool { return !entry.Accepted }), err
}

// SetFault sets the fault of a channel, in JSON; empty: none.
func (c Client) SetFault(ctx context.Context, channel, fault string) error {
	method := http.MethodPut
	if fault == "" {
		method = http.MethodDelete
	}
	return c.call(ctx, method, "/faults/"+channel, fault, nil)
}

// EndFaults ends the faults of all channels.
func (c Client) EndFaults(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/faults", "", nil)
}

// Receipts returns the settings of receipts.
func (c Client) Receipts(ctx context.Context) (shown ShownReceipts, err error) {
	err = c.call(ctx, http.MethodGet, "/receipts", "", func(body io.Reader) error { return json.NewDecoder(body).Decode(&shown) })
	return shown, err
}

// SetReceipts replaces the settings of receipts.
func (c Client) SetReceipts(ctx context.Context, settings Receipts) error {
	return c.call(ctx, http.MethodPut, "/receipts", string(mustMarshal(settings)), nil)
}

// PublicKey returns the value for SENDGRID_WEBHOOK_PUBLIC_KEY.
func (c Client) PublicKey(ctx context.Context) (key string, err error) {
	err = c.call(ctx, http.MethodGet, "/keys/sendgrid", "", func(body io.Reader) error {
		text, err := io.ReadAll(body)
		key = strings.TrimSpace(string(text))
		return err
	})
	return key, err
}

func (c Client) call(ctx context.Context, method, path, sent string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(sent))
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the sandbox: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if !isSuccess(response.StatusCode) {
		return fmt.Errorf("ask the sandbox: %s %s: %s", method, path, response.Status)
	}
	if read == nil {
		return nil
	}
	return read(response.Body)
}
