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

// code opens the page, once.
type code struct {
	Code      string    `json:"code"`
	ExpiresAt time.Time `json:"expires_at"` // UTC
}

func (a *API) newCode(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := withoutBody(r); err != nil {
		return err
	}
	word, expires, err := a.Codes.Issue(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, code{Code: word, ExpiresAt: expires.UTC()})
}

// Session returns the path /api/session, by which the page changes a code into the token.
// Nobody is signed in there yet.
func (a *API) Session() http.Handler {
	return methods{http.MethodPost: func(w http.ResponseWriter, r *http.Request) error {
		if _, err := query(r); err != nil {
			return err
		}
		var sent struct {
			Code string `json:"code"`
		}
		if err := decode(r, &sent); err != nil {
			return err
		}
		token, err := a.Codes.Redeem(r.Context(), sent.Code)
		if err != nil {
			return err
		}
		return reply(w, http.StatusCreated, map[string]string{"token": token})
	}}
}
