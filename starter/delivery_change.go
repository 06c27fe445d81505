package main

import (
	"context"
	"fmt"

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
	filter deliveryFilter
	wanted report.DeliveryFilter // by the filter; see parse
}

// newDeliveryChange adds the flags to a command.
func (a *app) newDeliveryChange(cmd *cobra.Command) *deliveryChange {
	d := &deliveryChange{app: a}
	d.filter.register(cmd)
	a.completeEventFlag(cmd)
	d.flags.register(cmd)
	d.flags.registerAfter(cmd)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = a.completeDeliveries()
	return d
}

// parse reads the flags. Without --status, filters mean the given status.
func (d *deliveryChange) parse(verb operate.Verb, filters string, ids []string, status notification.Status) (err error) {
	var filtered bool
	if d.wanted, filtered, err = d.filter.parse(); err != nil {
		return err
	}
	if len(d.wanted.Statuses) == 0 {
		d.wanted.Statuses = []notification.Status{status}
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
		selection, err := o.SelectDeliveries(ctx, d.wanted, d.flags.after)
		if err != nil {
			return err
		}
		return d.app.change(ctx, o, verb, selection, d.flags)
	})
}
