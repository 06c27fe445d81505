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
func (p People) Export(ctx context.Context, who notification.RecipientKey, each func(person.ExportPage) error) error {
	if err := p.Record(ctx, p.Order.Flags, who.String()); err != nil {
		return err
	}
	selves, err := person.On(p.DB).SelvesOf(ctx, who)
	if err != nil {
		return err
	}
	for _, self := range selves {
		if err := person.On(p.DB).ExportPersonal(ctx, self, each); err != nil {
			return err
		}
	}
	entry, err := planner.On(p.DB).DirectoryEntry(ctx, who.UserType, who.UserID, nil)
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
	return p.eachEvent(ctx, selves, func(ids []string) error { return person.On(p.DB).ExportEvents(ctx, selves, ids, each) })
}
