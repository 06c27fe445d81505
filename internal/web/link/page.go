package link

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/web/problem"
)

// timeout limits the time of a request, including the wait for the database.
const timeout = 10 * time.Second

// policy lets a page load the inbox's style and send its form. No script runs, and no other page may frame
// it. Its verb is the origin of the brand's logo.
const policy = "default-src 'none'; style-src 'self'; img-src data:%s; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Brand is the sender that the pages show.
type Brand struct {
	Name    string // empty: not known
	LogoURL string // https, or http on this machine; empty: a bell
}

// Pages serves the pages behind the links. A GET shows a page and changes nothing, because mail scanners
// follow links. A POST, from the page's form, changes what the link is for.
type Pages struct {
	Links       Links
	Preferences preference.Store
	Brand       Brand
	// Enter counts a recipient's request until leave is called, or refuses the request.
	Enter func(ctx context.Context, who notification.RecipientKey) (leave func(), err error)
}

// state is the state of what a page shows, or the reason of a refusal.
type state string

const (
	on        state = "on" // a subscription
	off       state = "off"
	mandatory state = "mandatory"
	choices   state = "choices" // the preferences
	saved     state = "saved"
	notSaved  state = "not-saved"
	audible   state = "audible" // an entity
	muted     state = "muted"
	unmuted   state = "unmuted"
	tooMany   state = "too-many"
	unknown   state = "unknown" // the link is invalid
	gone      state = "gone"    // the person or the address of the link is no longer
	away      state = "away"    // the database does not answer
	busy      state = "busy"    // the recipient sends too many requests
)

// statuses holds the HTTP statuses of refusals.
var statuses = map[state]int{
	mandatory: http.StatusUnprocessableEntity, notSaved: http.StatusUnprocessableEntity, tooMany: http.StatusUnprocessableEntity,
	unknown: http.StatusBadRequest, gone: http.StatusGone, away: http.StatusServiceUnavailable, busy: http.StatusTooManyRequests,
}

// view holds the content of a page.
type view struct {
	State   state
	Heading string
	Body    string
	Button  *button // of a form with nothing else
	Form    *form   // of the preferences
	Also    string  // the address of the preferences; empty: no link

	Text  *texts // write sets it, and Brand
	Brand Brand
}

// button sends a form with one hidden field.
type button struct{ Name, Value, Label string }

// visit is a request with a valid token.
type visit struct {
	w http.ResponseWriter
	r *http.Request
	claim
	preference.Holder
	text *texts
}

// handler serves the links for a purpose. bound tells that a link dies with its address. ask answers GET,
// act POST.
func (p *Pages) handler(to purpose, bound bool, ask, act func(*visit)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		answer := ask
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPost:
			answer = act
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			problem.Write(w, http.StatusMethodNotAllowed, "this path takes GET and POST")
			return
		}
		v := &visit{w: w, r: r.WithContext(ctx), text: textsFor("", r.Header.Get("Accept-Language"))}
		var ok bool
		if v.claim, ok = p.Links.read(r.URL.Query().Get("token"), to); !ok {
			p.refuse(v, view{State: unknown, Heading: v.text.Incomplete, Body: v.text.IncompleteBody},
				"the link is incomplete: use the whole link of the message")
			return
		}
		leave, err := p.Enter(ctx, v.claim.RecipientKey)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			p.refuse(v, view{State: busy, Heading: v.text.Broken, Body: v.text.BrokenBody}, "you send too many requests; try again")
			return
		}
		defer leave()
		if p.meet(v, bound) {
			answer(v)
		}
	})
}

// meet finds the person of a visit and their language. It answers and returns false if there is none.
func (p *Pages) meet(v *visit, bound bool) (ok bool) {
	var err error
	v.Holder, ok, err = p.Preferences.Holder(v.r.Context(), preference.Link{
		RecipientKey: v.claim.RecipientKey, Channel: v.channel, Salt: v.address.salt, Digest: v.address.digest,
	})
	switch {
	case err != nil:
		p.fail(v, err)
		return false
	case !ok && !bound:
		v.address = binding{} // the token for the preferences has died
	case !ok:
		p.refuse(v, view{State: gone, Heading: v.text.Gone, Body: v.text.GoneBody}, "the link is no longer valid")
		return false
	}
	v.text = textsFor(v.Locale, v.r.Header.Get("Accept-Language"))
	return true
}

// also returns the address of the preferences of a visit's person: in the inbox, if the link has no address,
// or the person has another.
func (v *visit) also() string {
	if token := v.preferences(); token != "" {
		return "preferences?token=" + token
	}
	return "./#preferences"
}

// fail answers if the database does not answer.
func (p *Pages) fail(v *visit, err error) {
	slog.ErrorContext(v.r.Context(), "a request by a link failed", "path", v.r.URL.Path, "method", v.r.Method, "error", err)
	v.w.Header().Set("Retry-After", "1")
	p.refuse(v, view{State: away, Heading: v.text.Broken, Body: v.text.BrokenBody}, "this is not possible now: try again")
}

// refuse answers people with a page, and programs with a problem.
func (p *Pages) refuse(v *visit, what view, detail string, problems ...string) {
	if strings.Contains(v.r.Header.Get("Accept"), "text/html") {
		p.write(v, statuses[what.State], what)
		return
	}
	v.w.Header().Set("X-Robots-Tag", "noindex")
	problem.Write(v.w, statuses[what.State], detail, problems...)
}

func (p *Pages) show(v *visit, what view) { p.write(v, http.StatusOK, what) }

// write answers with a page. It must not be cached, because it is private and changes.
func (p *Pages) write(v *visit, status int, what view) {
	what.Text, what.Brand = v.text, p.Brand
	var text bytes.Buffer
	if err := page.Execute(&text, what); err != nil {
		panic(err) // only a mistake in our template or values
	}
	header := v.w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", v.text.Lang)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Robots-Tag", "noindex")
	header.Set("Content-Security-Policy", fmt.Sprintf(policy, p.Brand.source()))
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text.Bytes()) // it fails only if the client has disconnected
}

// source returns the origin of the logo for a policy, with a space before it.
func (b Brand) source() string {
	u, err := url.Parse(b.LogoURL)
	if err != nil || b.LogoURL == "" {
		return ""
	}
	return " " + u.Scheme + "://" + u.Host
}
