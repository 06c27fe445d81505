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
	Accepted   bool                 `json:"accepted"` // the message counts as sent, even if the client got no response

	Text        string `json:"text,omitempty"`         // the part in plain text; only of e-mails, whose body is HTML
	CollapseKey string `json:"collapse_key,omitempty"` // a message replaces older ones with the same key on the phone; only of push messages
	Unsubscribe string `json:"unsubscribe,omitempty"`  // link that a mailbox posts to for one-click unsubscribe; only of e-mails
	Repeat      bool   `json:"repeat,omitempty"`       // the receiver knows the id already, and ignores the message; only of webhooks
}

const (
	remembered   = 200     // entries kept in memory for the page; the file has all
	previewLimit = 2 << 10 // bytes of each text kept for the page
)

// line is an entry and its place in the file.
type line struct {
	Entry
	At int64 // offset in bytes
}

// requestCounts counts the requests of one channel.
type requestCounts struct{ Accepted, Refused int }

// ledger is the file, with the newest entries and the counts for the page.
type ledger struct {
	mu     sync.Mutex
	file   *os.File
	size   int64 // of the file, in bytes
	newest []line
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
	err = eachEntry(file, func(entry Entry, text []byte) error {
		l.remember(entry, len(text))
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
			return fmt.Errorf("line %d is not an entry of a ledger", number)
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
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // people read the e-mails in the ledger
	if err := encoder.Encode(entry); err != nil {
		return fmt.Errorf("encode entry: %w", err)
	}
	length := text.Len()
	if _, err := text.WriteTo(l.file); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	l.remember(entry, length)
	return nil
}

// remember keeps the part of an entry that the page shows. The entry's line has this length, in
// bytes.
func (l *ledger) remember(entry Entry, length int) {
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

	l.newest = keep(l.newest, line{entry.clipped(), l.size})
	l.size += int64(length)
}

// keep appends a line to the newest lines. If there are too many, it drops the oldest line.
func keep(newest []line, added line) []line {
	if len(newest) == remembered {
		newest = append(newest[:0], newest[1:]...)
	}
	return append(newest, added)
}

// clipped returns the entry with the beginning of each text.
func (e Entry) clipped() Entry {
	for _, text := range []*string{&e.DeliveryID, &e.Recipient, &e.Title, &e.Body, &e.Text, &e.Unsubscribe} {
		*text = clip(*text)
	}
	return e
}

// clip copies the beginning of a text, so that the garbage collector can free the whole text.
func clip(text string) string {
	if len(text) <= previewLimit {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:previewLimit]), "") + "…"
}

// counted returns the counts of all entries.
func (l *ledger) counted() map[notification.Channel]requestCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// find returns the newest entries that match the filter, oldest first. It reads the whole file
// only if there is a filter.
func (l *ledger) find(f filter) (found []line, err error) {
	if f == (filter{}) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Clone(l.newest), nil
	}
	lines, err := l.snapshot()
	if err != nil {
		return nil, err
	}
	var at int64
	err = eachEntry(lines, func(entry Entry, text []byte) error {
		if f.matches(entry) {
			found = keep(found, line{entry.clipped(), at})
		}
		at += int64(len(text))
		return nil
	})
	return found, err
}

var errNoEntry = errors.New("no entry begins there")

// at returns the whole entry whose line begins at an offset.
func (l *ledger) at(offset int64) (found Entry, err error) {
	lines, err := l.snapshot()
	if err != nil {
		return found, err
	}
	if _, err := lines.Seek(offset, io.SeekStart); err != nil {
		return found, errNoEntry
	}
	text, err := bufio.NewReader(lines).ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &found) != nil || found.Time.IsZero() {
		return found, errNoEntry
	}
	return found, nil
}

// snapshot returns the current contents of the ledger. All lines are whole: append also
// holds the lock.
func (l *ledger) snapshot() (io.ReadSeeker, error) {
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
