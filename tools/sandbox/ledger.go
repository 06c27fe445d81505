package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/notification"
)

// Entry is one line of the ledger: one request and its result.
type Entry struct {
	Time       time.Time            `json:"time"`
	Channel    notification.Channel `json:"channel"`
	DeliveryID string               `json:"delivery_id"`
	Recipient  string               `json:"recipient"`
	Title      string               `json:"title"`
	Body       string               `json:"body"`
	Status     int                  `json:"status"`   // of the response; 0: no response
	Accepted   bool                 `json:"accepted"` // the message counts as sent, also if the client got no response

	CollapseKey string `json:"collapse_key,omitempty"` // a message replaces older ones with the same key on the phone; only of push messages
	Unsubscribe string `json:"unsubscribe,omitempty"`  // link that a mailbox posts to for one-click unsubscribe; only of e-mails
	Repeat      bool   `json:"repeat,omitempty"`       // the receiver knows the id already, and ignores the message; only of webhooks
}

const (
	remembered   = 200     // entries kept in memory for the page; the file has all
	previewLimit = 2 << 10 // bytes of each text kept for the page
)

// requestCounts counts the requests of one channel.
type requestCounts struct{ Accepted, Refused int }

// ledger is the file, with the newest entries and the counts for the page.
type ledger struct {
	mu     sync.Mutex
	file   *os.File
	newest []Entry
	hooks  map[string]bool // the ids of accepted webhooks
	counts map[notification.Channel]requestCounts
}

// openLedger opens or creates the ledger at path. It refuses a file that is not a ledger.
func openLedger(path string) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open ledger: %w", err)
	}
	l := &ledger{file: file, hooks: map[string]bool{}, counts: map[notification.Channel]requestCounts{}}
	err = eachEntry(file, func(entry Entry, _ []byte) error {
		l.remember(entry)
		return nil
	})
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("sandbox: read ledger: %w", err)
	}
	return l, nil
}

// eachEntry calls do with each entry and its line, including the line break. The error for
// an invalid line does not quote the line, which may hold addresses.
func eachEntry(r io.Reader, do func(entry Entry, line []byte) error) error {
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var entry Entry
		if err != nil || json.Unmarshal(line, &entry) != nil || entry.Time.IsZero() {
			return fmt.Errorf("line %d is no entry of a ledger", number)
		}
		if err := do(entry, line); err != nil {
			return err
		}
	}
}

// append sets the entry's time and writes the entry to the file before it returns, so that
// a crash of the sandbox does not lose the entry.
func (l *ledger) append(entry Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	entry.Time = time.Now().UTC() // under the lock, so that times never go back
	entry.Repeat = entry.Accepted && l.hooks[entry.DeliveryID] && entry.Channel == notification.Webhook
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // people read the e-mails in the ledger
	if err := encoder.Encode(entry); err != nil {
		return fmt.Errorf("encode entry: %w", err)
	}
	if _, err := l.file.Write(line.Bytes()); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	l.remember(entry)
	return nil
}

// remember keeps the part of an entry that the page shows.
func (l *ledger) remember(entry Entry) {
	count := l.counts[entry.Channel]
	if entry.Accepted {
		count.Accepted++
	} else {
		count.Refused++
	}
	l.counts[entry.Channel] = count
	if entry.Channel == notification.Webhook && entry.Accepted {
		l.hooks[entry.DeliveryID] = true
	}

	for _, text := range []*string{&entry.DeliveryID, &entry.Recipient, &entry.Title, &entry.Body, &entry.Unsubscribe} {
		*text = clip(*text)
	}
	if len(l.newest) == remembered {
		l.newest = append(l.newest[:0], l.newest[1:]...)
	}
	l.newest = append(l.newest, entry)
}

// clip copies the beginning of a text, so that the garbage collector can free the whole text.
func clip(text string) string {
	if len(text) <= previewLimit {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:previewLimit]), "") + "…"
}

// recent returns the newest entries, oldest first, and the counts of all entries.
func (l *ledger) recent() ([]Entry, map[notification.Channel]requestCounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.newest), maps.Clone(l.counts)
}

// snapshot returns the current contents of the ledger. All lines are whole: append also
// holds the lock.
func (l *ledger) snapshot() (io.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(l.file, 0, info.Size()), nil
}

// serve streams the ledger's lines, oldest first. The parameter since skips lines before
// that time.
func (l *ledger) serve(w http.ResponseWriter, r *http.Request) {
	var since time.Time
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			writeError(w, http.StatusBadRequest, errors.New("since must be a time like 2026-11-21T10:00:00Z"))
			return
		}
	}
	lines, err := l.snapshot()
	if err != nil {
		writeError(w, http.StatusInternalServerError, errors.New("the ledger cannot be read"))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	err = eachEntry(lines, func(entry Entry, line []byte) error {
		if entry.Time.Before(since) {
			return nil
		}
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		panic(http.ErrAbortHandler) // cuts the connection, so that the client notices that the ledger is not complete
	}
}
