package inbox

import (
	"net/http"
	"time"

	"herald/internal/signin"
)

// ticket opens one socket, once.
type ticket struct {
	Ticket    string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"` // UTC
}

func (a *API) newTicket(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := withoutBody(r); err != nil {
		return err
	}
	word, expires, err := a.Tickets.Issue(r.Context(), signin.Who(r.Context()))
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, ticket{Ticket: word, ExpiresAt: expires.UTC()})
}
