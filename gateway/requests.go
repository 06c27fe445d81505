package main

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"herald/internal/web/problem"
)

const requestID = "X-Request-Id"

// idForm matches a request id that a proxy in front of the gateway may set.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// headers are set in every answer. The pages override Content-Security-Policy.
var headers = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// logged gives each request an id and a log line. The line omits the URL and the body, because
// they may contain names, tickets and tokens.
func logged(routes *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		id := r.Header.Get(requestID)
		if !idForm.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set(requestID, id)
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		answer := &answer{ResponseWriter: w}
		_, route := routes.Handler(r)
		defer func() {
			slog.Info("request", "id", id, "method", method(r), "route", route, "status", answer.status,
				"took", time.Since(begun).Round(time.Microsecond).String())
		}()
		defer func() {
			if failure := recover(); failure != nil {
				answer.fail(failure, id)
			}
		}()
		routes.ServeHTTP(answer, r)
	})
}

// method returns a standard HTTP method, or "other": a client may send any word.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions:
		return r.Method
	}
	return "other"
}

// answer is a response writer that records the status.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(body []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(body)
}

// Unwrap lets [http.ResponseController] reach the original writer, to take over a connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// fail answers for a handler that panicked. If the answer has already begun, fail closes the
// connection.
func (a *answer) fail(failure any, id string) {
	if failure == http.ErrAbortHandler {
		panic(failure)
	}
	slog.Error("a request failed", "id", id, "panic", failure, "stack", string(debug.Stack()))
	if a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	problem.Write(a, http.StatusInternalServerError, "")
}
