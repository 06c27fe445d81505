// Package inbox serves the API of a recipient's notifications and preferences, and a page that
// uses the API.
package inbox

import (
	"context"
	"net/http"
	"time"

	"herald/internal/notification"
	"herald/internal/web/signin"
)

const (
	// bodyLimit is the longest body that a request may have, in bytes.
	bodyLimit = 64 << 10
	// timeout bounds one request, and so the wait for the database.
	timeout = 10 * time.Second
)

// Notifications reads inboxes.
type Notifications interface {
	InboxPage(ctx context.Context, who notification.RecipientKey, filter notification.InboxFilter) (notification.InboxPage, error)
	Unread(ctx context.Context, who notification.RecipientKey) (int, error)
}

// Readings records what was read. What the recipient does not have is a
// [notification.ErrNoNotification].
type Readings interface {
	MarkRead(ctx context.Context, who notification.RecipientKey, id int64) error
	MarkAllRead(ctx context.Context, who notification.RecipientKey, until int64) error
}

// Preferences keeps what recipients want. What is invalid or mandatory is a
// [notification.PreferenceError].
type Preferences interface {
	Preferences(ctx context.Context, who notification.RecipientKey) (notification.Preferences, error)
	SetPreferences(ctx context.Context, who notification.RecipientKey, preferences notification.Preferences) error
}

// Tickets makes tickets for sockets.
type Tickets interface {
	Issue(ctx context.Context, who signin.Identity) (ticket string, expires time.Time, err error)
}

// Codes makes codes for links to the page. A code that is not valid is a [signin.Refusal].
type Codes interface {
	Issue(r *http.Request) (code string, expires time.Time, err error)
	Redeem(ctx context.Context, code string) (token string, err error)
}

// API answers the requests of recipients who are signed in, as openapi.json says.
type API struct {
	Notifications Notifications
	Readings      Readings
	Preferences   Preferences
	Tickets       Tickets
	Codes         Codes
}

// Handler returns the paths under /api/. It must be behind what signs people in.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/notifications", methods{http.MethodGet: {answer: few(a.list), query: []string{"unread", "before", "limit"}}})
	mux.Handle("/api/notifications/unread-count", methods{http.MethodGet: {answer: a.unreadCount}})
	mux.Handle("/api/notifications/{id}/read", methods{http.MethodPost: {answer: a.read}})
	mux.Handle("/api/notifications/read-all", methods{http.MethodPost: {answer: a.readAll, query: []string{"until"}}})
	mux.Handle("/api/preferences", methods{http.MethodGet: {answer: a.showPreferences}, http.MethodPut: {answer: a.changePreferences, body: true}})
	mux.Handle("/api/ws-ticket", methods{http.MethodPost: {answer: a.newTicket}})
	mux.Handle("/api/inbox-code", methods{http.MethodPost: {answer: a.newCode}})
	mux.HandleFunc("/", noSuchPath)
	return mux
}

// who is the recipient who is signed in.
func who(ctx context.Context) notification.RecipientKey {
	return signin.Who(ctx).RecipientKey
}

func (a *API) showPreferences(w http.ResponseWriter, r *http.Request) error {
	preferences, err := a.Preferences.Preferences(r.Context(), who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, preferences)
}

func (a *API) changePreferences(w http.ResponseWriter, r *http.Request) error {
	var preferences notification.Preferences
	if err := decode(r, &preferences); err != nil {
		return err
	}
	if err := a.Preferences.SetPreferences(r.Context(), who(r.Context()), preferences); err != nil {
		return err
	}
	return done(w)
}

// ticket opens one socket, once.
type ticket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"` // UTC
}

func (a *API) newTicket(w http.ResponseWriter, r *http.Request) error {
	word, expires, err := a.Tickets.Issue(r.Context(), signin.Who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, ticket{Ticket: word, ExpiresAt: expires.UTC()})
}

// code opens the page, once.
type code struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"` // UTC
}

func (a *API) newCode(w http.ResponseWriter, r *http.Request) error {
	word, expires, err := a.Codes.Issue(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, code{Code: word, ExpiresAt: expires.UTC()})
}

// Session returns the path /api/session, by which the page changes a code into the token.
// Nobody is signed in there yet.
func (a *API) Session() http.Handler {
	return methods{http.MethodPost: {body: true, answer: func(w http.ResponseWriter, r *http.Request) error {
		var sent struct {
			Code string `json:"code"`
		}
		if err := decode(r, &sent); err != nil {
			return err
		}
		token, err := a.Codes.Redeem(r.Context(), sent.Code)
		if err != nil {
			return err
		}
		return reply(w, http.StatusCreated, map[string]string{"token": token})
	}}}
}
