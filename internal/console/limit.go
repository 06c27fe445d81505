package console

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/pflag"
)

// What lists print by default, and at most.
const (
	defaultListed = 50
	maxListed     = 1000
)

// Limit is the value of --limit: how many rows a list prints.
type Limit int

// LimitFlag adds --limit.
func LimitFlag(flags *pflag.FlagSet, limit *Limit) {
	*limit = defaultListed
	flags.Var(limit, "limit", fmt.Sprintf("how many to list, up to %d", maxListed))
}

// Set is called by the flag parser.
func (l *Limit) Set(value string) error {
	number, err := strconv.Atoi(value)
	if err != nil || number < 1 || number > maxListed {
		return fmt.Errorf("must be from 1 to %d", maxListed)
	}
	*l = Limit(number)
	return nil
}

func (l *Limit) String() string { return strconv.Itoa(int(*l)) }

// Type is shown by --help.
func (l *Limit) Type() string { return "int" }

// PrintMore says that a list was cut at its limit.
func PrintMore(w io.Writer, more bool) {
	if more {
		Row(w, fmt.Sprintf("… and more: narrow it down, or raise --limit (at most %d)", maxListed))
	}
}
