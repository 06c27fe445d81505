package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"herald/internal/db"
	"herald/internal/report"
)

// relationFacts is a table of the directory, or the view that replaces it.
type relationFacts struct {
	*survey
	name string
	report.Relation
}

var relationFindings = []finding[relationFacts]{
	{place: "$table", find: relationFacts.absent,
		problem: "there is no such table or view",
		remedy:  "create a view of that name over your own table, with the columns of Herald's table"},
	{place: "$table", row: "column $column", find: relationFacts.missing,
		problem: "it is missing",
		remedy:  "add it to the view as $type; $default"},
	{place: "$table", row: "column $column", find: relationFacts.uncast,
		problem: "it is $present where Herald reads $type: $why",
		remedy:  "write an expression of type $type for it in the view"},
}

func (r relationFacts) absent(context.Context) ([]args, error) {
	if len(r.Columns) > 0 {
		return nil, nil
	}
	return []args{{"table": r.name}}, nil
}

// wanted returns the columns that the relation needs, unless it does not exist at all.
func (r relationFacts) wanted() []db.DirectoryColumn {
	return slices.DeleteFunc(db.DirectoryColumns(), func(c db.DirectoryColumn) bool { return c.Table != r.name || len(r.Columns) == 0 })
}

func (r relationFacts) missing(context.Context) (found []args, err error) {
	for _, column := range r.wanted() {
		if _, has := r.Columns[column.Name]; !has && column.Null != db.MayLack {
			found = append(found, args{"table": r.name, "column": column.Name, "type": column.Type, "default": without(column)})
		}
	}
	return found, nil
}

// without tells what to write into a view without such a column. It does not advise a NULL that would
// keep people from all messages.
func without(column db.DirectoryColumn) string {
	switch {
	case column.Type == "boolean":
		return fmt.Sprintf("without such a column, as true AS %s, since NULL means not active", column.Name)
	case column.Null == db.PassedOver:
		return "if it is NULL, " + column.Null
	default:
		return fmt.Sprintf("without such a column, as NULL::%s AS %s", column.Type, column.Name)
	}
}

// uncast finds columns that cannot be cast to the type that planning reads.
func (r relationFacts) uncast(ctx context.Context) (found []args, err error) {
	for _, column := range r.wanted() {
		has := r.Columns[column.Name]
		if has == "" || has == column.Type {
			continue
		}
		err := r.reader().Cast(ctx, r.name, column.Name, column.Type)
		if refused, is := errors.AsType[*report.CastError](err); is {
			found = append(found, args{"table": r.name, "column": column.Name, "present": has, "type": column.Type, "why": refused.Error()})
		} else if err != nil {
			return found, err
		}
	}
	return found, nil
}
