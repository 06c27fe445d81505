package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
	"herald/internal/terminal"
)

func (a *app) deliveryCommand() *cobra.Command {
	return group("delivery", "List, show, explain, cancel, send and retry deliveries",
		a.listDeliveriesCommand(), a.showDeliveryCommand(), a.whyDeliveryCommand(),
		a.cancelDeliveryCommand(), a.sendNowCommand(), a.rescheduleCommand(), a.retryDeliveryCommand())
}

func (a *app) listDeliveriesCommand() *cobra.Command {
	var filter report.DeliveryFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest deliveries, the newest first",
		Long: `List the latest deliveries, the newest first; with --event, in the order of recipients. It
shows no addresses and no texts. With most filters, one call searches 100,000 deliveries.
If there are more, it prints the ID for --after, which searches the next ones.`,
		Example: `  starter delivery list --status failed --since 24h
  starter delivery list --recipient CUSTOMER/42 --channel sms
  starter delivery list --event evt-1 --limit 1000 -o json`,
	}
	a.filterFlags(cmd, &filter)
	return listCommand(a, cmd, list[report.DeliveryRow]{
		name: "deliveries", none: "no deliveries",
		header: []string{"DELIVERY", "TYPE", "STATUS", "ATTEMPTS", "PLANNED", "LAST ERROR"},
		cells: func(d report.DeliveryRow) []string {
			return []string{d.DeliveryID, d.EventType, string(d.Status), strconv.Itoa(d.Attempts), terminal.Clock(&d.CreatedAt), terminal.Dash(d.LastError)}
		},
		read: func(ctx context.Context, db *postgres.Store, _ []string, from place) (report.Page[report.DeliveryRow], error) {
			if err := checkTimes(filter); err != nil {
				return report.Page[report.DeliveryRow]{}, err
			}
			return report.Reader{Pool: db.Pool}.LatestDeliveries(ctx, filter, from.after, from.limit)
		},
		pages: true,
	})
}

// deliveryChange is a command that changes deliveries, selected by ids or by filters.
type deliveryChange struct {
	app    *app
	flags  bulkFlags
	filter report.DeliveryFilter
}

// newDeliveryChange adds the flags and the arguments to cmd.
func (a *app) newDeliveryChange(cmd *cobra.Command) *deliveryChange {
	d := &deliveryChange{app: a}
	a.filterFlags(cmd, &d.filter)
	d.flags.register(cmd)
	d.flags.registerAfter(cmd)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = a.completeDeliveries()
	return d
}

// check refuses flags that contradict each other. Without --status it filters by the given
// status.
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
