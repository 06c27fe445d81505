package sandbox

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/k3a/html2text"

	"herald/internal/notification"
)

//go:embed page
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "page/*.html"))

const (
	previewRunes = 160
	// pagePolicy lets a page load its style, its script and itself, and show a mail in a frame.
	pagePolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; " +
		"base-uri 'none'"
)

// view holds the contents of the page.
type view struct {
	Channels []channelView
	Entries  []line // newest first
	Shown    int    // maximum number of entries
	Filter   filter

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
	Faulty []faultView
}

// faultView is a provider that the page's buttons make fail.
type faultView struct {
	Name     notification.Channel // in PUT /faults
	Provider string
	Fault    string // in JSON; empty: none
}

// filter selects entries. An empty field selects all.
type filter struct {
	Channel   notification.Channel
	Recipient string // a part of it
	Accepted  string // true or false
}

func readFilter(values url.Values) (filter, error) {
	f := filter{notification.Channel(values.Get("channel")), values.Get("recipient"), values.Get("accepted")}
	switch {
	case f.Channel != "" && !slices.Contains(channels, f.Channel):
		return f, fmt.Errorf("channel must be one of %v", channels)
	case !slices.Contains([]string{"", "true", "false"}, f.Accepted):
		return f, errors.New("accepted must be true or false")
	default:
		return f, nil
	}
}

func (f filter) matches(e Entry) bool {
	return (f.Channel == "" || f.Channel == e.Channel) &&
		(f.Accepted == "" || f.Accepted == fmt.Sprint(e.Accepted)) &&
		strings.Contains(strings.ToLower(e.Recipient), strings.ToLower(f.Recipient))
}

// Query returns the filter as the query of the page's URL.
func (f filter) Query() template.URL {
	values := url.Values{}
	for name, value := range map[string]string{"channel": string(f.Channel), "recipient": f.Recipient, "accepted": f.Accepted} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return template.URL(values.Encode())
}

// page shows the newest entries of the ledger that match the filter.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	selected, err := readFilter(r.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	shown, err := s.view(selected)
	if err != nil {
		writeError(w, http.StatusInternalServerError, errors.New("the ledger cannot be read"))
		return
	}
	show(w, "index.html", shown)
}

func show(w http.ResponseWriter, name string, contents any) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, contents); err != nil {
		slog.Error("the sandbox cannot show its page", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	_, _ = page.WriteTo(w)
}

// pageFile serves the style or the script of the pages.
func pageFile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, pageFiles, "page"+r.URL.Path)
}

func (s *Server) view(selected filter) (view, error) {
	found, err := s.ledger.find(selected)
	if err != nil {
		return view{}, err
	}
	v := view{Shown: remembered, Filter: selected, Channels: s.channelViews()}
	if s.courier.gateway != "" {
		v.Receipts = &receiptsView{Counts: s.courier.counted(), Settings: s.courier.settings.Load().sentence()}
	}
	for _, entry := range slices.Backward(found) {
		entry.Body = preview(entry.Entry)
		v.Entries = append(v.Entries, entry)
	}
	return v, nil
}

func (s *Server) channelViews() (views []channelView) {
	faults, counts := s.faults.all(), s.ledger.counted()
	for _, channel := range channels {
		shown := channelView{Name: channel, Counts: counts[channel]}
		for _, p := range providers {
			if p.channel != channel {
				continue
			}
			faulty := faultView{Name: p.fault, Provider: p.name}
			if fault, ok := faults[p.fault]; ok {
				faulty.Fault = fault.String()
			}
			shown.Faulty = append(shown.Faulty, faulty)
		}
		views = append(views, shown)
	}
	return views
}

// preview returns the beginning of the body on one line and without markup. The page's
// template escapes it.
func preview(entry Entry) string {
	text := strings.Join(strings.Fields(plain(entry)), " ")
	if runes := []rune(text); len(runes) > previewRunes {
		text = string(runes[:previewRunes]) + "…"
	}
	return text
}

// plain returns the body without markup.
func plain(entry Entry) string {
	switch entry.Channel {
	case notification.Email:
		return html2text.HTML2Text(entry.Body)
	case notification.Slack:
		return html.UnescapeString(entry.Body)
	default:
		return entry.Body
	}
}
