package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Mistake is a place in a file that is wrong.
type Mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Problem string `json:"problem"`
}

func (m Mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Problem) }

// Mistakes are the mistakes of a folder.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	var lines []string
	for _, mistake := range m {
		lines = append(lines, mistake.Error())
	}
	return strings.Join(lines, "\n")
}

// Classes of errors that are due to values, and the code of a CHECK, whose detail is the whole row.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	dataException      = "22"
	integrityViolation = "23"
	checkViolation     = "23514"
)

// Refusal returns why Postgres refuses the values of a statement. refused is false if the values are not
// the cause of the error.
func Refusal(err error) (problem string, refused bool) {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || !slices.Contains([]string{dataException, integrityViolation}, answer.Code[:2]) {
		return "", false
	}
	if answer.Code == checkViolation {
		return answer.Message, true
	}
	return strings.TrimSpace(answer.Message + " " + answer.Detail), true
}

// unknown returns a text about an unknown word, with the nearest known one.
func unknown(what, word string, known []string) string {
	said := fmt.Sprintf("unknown %s %q", what, word)
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("%s: did you mean %q?", said, near)
	}
	known = slices.Sorted(slices.Values(known))
	return fmt.Sprintf("%s: known are %s", said, strings.Join(known, ", "))
}

// nearest returns the known word that needs the fewest changes of letters to become word. It returns
// nothing if that is more than every third letter.
func nearest(word string, known []string) string {
	best, fewest := "", len(word)/3+2
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < fewest {
			best, fewest = candidate, d
		}
	}
	return best
}

// distance returns the number of bytes to insert, delete or replace to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
