package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"herald/internal/notification"
)

// filter chooses lines of the ledger. Its zero value chooses all.
type filter struct {
	channel    notification.Channel
	deliveryID string
	since      time.Time // inclusive
	limit      int       // the newest so many; 0: all
}

func parseFilter(query url.Values) (filter, error) {
	var f filter
	var err error
	for name, values := range query {
		value := values[0]
		switch name {
		case "channel":
			f.channel, err = channelOf(value)
		case "delivery_id":
			f.deliveryID = value
		case "since":
			if f.since, err = time.Parse(time.RFC3339Nano, value); err != nil {
				err = errors.New("since must be a time like 2026-11-21T10:00:00Z")
			}
		case "limit":
			if f.limit, err = strconv.Atoi(value); err != nil || f.limit < 1 {
				err = errors.New("limit must be a number above 0")
			}
		default:
			err = fmt.Errorf("unknown parameter %q; there are channel, delivery_id, since and limit", name)
		}
		if err != nil {
			return filter{}, err
		}
	}
	return f, nil
}

func (f filter) matches(line []byte) bool {
	var entry Entry
	return json.Unmarshal(line, &entry) == nil &&
		(f.channel == "" || f.channel == entry.Channel) &&
		(f.deliveryID == "" || f.deliveryID == entry.DeliveryID) &&
		!entry.Time.Before(f.since)
}

// serveLedger streams the ledger's lines, oldest first. It reads the file
// twice where there is a limit, rather than keep lines in memory.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		complain(w, http.StatusBadRequest, err)
		return
	}
	lines, skip := s.ledger.snapshot(), 0
	if f.limit > 0 {
		matching := 0
		if err := f.each(lines, func([]byte) error { matching++; return nil }); err != nil {
			complain(w, http.StatusInternalServerError, errors.New("the ledger cannot be read"))
			return
		}
		skip = max(0, matching-f.limit)
		_, _ = lines.Seek(0, io.SeekStart) // to the start it cannot fail
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	err = f.each(lines, func(line []byte) error {
		if skip > 0 {
			skip--
			return nil
		}
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		panic(http.ErrAbortHandler) // cut it visibly: half a ledger must not look like a whole one
	}
}

// each calls do with each line that the filter chooses.
func (f filter) each(r io.Reader, do func(line []byte) error) error {
	_, err := eachLine(r, func(line []byte) error {
		if f.matches(line) {
			return do(line)
		}
		return nil
	})
	return err
}
