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
	// A link in a mail works from anywhere. Browsers send the origin null with the form of that
	// page, since the page sends no referrer.
	routes.Handle("/unsubscribe", r.consent)
	if r.demo != nil {
		routes.Handle("/demo/", r.from.guard(r.demo.Handler()))
	}
	routes.Handle("/", r.from.guard(inbox.Page(r.demo != nil)))
	return logged(routes)
}

// socket opens a socket for a recipient who is signed in. guard has checked the origin.
func (r rooms) socket(w http.ResponseWriter, request *http.Request) {
	who, err := r.gate.Socket(request)
	if err != nil {
		signin.Refuse(w, err)
		return
	}
	r.hub.Serve(w, request, who)
}
