package rig

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Leftovers removes the things that a run created.
type Leftovers struct {
	ends []func(ctx context.Context) error
}

// endTime limits the removal. It is long, because dropping a database waits for a checkpoint.
const endTime = 5 * time.Minute

// AtEnd registers a function for Remove, which calls the last registered function first.
func (l *Leftovers) AtEnd(remove func(ctx context.Context) error) { l.ends = append(l.ends, remove) }

// Remove removes everything, also after an interrupt.
func (l *Leftovers) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	var errs []error
	for _, end := range slices.Backward(l.ends) {
		errs = append(errs, end(ctx))
	}
	l.ends = nil
	return errors.Join(errs...)
}
