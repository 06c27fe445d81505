package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"herald/internal/notification"
)

// Entry is one line of the ledger: one request, and what came of it.
type Entry struct {
	Time       time.Time            `json:"time"`
	Channel    notification.Channel `json:"channel"`
	DeliveryID string               `json:"delivery_id"`
	Recipient  string               `json:"recipient"`
	Title      string               `json:"title"`
	Body       string               `json:"body"`
	Status     int                  `json:"status"`   // of the answer; 0: there was none
	Accepted   bool                 `json:"accepted"` // the message counts as sent, whether or not the client was told
}

const (
	remembered = 200 // entries kept for the page; the file has them all

	// What is kept of a text for the page, in bytes.
	previewLimit = 2 << 10
)

// tally counts the requests of one channel.
type tally struct{ Accepted, Refused int }

// ledger is the file, and what the page shows of it.
type ledger struct {
	mu     sync.Mutex
	file   *os.File
	size   int64 // of the whole lines in file, in bytes
	newest []Entry
	counts map[notification.Channel]tally
}

// openLedger continues the ledger at path. A last line without its end is cut
// off: its request was never answered.
func openLedger(path string) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open ledger: %w", err)
	}
	l := &ledger{file: file, counts: map[notification.Channel]tally{}}
	if err := l.restore(); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("sandbox: read ledger: %w", err)
	}
	return l, nil
}

func (l *ledger) restore() error {
	rest, err := eachLine(l.file, func(line []byte) error {
		var entry Entry
		if err := json.Unmarshal(line, &entry); err != nil || entry.Time.IsZero() {
			return fmt.Errorf("at byte %d is no entry of a ledger", l.size)
		}
		l.size += int64(len(line))
		l.note(entry)
		return nil
	})
	if err != nil || len(rest) == 0 {
		return err
	}
	const opening = `{"time":`
	if !bytes.HasPrefix(rest, []byte(opening)) && !strings.HasPrefix(opening, string(rest)) {
		return fmt.Errorf("at byte %d is no entry of a ledger", l.size)
	}
	return l.file.Truncate(l.size)
}

// append adds an entry, stamped with the time. It is in the file when append
// returns nil, and not when it returns an error.
func (l *ledger) append(entry Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	entry.Time = time.Now().UTC() // under the lock, so that times never go back
	line, err := encode(entry)
	if err != nil {
		return fmt.Errorf("encode entry: %w", err)
	}
	if n, err := l.file.Write(line); err != nil {
		if n > 0 {
			_ = l.file.Truncate(l.size) // a full disk: half a line would spoil the next one
		}
		return fmt.Errorf("write ledger: %w", err)
	}
	l.size += int64(len(line))
	l.note(entry)
	return nil
}

// encode returns the entry as one line, with its end.
func encode(entry Entry) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // mails are to be read
	err := encoder.Encode(entry)
	return line.Bytes(), err
}

// note keeps what the page shows of an entry.
func (l *ledger) note(entry Entry) {
	count := l.counts[entry.Channel]
	if entry.Accepted {
		count.Accepted++
	} else {
		count.Refused++
	}
	l.counts[entry.Channel] = count

	entry.DeliveryID, entry.Recipient = clip(entry.DeliveryID), clip(entry.Recipient)
	entry.Title, entry.Body = clip(entry.Title), clip(entry.Body)
	if len(l.newest) == remembered {
		l.newest = append(l.newest[:0], l.newest[1:]...)
	}
	l.newest = append(l.newest, entry)
}

// clip copies the beginning of a text, so that the rest of it can be freed.
func clip(text string) string {
	if len(text) <= previewLimit {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:previewLimit]), "") + "…"
}

// recent returns the newest entries, oldest first, and the counts of all.
func (l *ledger) recent() ([]Entry, map[notification.Channel]tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.newest), maps.Clone(l.counts)
}

// snapshot returns the ledger's whole lines as they are now. Later ones do
// not disturb its reading.
func (l *ledger) snapshot() *io.SectionReader {
	l.mu.Lock()
	defer l.mu.Unlock()
	return io.NewSectionReader(l.file, 0, l.size)
}

func (l *ledger) close() error { return l.file.Close() }
