package main

import (
	"net/http"

	"herald/internal/consent"
	"herald/internal/inbox"
	"herald/internal/live"
	"herald/internal/receipts"
	"herald/internal/signin"
)

// rooms are what the gateway serves.
type rooms struct {
	from    origins
	gate    *signin.Gate
	api     *inbox.API
	hub     *live.Hub
	hooks   *receipts.Webhooks
	consent *consent.Page
	demo    *inbox.Demo // nil: nobody chooses who they are
}

// handler puts the rooms together.
func (r rooms) handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("/api/", r.from.guard(shared(r.gate.Required(r.api.Handler()))))
	routes.Handle("/api/session", r.from.guard(shared(r.api.Session())))
	routes.Handle("/ws", r.from.guard(http.HandlerFunc(r.socket)))
	routes.Handle("/webhooks/", r.from.guard(r.hooks.Handler()))
	// Whoever has the link of a mail may use it from anywhere; and the origin that browsers
	// send with the form of that page is null, since the page tells nobody where it is.
	routes.Handle("/unsubscribe", r.consent)
	if r.demo != nil {
		routes.Handle("/demo/", r.from.guard(r.demo.Handler()))
	}
	routes.Handle("/", r.from.guard(inbox.Page(r.demo != nil)))
	return logged(routes)
}

// socket opens a socket for whoever is signed in. Its origin was checked.
func (r rooms) socket(w http.ResponseWriter, request *http.Request) {
	who, err := r.gate.Socket(request)
	if err != nil {
		signin.Refuse(w, err)
		return
	}
	r.hub.Serve(w, request, who)
}
