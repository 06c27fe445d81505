package main

import (
	"context"
	"fmt"
	"reflect"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres/report"
)

// deliveryChange is a command that changes deliveries, which are named by ids or
// by filters.
type deliveryChange struct {
	app    *app
	flags  bulkFlags
	filter report.DeliveryFilter
}

// newDeliveryChange adds the flags to a command.
func (a *app) newDeliveryChange(cmd *cobra.Command) *deliveryChange {
	d := &deliveryChange{app: a}
	a.filterFlags(cmd, &d.filter)
	d.flags.register(cmd)
	d.flags.registerAfter(cmd)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = a.completeDeliveries()
	return d
}

// check refuses flags that contradict each other. Without --status, filters mean the
// given status.
func (d *deliveryChange) check(verb operate.Verb, filters string, ids []string, status notification.Status) error {
	if err := checkTimes(d.filter); err != nil {
		return err
	}
	filtered := !reflect.DeepEqual(d.filter, report.DeliveryFilter{})
	if len(d.filter.Statuses) == 0 {
		d.filter.Statuses = []notification.Status{status}
	}
	if _, err := operate.DeliveryNumber(d.flags.after); err != nil {
		return misused(fmt.Errorf("--after %w", err))
	}
	return d.flags.check(verb, filters, ids, filtered)
}

func (d *deliveryChange) run(ctx context.Context, verb operate.Verb, ids []string) error {
	return d.app.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
		if len(ids) > 0 {
			return d.app.change(ctx, o, verb, operate.SelectIDs(ids), d.flags)
		}
		selection, err := o.SelectDeliveries(ctx, d.filter, d.flags.after)
		if err != nil {
			return err
		}
		return d.app.change(ctx, o, verb, selection, d.flags)
	})
}
