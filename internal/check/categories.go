package check

import (
	"context"
	"slices"

	"herald/internal/postgres/report"
)

// categories finds what recipients switched off, and what nobody's category is any more, so
// that it comes again; and a category that is meant for every event type. A category of an
// event type that has not come yet is no mistake.
func categories(ctx context.Context, reader report.Reader) (mistakes []Mistake, err error) {
	types, err := reader.Values(ctx, "event_category", "event_type")
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types, func(v report.ValueCount) bool { return v.Value == "*" }) {
		mistakes = append(mistakes, Mistake{Place: "event_category", Row: "*", Problem: "* is no event type, so this row is for none",
			Remedy: "insert a row for each event type of the category"})
	}
	known, err := reader.Values(ctx, "event_category", "category")
	if err != nil {
		return mistakes, err
	}
	wanted, err := reader.Values(ctx, "user_category_preferences", "category")
	for _, value := range wanted {
		if !slices.ContainsFunc(known, func(v report.ValueCount) bool { return v.Value == value.Value }) {
			mistakes = append(mistakes, Mistake{Place: "user_category_preferences", Row: "category " + shown(value.Value),
				Problem: have(value.Count) + " this category, which no event type has, so that what these recipients switched off comes again",
				Remedy:  "if it has another name now, UPDATE user_category_preferences SET category; if it is gone, delete these rows"})
		}
	}
	return mistakes, err
}
