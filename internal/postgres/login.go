package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes of a server that is there and wants another user or password.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	invalidAuthorization = "28000"
	invalidPassword      = "28P01"
)

// LoginRefused says that the server answered, and refused who wanted to connect.
func LoginRefused(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{invalidAuthorization, invalidPassword}, refused.Code)
}

// ConnectRemedy says what to do about an error of a connection.
func ConnectRemedy(err error) string {
	if LoginRefused(err) {
		return "correct the user and the password in DATABASE_URL; special characters in them are percent-encoded"
	}
	return "start Postgres, or set DATABASE_URL to where it is"
}
