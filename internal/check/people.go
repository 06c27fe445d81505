package check

import (
	"context"
	"fmt"
)

// inactive finds a directory of which nobody is told anything.
func (d directory) inactive(ctx context.Context) ([]Mistake, error) {
	people, err := d.reader.People(ctx)
	if err != nil || people.All == 0 || people.Active > 0 {
		return nil, err
	}
	return []Mistake{{Place: "recipient", Row: "active", Problem: fmt.Sprintf("none of the people is active, of %d that were looked at, so that nobody is told anything", people.All),
		Remedy: "set active to true for those who may be told; in a view, write coalesce(active, true) or true AS active, since NULL means not active"}}, nil
}
