package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres/report"
)

func (a *app) listDeliveriesCommand() *cobra.Command {
	var filter report.DeliveryFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest deliveries, the newest first",
		Long:  "List the latest deliveries, the newest first. It shows no addresses and no texts.",
		Example: `  starter delivery list --status failed --since 24h
  starter delivery list --recipient CUSTOMER/42 --channel sms
  starter delivery list --event evt-1 --limit 1000 -o json`,
	}
	a.filterFlags(cmd, &filter)
	return listCommand(a, cmd, list[report.DeliveryRow]{
		name: "deliveries", none: "no deliveries",
		header: []string{"DELIVERY", "TYPE", "STATUS", "ATTEMPTS", "PLANNED", "LAST ERROR"},
		cells: func(d report.DeliveryRow) []string {
			return []string{d.DeliveryID, d.EventType, string(d.Status), strconv.Itoa(d.Attempts), console.Clock(&d.CreatedAt), console.Dash(d.LastError)}
		},
		read: func(ctx context.Context, r report.Reader, limit int) ([]report.DeliveryRow, error) {
			if err := checkTimes(filter); err != nil {
				return nil, err
			}
			return r.LatestDeliveries(ctx, filter, limit)
		},
	})
}
