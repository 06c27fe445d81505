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

// strangers finds members whom planning passes over, since recipient does not have them.
func (d directory) strangers(ctx context.Context) (mistakes []Mistake, err error) {
	found, err := d.reader.Strangers(ctx)
	for _, s := range found {
		mistakes = append(mistakes, Mistake{Place: "entity_member", Row: shown(s.EntityType) + "/" + shown(s.UserType),
			Problem: have(s.Count) + " a user who is not in recipient, so that nobody tells them anything",
			Remedy:  "let both have the same user_type and user_id for the same person, and recipient everybody who is a member"})
	}
	return few(mistakes), err
}
