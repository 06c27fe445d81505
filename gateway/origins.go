package main

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"herald/internal/config/environment"
	"herald/internal/web/problem"
)

// Causes of a refusal for where a request comes from.
const (
	otherOrigin = "origin"
	otherHost   = "host"
	oneAddress  = "address" // it has too many connections
)

// origins lets the gateway's own pages ask, and the pages of allowed origins. A program sends
// no origin.
type origins struct {
	allowed []string     // as browsers send them
	demo    bool         // everybody can be anybody: no name but this machine's counts
	refused func(string) // is told of each refusal, with its cause
}

// guard refuses requests of other origins. In the demo it also refuses names of other machines:
// a page elsewhere could make its own name mean this machine.
func (o origins) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.demo && !environment.IsLocal(hostname(r.Host)) {
			o.refused(otherHost)
			problem.Write(w, http.StatusForbidden, "a gateway with GATEWAY_DEMO answers to localhost and loopback addresses alone")
			return
		}
		if !o.permitted(r) {
			o.refused(otherOrigin)
			problem.Write(w, http.StatusForbidden, "pages of this origin may not ask: add the origin to GATEWAY_ALLOWED_ORIGINS if they should")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// permitted reports whether the page that sends a request may do so.
func (o origins) permitted(r *http.Request) bool {
	sent := r.Header.Values("Origin")
	if len(sent) == 0 {
		return true
	}
	if len(sent) > 1 {
		return false
	}
	u, err := url.Parse(sent[0])
	if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return true
	}
	return !o.demo && slices.Contains(o.allowed, sent[0])
}

// shared adds what a browser asks for before it shows an answer to a page of an allowed
// origin, and answers the question that it asks first. It stands behind guard.
func shared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin != "" {
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id")
		}
		if origin != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			header.Set("Access-Control-Allow-Methods", "GET, POST, PUT")
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			header.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname is the name in a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
