// Package console serves the knowledge and the verbs of `starter` as pages, for people without a
// shell. It decides nothing: packages explain, report, check and operate do.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"herald/internal/answer"
	"herald/internal/check"
	"herald/internal/explain"
	"herald/internal/inbox"
	"herald/internal/list"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/report"
)

// Config holds the dependencies and settings of a [Console].
type Config struct {
	Explain explain.Explainer
	// Operator returns an operator who carries out one order.
	Operator  func(operate.Order) *operate.Operator
	Providers func(context.Context) ([]operate.ProviderView, error)
	Pollers   func(context.Context) (operate.Pollers, error)
	Check     func(context.Context) check.Result
	Answers   answer.Reader // for programs
	Sources   []relay.Source
	// Codec decrypts payloads for Temporal's Web UI and CLI.
	Codec http.Handler

	Access Access
	// Key signs the forms, 32 bytes. A form is valid as long as its key.
	Key    []byte
	Logger *slog.Logger
}

// Console answers operators' browsers. It is safe for concurrent use.
type Console struct {
	Config
	forms    operate.Forms
	slots    chan struct{} // one for each request in flight
	now      func() time.Time
	searched int // see list.Reader.Searched
}

const (
	maxInFlight = 16
	// maxRefreshing is the number of requests in flight from which pages do not refresh themselves, so that
	// people who open a page find a slot.
	maxRefreshing = 8
	// timeout limits the time of a page, and checkTimeout the time of a check and of a change.
	timeout      = 10 * time.Second
	checkTimeout = time.Minute
	// maxForm limits a form's bytes. A payload for a preview has up to 256 KiB, which percent
	// encoding may triple.
	maxForm = 1 << 20
)

// New returns a console.
func New(cfg Config) *Console {
	return &Console{Config: cfg, forms: operate.Forms{Key: cfg.Key}, slots: make(chan struct{}, maxInFlight), now: time.Now}
}

func (c *Console) reader() report.Reader { return report.Reader{Pool: c.Explain.DB.Pool} }

func (c *Console) lists() list.Reader {
	return list.Reader{Pool: c.Explain.DB.Pool, Searched: c.searched}
}

// Handler serves the pages and takes their forms.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /style.css", static("text/css", inbox.Style()))
	mux.Handle("GET /live.js", static("text/javascript", liveScript))
	for pattern, serve := range c.pages() {
		mux.Handle(pattern, c.handler(pattern, serve))
	}
	root := http.NewServeMux()
	root.Handle("/", c.guarded(mux, c.Access.Origin, maxForm))
	root.Handle("/codec/", c.codec())
	return root
}

// pages returns the pages by their patterns. The table allowing has the roles of each.
func (c *Console) pages() map[string]func(context.Context, *http.Request) (page, error) {
	return map[string]func(context.Context, *http.Request) (page, error){
		"GET /{$}":        c.overview,
		"GET /events":     c.events,
		"GET /event":      c.event,
		"GET /simulation": c.simulation,
		"GET /deliveries": c.deliveries,
		"GET /delivery":   c.delivery,
		"GET /why":        c.why,
		"GET /recipient":  c.recipient,
		"GET /rules":      c.rules,
		"GET /templates":  c.templates,
		"POST /templates": c.preview,
		"GET /check":      c.askCheck,
		"POST /check":     c.check,
		"GET /audit":      c.audit,
		"GET /search":     c.askSearch,
		"POST /search":    c.search,
		"POST /change":    c.change,
		"/":               notFound,
	}
}

func notFound(context.Context, *http.Request) (page, error) {
	return page{}, &refusal{http.StatusNotFound, "There is no such page."}
}
