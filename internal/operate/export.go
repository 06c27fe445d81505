package operate

import (
	"context"
	"encoding/json"

	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
)

// Export calls each with all rows about a person, and about people who were merged into them, page by
// page. It finds suppressions by the addresses in the directory: of other addresses, Herald has only a hash.
func (o *Operator) Export(ctx context.Context, who notification.RecipientKey, each func(person.ExportPage) error) error {
	if err := o.Record(ctx, o.Order.Flags, who.String()); err != nil {
		return err
	}
	selves, err := person.On(o.DB).SelvesOf(ctx, who)
	if err != nil {
		return err
	}
	for _, self := range selves {
		if err := person.On(o.DB).ExportPersonal(ctx, self, each); err != nil {
			return err
		}
	}
	entry, err := planner.On(o.DB).DirectoryEntry(ctx, who.UserType, who.UserID, nil)
	if err != nil {
		return err
	}
	for _, suppression := range entry.Recipient.Suppressions {
		row, err := json.Marshal(suppression)
		if err == nil {
			err = each(person.ExportPage{Table: "recipient_suppression", Rows: []json.RawMessage{row}})
		}
		if err != nil {
			return err
		}
	}
	return o.eachEvent(ctx, selves, func(ids []string) error { return person.On(o.DB).ExportEvents(ctx, selves, ids, each) })
}
