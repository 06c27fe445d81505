package main

import (
	"net/http"

	"herald/internal/inbox"
	"herald/internal/live"
	"herald/internal/receipts"
	"herald/internal/signin"
)

// rooms are what the gateway serves.
type rooms struct {
	from  origins
	gate  *signin.Gate
	api   *inbox.API
	hub   *live.Hub
	hooks *receipts.Webhooks
	demo  *inbox.Demo // nil: nobody chooses who they are
}

// handler puts the rooms together.
func (r rooms) handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("/api/", shared(r.gate.Required(r.api.Handler())))
	routes.HandleFunc("/ws", r.socket)
	routes.Handle("/webhooks/", r.hooks.Handler())
	if r.demo != nil {
		routes.Handle("/demo/", r.demo.Handler())
	}
	routes.Handle("/", inbox.Page(r.demo != nil))
	return logged(routes, r.from.guard(routes))
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
