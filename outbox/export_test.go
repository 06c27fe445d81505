package outbox

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// WhyRefused returns the reason for a SQLSTATE.
func WhyRefused(code string) string { return whyRefused(&pgconn.PgError{Code: code}) }

// IsExplained reports whether a violation of the constraint has an explanation.
func IsExplained(constraint string) bool { return refusedConstraints[constraint] != "" }

// Columns returns the columns that Insert writes.
func Columns() []string {
	query, _, _ := insertion(nil)
	_, columns, _ := strings.Cut(query, "(")
	columns, _, _ = strings.Cut(columns, ")")
	for _, column := range optionalColumns {
		columns += ", " + column.name
	}
	return strings.Split(columns, ", ")
}
