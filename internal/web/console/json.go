package console

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"herald/internal/answer"
)

// wantsJSON reports whether the request asks for JSON and not for a page. Browsers ask for text/html
// first, and everything else gets a page.
func wantsJSON(r *http.Request) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		switch {
		case err != nil, strings.TrimLeft(parameters["q"], "0.") == "" && parameters["q"] != "":
		case kind == "application/json":
			return true
		case kind == "text/html", kind == "*/*", kind == "text/*", kind == "application/xhtml+xml":
			return false
		}
	}
	return false
}

// answer answers a program with the data of a page.
func (c *Console) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, pattern string) {
	read, query := c.Answers, r.URL.Query()
	var data any
	var err error
	switch pattern {
	case "GET /{$}":
		data, err = read.Status(ctx, answer.StatusRequest{})
	case "GET /event":
		data, err = read.Event(ctx, answer.EventRequest{ID: query.Get("id")})
	case "GET /simulation":
		data, err = read.Simulate(ctx, answer.SimulateRequest{Event: query.Get("id")})
	case "GET /delivery":
		data, err = read.Why(ctx, answer.WhyRequest{Delivery: query.Get("id")})
	case "GET /why":
		data, err = read.Why(ctx,
			answer.WhyRequest{Event: query.Get("event"), Recipient: query.Get("recipient"), Channel: query.Get("channel")})
	case "GET /recipient":
		data, err = read.Why(ctx,
			answer.WhyRequest{Recipient: query.Get("type") + "/" + query.Get("id"), Channel: query.Get("channel")})
	case "POST /check":
		data, err = read.Check(ctx, answer.CheckRequest{})
	case "/":
		err = &refusal{http.StatusNotFound, "There is no such page."}
	default:
		err = &refusal{http.StatusNotAcceptable,
			"This page has no JSON. These have: /, /event, /delivery, /why, /recipient, /simulation, and POST /check."}
	}
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	text, err := json.Marshal(data)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // it fails only if the client has disconnected
}
