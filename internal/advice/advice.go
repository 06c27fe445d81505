// Package advice tells operators what to do next about an error.
package advice

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"herald/internal/notification"
)

// Error is an error with what to do about it.
type Error struct {
	Err  error
	Next string
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// With adds what to do next to an error.
func With(err error, next string) error { return &Error{err, next} }

// NoDelivery says what to do about an id that no delivery has. It returns any
// other error as it is.
func NoDelivery(id string, err error) error {
	if !errors.Is(err, notification.ErrNoDelivery) {
		return err
	}
	if strings.HasPrefix(id, "digest-") { // the provider knows a digest by its id
		return With(fmt.Errorf("delivery %s: %w", id, err),
			"it looks like the id of a digest; its items have it in notification.digest_id: look there")
	}
	return With(fmt.Errorf("delivery %s: %w", id, err),
		"check the id, or look for it with `starter delivery list --event ID`, or --recipient TYPE/ID; for one that was never planned, "+
			"`starter delivery why --event ID --recipient TYPE/ID --channel C`")
}

// NoEvent says what to do about an id that no event has. It returns any other
// error as it is.
func NoEvent(id string, err error) error {
	if !errors.Is(err, notification.ErrNoEvent) {
		return err
	}
	return With(fmt.Errorf("event %s: %w", id, err),
		"check the id, or look for it with `starter event list`; purged events are forgotten, and a row of another outbox that tells no people is no event")
}

var needsNoQuotes = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote returns an id as a command that is pasted into a shell needs it.
func Quote(id string) string {
	if needsNoQuotes.MatchString(id) {
		return id
	}
	return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
}
