package main

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/operate"
	"herald/internal/outboxes"
)

// purgeSource deletes the rows of one outbox that are done.
func (a *app) purgeSource(ctx context.Context, flags purgeFlags) error {
	source, err := a.purgedSource(flags)
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := a.operator(db, nil)
	if err != nil {
		return err
	}
	age := flags.olderThan
	table, err := o.PlanSourcePurge(ctx, source, age.Duration, age.Text)
	if err != nil {
		return err
	}
	tables := []operate.PurgedTable{table}
	return a.purgePlanned(flags, tables, func(progress func(operate.PurgedTable)) error {
		return o.PurgeSource(ctx, source, age.Duration, &tables[0], progress)
	})
}

// purgedSource is the source that the flags name.
func (a *app) purgedSource(flags purgeFlags) (outboxes.Source, error) {
	for i, t := range purgeTables() {
		if flags.ages[i].Duration != 0 {
			return outboxes.Source{}, misused(fmt.Errorf("--%s is for %s; --source goes with --older-than alone", t.flag, t.table))
		}
	}
	switch age := flags.olderThan; {
	case age.Duration == 0:
		return outboxes.Source{}, misused(errors.New("name an age: --source " + flags.source + " --older-than AGE"))
	case age.Duration < minRetention:
		return outboxes.Source{}, misused(fmt.Errorf("%s for %s: must be an age of at least 1h, such as 720h or 30d", age.Text, flags.source))
	}
	named, err := a.sourcesNamed(flags.source)
	if err != nil {
		return outboxes.Source{}, err
	}
	return named[0], nil
}
