// Package inbox serves the API for a recipient's notifications and preferences, and a page that
// uses the API.
package inbox

import (
	"context"
	"net/http"
	"time"

	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/web/signin"
)

const (
	// bodyLimit is the maximum length of a request's body, in bytes.
	bodyLimit = 64 << 10
	// timeout limits the time of a request, including the wait for the database.
	timeout = 10 * time.Second
)

// Pages reads pages of an inbox. A test fakes slow ones.
type Pages interface {
	InboxPage(ctx context.Context, who notification.RecipientKey, filter notification.InboxFilter) (notification.InboxPage, error)
}

// API answers the requests of signed-in recipients, as openapi.json specifies.
type API struct {
	Store       Store
	Pages       Pages
	Preferences preference.Store
	WebPush     bool           // browsers may register
	Tickets     signin.Tickets // of sockets
	Codes       signin.Codes   // of links to the page
}

// Handler serves the paths under /api/. It must run after [signin.Gate.Required].
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/notifications", methods{http.MethodGet: {answer: few(a.list), query: []string{"unread", "before", "limit"}}})
	mux.Handle("/api/notifications/unread-count", methods{http.MethodGet: {answer: a.unreadCount}})
	mux.Handle("/api/notifications/{id}/read", methods{http.MethodPost: {answer: a.read}})
	mux.Handle("/api/notifications/read-all", methods{http.MethodPost: {answer: a.readAll, query: []string{"until"}}})
	mux.Handle("/api/preferences",
		methods{http.MethodGet: {answer: a.showPreferences}, http.MethodPut: {answer: a.changePreferences, body: true}})
	mux.Handle("/api/follows", methods{
		http.MethodGet: {answer: a.listFollows}, http.MethodPut: {answer: a.follow, body: true},
		http.MethodDelete: {answer: removing(a.Preferences.Unfollow), query: entityParameters},
	})
	mux.Handle("/api/mutes", methods{
		http.MethodGet: {answer: a.listMutes}, http.MethodPut: {answer: a.mute, body: true},
		http.MethodDelete: {answer: removing(a.Preferences.Unmute), query: entityParameters},
	})
	mux.Handle("/api/devices", methods{http.MethodPut: {answer: a.registerDevice, body: true}})
	mux.Handle("/api/devices/{id}", methods{http.MethodDelete: {answer: a.removeDevice}})
	mux.Handle("/api/ws-ticket", methods{http.MethodPost: {answer: a.newTicket}})
	mux.Handle("/api/inbox-code", methods{http.MethodPost: {answer: a.newCode}})
	mux.HandleFunc("/", noSuchPath)
	return mux
}

// who returns the signed-in recipient.
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

func (a *API) newTicket(w http.ResponseWriter, r *http.Request) error {
	ticket, expires, err := a.Tickets.Issue(r.Context(), signin.Who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, map[string]any{"ticket": ticket, "expires_at": expires.UTC()})
}

func (a *API) newCode(w http.ResponseWriter, r *http.Request) error {
	code, expires, err := a.Codes.Issue(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, map[string]any{"code": code, "expires_at": expires.UTC()})
}

// Session serves /api/session, where the page exchanges a code for the token. The request needs
// no token.
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
