package check

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/report"
	"herald/internal/template"
)

// finding is one row of a table: a mistake that the check knows. Its texts may have arguments, such as
// $channel. Its find reads from From.
type finding[From any] struct {
	place   string // see [Mistake]
	row     string
	problem string
	remedy  string
	find    find[From]

	advice   bool // it is no mistake, but could be safer
	byWorker bool // a worker corrects it when it starts
	noWorker bool // no worker runs, which explains all mistakes with byWorker
}

// find looks for one kind of mistake, and returns the arguments of each.
type find[From any] func(from From, ctx context.Context) ([]args, error)

// args are the arguments of one mistake's texts, by name.
type args map[string]string

// in returns a text with its arguments.
func (a args) in(text string) string {
	return os.Expand(text, func(name string) string { return a[name] })
}

// evaluate looks for the findings of a table in their order, until it cannot read what one of them needs.
func evaluate[From any](ctx context.Context, from From, table []finding[From]) (mistakes []Mistake, err error) {
	for _, f := range table {
		found, err := f.find(from, ctx)
		var alike []Mistake
		for _, a := range found {
			alike = append(alike, Mistake{
				Place: a.in(f.place), Row: a.in(f.row), Problem: a.in(f.problem), Remedy: a.in(f.remedy),
				advice: f.advice, byWorker: f.byWorker, noWorker: f.noWorker, unquoted: unquoted(f.row, f.problem, f.remedy, a),
			})
		}
		mistakes = append(mistakes, few(alike)...)
		if err != nil {
			return mistakes, err
		}
	}
	return mistakes, nil
}

// subject returns a subject that looks for a table's findings.
func subject[From any](name string, from From, table []finding[From]) Subject {
	return Subject{name, func(ctx context.Context) ([]Mistake, error) { return evaluate(ctx, from, table) }}
}

// said holds the texts of a mistake that quote nobody.
type said struct{ Row, Problem, Remedy string }

// plain lists the arguments that quote nobody: ids, names, counts, times and Herald's own sentences. All other
// arguments may quote a server, a setting or a row's value.
var plain = strings.Fields(`all channel column count default entity event events expires first flaw follower have host id insync last
	link locales min missing name names namespace path people policies present queue remedy replicas role roles route row selectors
	since source spf status table template topic type vacant wait what who`)

// unquoted writes a finding's texts with plain arguments only.
func unquoted(row, problem, remedy string, of args) said {
	bare := args{}
	for name, value := range of {
		if !slices.Contains(plain, name) {
			value = "(`starter check` shows it)"
		}
		bare[name] = value
	}
	return said{bare.in(row), bare.in(problem), bare.in(remedy)}
}

// each finds the mistakes of each item that read returns.
func each[From, Item any](read func(From, context.Context) ([]Item, error), of func(Item) []args) find[From] {
	return func(from From, ctx context.Context) (found []args, err error) {
		items, err := read(from, ctx)
		for _, item := range items {
			found = append(found, of(item)...)
		}
		return found, err
	}
}

// fact is something that a subject has read, with the arguments of its mistake.
type fact interface{ args() args }

// where finds a mistake in each fact of which is holds.
func where[Fact fact](is func(Fact) bool) find[[]Fact] {
	return func(facts []Fact, _ context.Context) (found []args, err error) {
		for _, fact := range facts {
			if is(fact) {
				found = append(found, fact.args())
			}
		}
		return found, nil
	}
}

// listed is the highest number of listed mistakes of one finding at one place.
const listed = 10

// few keeps the first mistakes of each place, and counts the others in one line.
func few(all []Mistake) (kept []Mistake) {
	for len(all) > 0 {
		count := slices.IndexFunc(all, func(m Mistake) bool { return m.Place != all[0].Place })
		if count < 0 {
			count = len(all)
		}
		kept = append(kept, all[:min(count, listed)]...)
		if count > listed {
			more := all[0]
			more.Row, more.Problem = "", fmt.Sprintf("%d more like these", count-listed)
			more.unquoted.Row, more.unquoted.Problem = more.Row, more.Problem
			kept = append(kept, more)
		}
		all = all[count:]
	}
	return kept
}

// survey holds the database and the settings that the findings read.
type survey struct {
	db      *db.DB
	senders Senders
	texts   template.Engine
	recent  *recentEvents
}

func (s *survey) reader() report.Reader { return report.Reader{Pool: s.db.Pool} }

func (s *survey) routes(ctx context.Context) ([]report.Route, error) { return s.reader().Routes(ctx) }

// mostRows limits the rows of a query's result. It is far above what a person would configure.
const mostRows = 2000

// query finds a mistake in each row of a statement's result. The columns are its arguments; a count also
// gives $have, and unsafe_ names a column that may hold personal data. @part limits the rows of a table
// that is as large as the directory.
func query(statement string) find[*survey] {
	return func(s *survey, ctx context.Context) ([]args, error) {
		return db.Collect(ctx, s.db.Pool, "look for mistakes", rowArgs, statement+"\nLIMIT  @most",
			pgx.NamedArgs{"most": mostRows, "part": report.MostLookedAt})
	}
}

func rowArgs(row pgx.CollectableRow) (args, error) {
	columns, err := pgx.RowToMap(row)
	found := args{}
	for name, value := range columns {
		found[name] = fmt.Sprint(value)
		if count, is := value.(int64); is {
			found["have"] = have(int(count))
		}
		if strings.HasPrefix(name, "unsafe_") {
			found[name] = shown(found[name])
		}
	}
	return found, err
}

// have returns "1 row has" or, for example, "7 rows have".
func have(count int) string {
	if count == 1 {
		return "1 row has"
	}
	return fmt.Sprintf("%d rows have", count)
}

// word matches values that may be shown. Other values may be personal data in the wrong column.
var word = regexp.MustCompile(`^[\p{L}\p{N}_+/:.-]{1,64}$`)

func shown(value string) string {
	if word.MatchString(value) {
		return value
	}
	return "(a value that is not shown)"
}
