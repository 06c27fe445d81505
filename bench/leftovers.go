package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// leftovers are what was made on the way, and is to be removed.
type leftovers struct {
	ends []func(ctx context.Context) error
}

// endTime bounds the removal of what was made: a database is dropped after a checkpoint.
const endTime = 5 * time.Minute

// atEnd notes how something is removed that was made; the last is removed first.
func (l *leftovers) atEnd(remove func(ctx context.Context) error) { l.ends = append(l.ends, remove) }

// remove removes all that was made, also after an interrupt.
func (l *leftovers) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	var errs []error
	for _, end := range slices.Backward(l.ends) {
		errs = append(errs, end(ctx))
	}
	l.ends = nil
	return errors.Join(errs...)
}
