package sandbox

import (
	"cmp"
	"net/http"
	"strconv"

	"herald/internal/notification"
)

// mailPolicy allows only the mail's own styles: no scripts, no loading and no forms, even if somebody opens
// the mail outside of its frame.
const mailPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// messageView holds the contents of the page of one message.
type messageView struct {
	line
	IsMail bool
	Plain  string // the text without markup
}

// message shows one whole message: an e-mail as HTML and as text.
func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	found, ok := s.messageAt(w, r)
	if !ok {
		return
	}
	show(w, "message.html", messageView{found, found.Channel == notification.Email, cmp.Or(found.Text, plain(found.Entry))})
}

// mail serves an e-mail's HTML, for the frame in its page.
func (s *Server) mail(w http.ResponseWriter, r *http.Request) {
	found, ok := s.messageAt(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", mailPolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write([]byte(found.Body)) // the client may be gone
}

// messageAt returns the entry that the path names by its offset in the ledger, or answers with 404.
func (s *Server) messageAt(w http.ResponseWriter, r *http.Request) (line, bool) {
	at, err := strconv.ParseInt(r.PathValue("at"), 10, 64)
	if err != nil {
		writeError(w, http.StatusNotFound, errNoEntry)
		return line{}, false
	}
	entry, err := s.ledger.at(at)
	if err != nil {
		writeError(w, http.StatusNotFound, errNoEntry)
		return line{}, false
	}
	return line{entry, at}, true
}
