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

// endpoint serves one method of a path. It refuses unknown parameters and unexpected bodies,
// because the client expects them to have an effect.
type endpoint struct {
	answer answerer
	query  []string // names of the accepted parameters
	body   bool     // accepts a body
}

// answerer answers a request. If it returns an error, it has written nothing.
type answerer func(w http.ResponseWriter, r *http.Request) error

// methods holds the endpoints of a path, by method.
type methods map[string]endpoint

// ServeHTTP answers in JSON. The answer must not be cached, because it is private and changes.
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

// refuse answers with a problem for an error. Any unknown error counts as the database's: refuse
// logs it, and the client may try again.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	var (
		wrong   *problem.Refusal
		invalid *notification.PreferenceError
	)
	switch {
	case errors.As(err, new(*signin.Refusal)):
		signin.Refuse(w, err)
	case errors.As(err, &wrong):
		problem.Write(w, wrong.Status, wrong.Detail)
	case errors.As(err, &invalid):
		problem.Write(w, http.StatusUnprocessableEntity, "nothing was changed", invalid.Problems...)
	case errors.As(err, new(*http.MaxBytesError)):
		problem.Write(w, http.StatusRequestEntityTooLarge, "a body has at most 64 KiB")
	case errors.Is(err, notification.ErrNoNotification):
		problem.Write(w, http.StatusNotFound, "you have no such notification")
	case errors.Is(err, notification.ErrNoDevice):
		problem.Write(w, http.StatusNotFound, "you have no such device")
	case errors.Is(err, notification.ErrForeignDevices):
		_ = unchanged(w, "devices are not registered here, but with the system behind the view recipient_device")
	case r.Context().Err() != nil:
		// The client has disconnected.
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
	_, _ = w.Write(body) // it fails only if the client has disconnected
	return nil
}

// done answers with 204.
func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
