package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
	"herald/internal/sandbox"
)

// LedgerClient reads the ledger of a sandbox.
type LedgerClient struct {
	BaseURL string // scheme and host
}

const (
	// ledgerTimeout bounds one answer of the sandbox.
	ledgerTimeout = 15 * time.Second
	// maxLedger bounds what is read of it, in bytes: a thousand times what the example writes.
	maxLedger = 64 << 20
)

// Reachable fails where the sandbox does not answer.
func (l LedgerClient) Reachable(ctx context.Context) error {
	return l.get(ctx, "/healthz", func(io.Reader) error { return nil })
}

// Since reads the entries from a time on.
func (l LedgerClient) Since(ctx context.Context, from time.Time) ([]sandbox.Entry, error) {
	var entries []sandbox.Entry
	query := url.Values{"since": {from.UTC().Format(time.RFC3339)}}
	err := l.get(ctx, "/ledger?"+query.Encode(), func(body io.Reader) (err error) {
		entries, err = readLedger(io.LimitReader(body, maxLedger))
		return err
	})
	return entries, err
}

func (l LedgerClient) get(ctx context.Context, path string, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.BaseURL+path, nil)
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

func readLedger(r io.Reader) ([]sandbox.Entry, error) {
	var entries []sandbox.Entry
	decoder := json.NewDecoder(r)
	for decoder.More() {
		var entry sandbox.Entry
		if decoder.Decode(&entry) != nil {
			return nil, fmt.Errorf("entry %d of the ledger cannot be read", len(entries)+1) // the cause may quote it
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// ledgerDeviations returns where the ledger and the database disagree, a line each:
// the provider accepted one message of each delivery that is SENT, one of each digest
// with such a delivery, and none of the others. It ignores entries of other events.
func ledgerDeviations(details []report.EventDetail, entries []sandbox.Entry) []string {
	expected := map[string]int{} // messages by the id of a delivery or a digest
	for _, detail := range details {
		for d, channel := range deliveries(detail) {
			sent := 0
			if channel != notification.WebSocket && (d.Status == notification.Sent || d.Status == notification.Delivered) {
				sent = 1
			}
			if d.DigestID != "" {
				expected[d.DigestID] = max(expected[d.DigestID], sent)
				sent = 0
			}
			expected[d.DeliveryID] = sent
		}
	}
	accepted := map[string]int{}
	for _, entry := range entries {
		if entry.Accepted {
			accepted[entry.DeliveryID]++
		}
	}
	var deviations []string
	for id, want := range expected {
		if got := accepted[id]; got != want {
			deviations = append(deviations, fmt.Sprintf("%s: by the database the provider accepted %d messages, by the ledger %d", id, want, got))
		}
	}
	slices.Sort(deviations)
	return deviations
}

// deliveries are those of an event, with their channels.
func deliveries(detail report.EventDetail) iter.Seq2[report.RecipientDelivery, notification.Channel] {
	return func(yield func(report.RecipientDelivery, notification.Channel) bool) {
		for _, recipient := range detail.Recipients {
			for channel, delivery := range recipient.Deliveries {
				if !yield(delivery, channel) {
					return
				}
			}
		}
	}
}
