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

// Causes of a refusal because of a request's sender.
const (
	otherOrigin = "origin"
	otherHost   = "host"
	oneAddress  = "address" // the address has too many connections
)

// origins permits requests from the gateway's pages, from pages of allowed origins, and from
// programs, which send no origin.
type origins struct {
	allowed []string     // in the form of the Origin header
	demo    bool         // visitors sign in as anybody, so only this machine's names are accepted
	refused func(string) // called with the cause of each refusal
}

// guard refuses requests from other origins. In the demo it also refuses other host names, because
// an attacker could point a host name at this machine (DNS rebinding).
func (o origins) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.demo && !environment.IsLocal(hostname(r.Host)) {
			o.refused(otherHost)
			problem.Write(w, http.StatusForbidden, "a gateway with GATEWAY_DEMO answers only at localhost and loopback addresses")
			return
		}
		if !o.permitted(r) {
			o.refused(otherOrigin)
			problem.Write(w, http.StatusForbidden, "this origin is not allowed: to allow its pages, add it to GATEWAY_ALLOWED_ORIGINS")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// permitted reports whether the origin of the request is permitted.
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

// shared adds the CORS headers that let a page of an allowed origin read the answer, and answers
// preflight requests. It runs after guard.
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
			header.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			header.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostname returns the name in a Host header.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
