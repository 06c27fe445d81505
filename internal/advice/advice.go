// Package advice adds an operator's next step to an error.
package advice

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"herald/internal/notification"
)

// Error is an error with the operator's next step.
type Error struct {
	Err  error
	Next string
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// With adds the next step to an error.
func With(err error, next string) error { return &Error{err, next} }

// NoDelivery adds advice if no delivery has the id. It returns any other error as it is.
func NoDelivery(id string, err error) error {
	if !errors.Is(err, notification.ErrNoDelivery) {
		return err
	}
	if strings.HasPrefix(id, "digest-") { // providers know a digest by this id
		return With(fmt.Errorf("delivery %s: %w", id, err),
			"it looks like the id of a digest: look for its items by notification.digest_id")
	}
	return With(fmt.Errorf("delivery %s: %w", id, err),
		"check the id, or look for it with `starter delivery list --event ID`, or --recipient TYPE/ID; for a delivery that was never planned, "+
			"`starter delivery why --event ID --recipient TYPE/ID --channel C`")
}

// NoEvent adds advice if no event has the id. It returns any other error as it is.
func NoEvent(id string, err error) error {
	if !errors.Is(err, notification.ErrNoEvent) {
		return err
	}
	return With(fmt.Errorf("event %s: %w", id, err),
		"check the id, or look for it with `starter event list`; purged events are gone, and a row of an outbox without `people: true` is no "+
			"event")
}

var needsNoQuotes = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote quotes an id for a shell command, if necessary.
func Quote(id string) string {
	if needsNoQuotes.MatchString(id) {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}
