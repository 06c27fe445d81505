package sandbox

import (
	"errors"
	"net/http"
	"time"
)

// serve streams the ledger's lines, oldest first; with the parameter since, those from
// that time on.
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
		panic(http.ErrAbortHandler) // cuts the connection, so that half a ledger does not look like a whole one
	}
}
