package demo

import (
	"context"
	"fmt"
	"strings"

	"herald/internal/notification"
)

// liftSuppressions lets the people of the example be written to again: the same providers
// refuse the same addresses in each run, and no run is to change the next one.
func (d *Demo) liftSuppressions(ctx context.Context) error {
	lifted := map[string]bool{}
	for _, event := range d.expected() {
		for who := range event.Expect.Recipients {
			if lifted[who] {
				continue
			}
			lifted[who] = true
			if err := d.liftSuppressionsOf(ctx, who); err != nil {
				return fmt.Errorf("lift the suppressions of %s: %w", who, err)
			}
		}
	}
	return nil
}

func (d *Demo) liftSuppressionsOf(ctx context.Context, who string) error {
	store := d.Explainer.Store
	userType, userID, _ := strings.Cut(who, "/")
	entry, err := store.DirectoryEntry(ctx, notification.UserType(userType), userID, nil)
	if err != nil {
		return err
	}
	for _, s := range entry.Recipient.Suppressions {
		if _, err := store.Unsuppress(ctx, s.Channel, entry.Recipient.Address(s.Channel), s.Reason); err != nil {
			return err
		}
	}
	return nil
}
