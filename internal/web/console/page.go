package console

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/list"
	"herald/internal/notification"
	problems "herald/internal/web/problem"
)

//go:embed page
var files embed.FS

//go:embed live.js
var liveScript []byte

// page is the answer to a request: the name of a template and its data.
type page struct {
	name    string
	title   string
	data    any
	running bool   // live.js loads the page again every few seconds
	goTo    string // a path to go to, instead of a template
}

// refusal is an answer without a page. The text is for the person.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// view holds a page's data and what the layout adds.
type view struct {
	Title   string
	Person  person
	Running bool
	Data    any
}

var templates = parse()

// parse returns each page's template with the layout and the parts that pages share.
func parse() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "page/layout.html", "page/parts.html"))
	parsed := map[string]*template.Template{}
	names, err := files.ReadDir("page")
	if err != nil {
		panic(err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(file.Name(), ".html")
		if name != "layout" && name != "parts" {
			parsed[name] = template.Must(template.Must(shared.Clone()).ParseFS(files, path.Join("page", file.Name())))
		}
	}
	return parsed
}

var functions = template.FuncMap{
	"age":     age,
	"took":    took,
	"clock":   clock,
	"seconds": func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) },
	"word":    channelWord,
	"lower":   func(text any) string { return strings.ToLower(fmt.Sprint(text)) },
	"list":    func(values ...any) []any { return values },
	"parts":   func(text any) []string { return strings.Split(fmt.Sprint(text), "`") },
	"odd":     func(n int) bool { return n%2 == 1 },
}

// age formats a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
}

// took formats the time that a provider took; nil: it was not called.
func took(seconds *float64) string {
	if seconds == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f s", *seconds)
}

// clock formats a time in UTC. It may be nil or zero.
func clock(at any) string {
	switch t := at.(type) {
	case time.Time:
		if !t.IsZero() {
			return t.UTC().Format(time.DateTime)
		}
	case *time.Time:
		if t != nil {
			return clock(*t)
		}
	}
	return "–"
}

// handler serves one page within its time limit.
func (c *Console) handler(pattern string, serve func(context.Context, *http.Request) (page, error)) http.Handler {
	limit := timeout
	if slices.Contains([]string{"GET /simulation", "POST /check", "POST /change"}, pattern) {
		limit = checkTimeout
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		if err := personOf(ctx).refusal(pattern); err != nil {
			c.refuse(w, r, err)
			return
		}
		if err := r.ParseForm(); err != nil {
			c.refuse(w, r, &refusal{http.StatusBadRequest, "The form or the address cannot be read."})
			return
		}
		if wantsJSON(r) {
			c.answer(ctx, w, r, pattern)
			return
		}
		served, err := serve(ctx, r)
		switch {
		case err != nil:
			c.refuse(w, r, err)
		case served.goTo != "":
			http.Redirect(w, r, served.goTo, http.StatusSeeOther)
		default:
			c.show(w, r, http.StatusOK, served)
		}
	})
}

func (c *Console) show(w http.ResponseWriter, r *http.Request, status int, p page) {
	var text bytes.Buffer
	if err := templates[p.name].Execute(&text, view{p.title, personOf(r.Context()), p.running, p.data}); err != nil {
		c.Logger.ErrorContext(r.Context(), "a page of the console cannot be written", "page", p.name, "error", err)
		http.Error(w, "This page cannot be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // it fails only if the client has disconnected
}

// problem is the data of the page that explains an error.
type problem struct{ Text, Next string }

// refuse answers with a page that names the mistake and the next step. Only the log has errors of servers.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, shown := c.explained(r, err)
	if wantsJSON(r) {
		problems.Write(w, status, strings.TrimSpace(shown.Text+" "+shown.Next))
		return
	}
	c.show(w, r, status, page{name: "problem", title: http.StatusText(status), data: shown})
}

// explained returns the status and the texts of an error.
func (c *Console) explained(r *http.Request, err error) (int, problem) {
	var refused *refusal
	var advised *advice.Error
	var unknownType *notification.UnknownUserTypeError
	status, shown := http.StatusServiceUnavailable,
		problem{"The database or Temporal does not answer in time.", "Load the page again. `starter status` shows more."}
	switch {
	case errors.As(err, &refused):
		status, shown = refused.status, problem{Text: refused.text}
	case errors.Is(err, notification.ErrNoEvent), errors.Is(err, notification.ErrNoDelivery):
		status, shown = http.StatusNotFound, problem{err.Error(), "Look for it in the search."}
	case errors.Is(err, list.ErrNoPlace):
		status, shown = http.StatusBadRequest, problem{Text: "The address of this page is damaged, or its rows are gone."}
	case errors.As(err, &unknownType):
		status, shown = http.StatusNotFound, problem{err.Error(), "Name a type of user_type."}
	case errors.As(err, &advised):
		status, shown = http.StatusUnprocessableEntity, problem{err.Error(), advised.Next}
	default:
		c.Logger.ErrorContext(r.Context(), "a page of the console failed", "path", r.URL.Path, "error", err)
	}
	return status, shown
}

// static serves a file that has no data.
func static(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType+"; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}

// pageSize is the number of rows of a list.
const pageSize = 50

// pageAt returns where the page of a list begins, by the address that [older] made.
func pageAt(query url.Values) list.Place {
	return list.Place{After: query.Get("before"), Limit: pageSize}
}

// older returns the address of the next page, which has the same filters and begins after a key. It
// is empty after the last page.
func older(r *http.Request, through string) string {
	if through == "" {
		return ""
	}
	query := maps.Clone(r.URL.Query())
	query.Set("before", through)
	return r.URL.Path + "?" + query.Encode()
}

// recipientOf reads a name such as CUSTOMER/7.
func recipientOf(text string) (notification.RecipientKey, error) {
	userType, id, found := strings.Cut(strings.TrimSpace(text), "/")
	if !found || userType == "" || id == "" {
		return notification.RecipientKey{},
			&refusal{http.StatusBadRequest, fmt.Sprintf("%q is no recipient. Write the type and the id, such as CUSTOMER/7.", text)}
	}
	return notification.RecipientKey{UserType: notification.UserType(userType), UserID: id}, nil
}

// channelOf reads a channel; empty: none.
func channelOf(text string) (notification.Channel, error) {
	channel := notification.Channel(strings.ToUpper(text))
	if text != "" && !channel.Valid() {
		return "", &refusal{http.StatusBadRequest, fmt.Sprintf("%q is no channel.", text)}
	}
	return channel, nil
}

// channelWord is the name of a channel in a heading.
func channelWord(channel notification.Channel) string {
	text := strings.ToLower(string(channel))
	if len(text) <= 3 {
		return strings.ToUpper(text)
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
