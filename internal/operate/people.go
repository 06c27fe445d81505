package operate

import (
	"context"

	"herald/internal/person"
)

// People carries out one order about what Herald holds about a person.
type People struct{ *Operator }

// maxPersonalRows is the highest number of rows that a plan counts in one table.
const maxPersonalRows = 100_000

// eachEvent calls each with pages of the events that concern a person.
func (p People) eachEvent(ctx context.Context, who person.Selves, each func(ids []string) error) error {
	for after := ""; ; {
		ids, err := person.On(p.DB).PersonalEvents(ctx, who, after)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		if err := each(ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
	for place := (&person.EventPlace{}); place != nil; {
		ids, next, err := person.On(p.DB).EventsAbout(ctx, who, *place)
		if err == nil && len(ids) > 0 {
			err = each(ids)
		}
		if err != nil {
			return err
		}
		place = next
	}
	return nil
}
