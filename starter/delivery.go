package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/list"
	"herald/internal/operate"
	"herald/internal/report"
	"herald/internal/terminal"
)

func deliveryCommand(a *app) *cobra.Command {
	return group("delivery", "List, show, explain, cancel, send and retry deliveries",
		listDeliveriesCommand(a), showDeliveryCommand(a), whyDeliveryCommand(a),
		cancelDeliveryCommand(a), sendNowCommand(a), rescheduleCommand(a), retryDeliveryCommand(a))
}

func listDeliveriesCommand(a *app) *cobra.Command {
	var filter list.DeliveryFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest deliveries, the newest first",
		Long: `List the latest deliveries, the newest first; with --event, in the order of recipients. It
shows no addresses and no texts. With most filters, one call searches 100,000 deliveries.
If rows remain, it prints the ID for --after, which continues the search.`,
		Example: `  starter delivery list --status failed --since 24h
  starter delivery list --recipient CUSTOMER/42 --channel sms
  starter delivery list --event evt-1 --limit 1000 -o json`,
	}
	filterFlags(a, cmd, &filter)
	return listCommand(a, cmd, listing[report.DeliveryRow]{
		name: "deliveries", none: "no deliveries",
		header: []string{"DELIVERY", "TYPE", "STATUS", "ATTEMPTS", "PLANNED", "LAST ERROR"},
		cells: func(d report.DeliveryRow) []string {
			return []string{
				d.DeliveryID, d.EventType, string(d.Status), strconv.Itoa(d.Attempts), terminal.Clock(&d.CreatedAt), terminal.Dash(d.LastError),
			}
		},
		read: func(ctx context.Context, db *db.DB, _ []string, from list.Place) (list.Page[report.DeliveryRow], error) {
			if err := checkTimes(filter); err != nil {
				return list.Page[report.DeliveryRow]{}, err
			}
			return list.Reader{Pool: db.Pool}.Deliveries(ctx, filter, from)
		},
		pages: true,
	})
}

// deliveryBulkCommand completes a command that applies a verb to deliveries. verb may change the filter.
func deliveryBulkCommand(a *app,
	cmd *cobra.Command, examples string, verb func(filter *list.DeliveryFilter, ids []string, flags bulkFlags) (operate.Verb, error),
) *cobra.Command {
	var filter list.DeliveryFilter
	filterFlags(a, cmd, &filter)
	return a.verbCommand(cmd, verbCommand{
		ids: completeDeliveries(a), examples: examples,
		filtered: func() bool { return !reflect.DeepEqual(filter, list.DeliveryFilter{}) },
		verb: func(ids []string, flags bulkFlags) (operate.Verb, error) {
			if err := checkTimes(filter); err != nil {
				return operate.Verb{}, err
			}
			if _, err := operate.DeliveryNumber(flags.after); err != nil {
				return operate.Verb{}, misused(fmt.Errorf("--after %w", err))
			}
			return verb(&filter, ids, flags)
		},
		selects: func(ctx context.Context, o *operate.Operator, after string) (operate.Selection, error) {
			return o.SelectDeliveries(ctx, filter, after)
		},
	})
}
