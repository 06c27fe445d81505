package main

import (
	"errors"
	"fmt"
	"strings"

	"herald/internal/notification"
)

// noDelivery says what to do about an id that no delivery has. Any other error
// stays as it is.
func noDelivery(id string, err error) error {
	if !errors.Is(err, notification.ErrNoDelivery) {
		return err
	}
	if strings.HasPrefix(id, "digest-") { // what the provider was told of a digest
		return advise(fmt.Errorf("delivery %s: %w", id, err),
			"it looks like the id of a digest, whose items have it in notification.digest_id: look there")
	}
	return advise(fmt.Errorf("delivery %s: %w", id, err),
		"check the id, or look for it with `starter delivery list --event ID`, or --recipient TYPE/ID; for one that was never planned, "+
			"`starter delivery why --event ID --recipient TYPE/ID --channel C`")
}

// noEvent does so for an event.
func noEvent(id string, err error) error {
	if !errors.Is(err, notification.ErrNoEvent) {
		return err
	}
	return advise(fmt.Errorf("event %s: %w", id, err),
		"check the id, or look for it with `starter event list`; rows that were purged are no longer known")
}
