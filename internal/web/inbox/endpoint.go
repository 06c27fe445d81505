package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/internal/web/problem"
	"herald/internal/web/signin"
)

// endpoint serves a path for one method. It refuses parameters and bodies that it does
// not take: their sender counts on them.
type endpoint struct {
	answer answerer
	query  []string // the names of the parameters that it takes
	body   bool     // it takes a body
}

// answerer answers a request, or returns why it does not; then it has written nothing.
type answerer func(w http.ResponseWriter, r *http.Request) error

// methods are the endpoints of a path.
type methods map[string]endpoint

// ServeHTTP answers in JSON that nobody keeps, for what it says is one recipient's and changes.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	served, ok := m[r.Method]
	if !ok {
		allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
		w.Header().Set("Allow", allowed)
		problem.Write(w, http.StatusMethodNotAllowed, "this path takes "+allowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if err := served.serve(w, r.WithContext(ctx)); err != nil {
		refuse(w, r, err)
	}
}

func (e endpoint) serve(w http.ResponseWriter, r *http.Request) error {
	if err := checkQuery(r, e.query); err != nil {
		return err
	}
	if !e.body && r.Method != http.MethodGet {
		if err := withoutBody(r); err != nil {
			return err
		}
	}
	return e.answer(w, r)
}

// refusal is a request that is not as the API wants it.
type refusal struct {
	status int
	detail string
}

func (e *refusal) Error() string { return e.detail }

func badRequest(detail string) error { return &refusal{http.StatusBadRequest, detail} }

// refuse says what an error means to the client. One that nobody has foreseen is the
// database's: the client may try again, and the log says why.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	var (
		wrong    *refusal
		invalid  *notification.PreferenceError
		tooLarge *http.MaxBytesError
		unknown  *signin.Refusal
	)
	switch {
	case errors.As(err, &unknown):
		signin.Refuse(w, err)
	case errors.As(err, &wrong):
		problem.Write(w, wrong.status, wrong.detail)
	case errors.As(err, &invalid):
		problem.Write(w, http.StatusUnprocessableEntity, "nothing was changed", invalid.Problems...)
	case errors.As(err, &tooLarge):
		problem.Write(w, http.StatusRequestEntityTooLarge, "a body has at most 64 KiB")
	case errors.Is(err, notification.ErrNoNotification):
		problem.Write(w, http.StatusNotFound, "you have no such notification")
	case r.Context().Err() != nil:
		// The client has gone.
	default:
		slog.ErrorContext(r.Context(), "a request to the inbox failed", "method", r.Method, "pattern", r.Pattern, "error", err)
		w.Header().Set("Retry-After", "1")
		problem.Write(w, http.StatusServiceUnavailable, "the inbox cannot be reached now: try again")
	}
}

// reply writes an answer as JSON.
func reply(w http.ResponseWriter, status int, answer any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
	return nil
}

// done answers that it was done.
func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
