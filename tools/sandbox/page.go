package sandbox

import (
	"bytes"
	_ "embed"
	"html"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/k3a/html2text"

	"herald/internal/notification"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

const previewRunes = 160

// view holds the contents of the page.
type view struct {
	Channels []channelView
	Entries  []Entry // newest first
	Shown    int     // maximum number of entries

	Receipts *receiptsView // nil: the sandbox sends no receipts
}

// receiptsView is the page's section on receipts.
type receiptsView struct {
	Counts   receiptCounts
	Settings string // a sentence
}

type channelView struct {
	Name   notification.Channel
	Counts requestCounts
	Fault  string // in JSON; empty: none
}

// page shows the newest entries of the ledger.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, s.view()); err != nil {
		slog.Error("the sandbox cannot show its page", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = page.WriteTo(w)
}

func (s *Server) view() view {
	faults := s.faults.all()
	newest, counts := s.ledger.recent()

	v := view{Shown: remembered}
	if s.courier.gateway != "" {
		v.Receipts = &receiptsView{Counts: s.courier.counted(), Settings: s.courier.settings.get().sentence()}
	}
	for _, channel := range channels {
		shown := channelView{Name: channel, Counts: counts[channel]}
		if fault, ok := faults[channel]; ok {
			shown.Fault = fault.String()
		}
		v.Channels = append(v.Channels, shown)
	}
	for _, entry := range slices.Backward(newest) {
		entry.Body = preview(entry)
		v.Entries = append(v.Entries, entry)
	}
	return v
}

// preview returns the beginning of the body on one line and without markup. The page's
// template escapes it.
func preview(entry Entry) string {
	text := entry.Body
	switch entry.Channel {
	case notification.Email:
		text = html2text.HTML2Text(text)
	case notification.Slack:
		text = html.UnescapeString(text)
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > previewRunes {
		text = string(runes[:previewRunes]) + "…"
	}
	return text
}
