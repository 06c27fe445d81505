package unsubscribe

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/web/problem"
)

// timeout limits the time of a request, including the wait for the database.
const timeout = 10 * time.Second

// policy lets the page load the inbox's style and send its form. No script runs, and no other page
// may frame it.
const policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Page is the page behind the links. A GET shows a question and changes nothing, because mail scanners follow
// links. A POST, from the page's form or a mailbox provider, unsubscribes at once, with any body.
// Nobody needs to sign in: the link is enough.
type Page struct {
	Links       Links
	Preferences preference.Store
	Sender      string // the name that mails come from; empty: not known
	// Enter counts a recipient's request until leave is called, or refuses the request.
	Enter func(ctx context.Context, who notification.RecipientKey) (leave func(), err error)
}

// view holds the texts of the page.
type view struct {
	State  state
	What   string // such as "e-mails about offers"
	Sender string // show sets it
}

// state is the state of a subscription, or the reason of a refusal.
type state string

const (
	on        state = "on"
	off       state = "off"
	mandatory state = "mandatory"
	unknown   state = "unknown" // the link is invalid
	away      state = "away"    // the database does not answer
	busy      state = "busy"    // the recipient sends too many requests
)

// statuses holds the HTTP statuses of refusals.
var statuses = map[state]int{
	mandatory: http.StatusUnprocessableEntity, unknown: http.StatusBadRequest, away: http.StatusServiceUnavailable,
	busy: http.StatusTooManyRequests,
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	answer := p.ask
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		answer = p.unsubscribe
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		problem.Write(w, http.StatusMethodNotAllowed, "this path takes GET and POST")
		return
	}
	subscription, ok := p.Links.read(r.URL.Query().Get("token"))
	if !ok {
		p.refuse(w, r, view{State: unknown}, "the link is incomplete: use the whole link of the mail")
		return
	}
	leave, err := p.Enter(ctx, subscription.RecipientKey)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		p.refuse(w, r, view{State: busy}, "you send too many requests; try again")
		return
	}
	defer leave()
	answer(w, r.WithContext(ctx), subscription)
}

func (p *Page) ask(w http.ResponseWriter, r *http.Request, s Subscription) {
	current, err := p.Preferences.Preferences(r.Context(), s.RecipientKey)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.show(w, http.StatusOK, view{State: standing(current, s), What: what(s)})
}

func (p *Page) unsubscribe(w http.ResponseWriter, r *http.Request, s Subscription) {
	err := p.Preferences.Unsubscribe(r.Context(), s.RecipientKey, s.Category, s.Channel)
	var refused *notification.PreferenceError
	switch {
	case errors.As(err, &refused):
		p.refuse(w, r, view{State: mandatory, What: what(s)}, "nothing was changed", refused.Problems...)
	case err != nil:
		p.fail(w, r, err)
	default:
		p.show(w, http.StatusOK, view{State: off, What: what(s)})
	}
}

// standing returns the state of a subscription in the preferences.
func standing(p notification.Preferences, s Subscription) state {
	switch {
	case p.CheckOff(s.Category, s.Channel) != nil:
		return mandatory
	case p.Off(s.Category, s.Channel):
		return off
	default:
		return on
	}
}

// words holds the inbox's names for the messages of a channel.
var words = map[notification.Channel]string{
	notification.WebSocket: "notifications in your inbox", notification.Email: "e-mails", notification.Push: "push notifications",
	notification.SMS: "text messages", notification.Slack: "Slack messages",
}

// what returns the inbox's name for the subscription.
func what(s Subscription) string {
	messages := cmp.Or(words[s.Channel], "messages")
	if s.Category == "" {
		return messages
	}
	return messages + " about " + strings.NewReplacer("-", " ", "_", " ").Replace(s.Category)
}

// fail answers if the database does not answer.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, err error) {
	slog.ErrorContext(r.Context(), "a request to unsubscribe failed", "method", r.Method, "error", err)
	w.Header().Set("Retry-After", "1")
	p.refuse(w, r, view{State: away}, "unsubscribing is not possible now: try again")
}

// refuse answers people with a page, and programs with a problem.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, v view, detail string, problems ...string) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.show(w, statuses[v.State], v)
		return
	}
	problem.Write(w, statuses[v.State], detail, problems...)
}

// show answers with the page. It must not be cached, because it is private and changes.
func (p *Page) show(w http.ResponseWriter, status int, v view) {
	v.Sender = p.Sender
	var text bytes.Buffer
	if err := page.Execute(&text, v); err != nil {
		panic(err) // only a mistake in our template or values
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // it fails only if the client has disconnected
}
