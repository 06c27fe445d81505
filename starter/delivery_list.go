package main

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres/report"
)

func (a *app) listDeliveriesCommand() *cobra.Command {
	var f deliveryFilter
	var limit console.Limit
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the latest deliveries, the newest first",
		Long:  "List the latest deliveries, the newest first. It shows no addresses and no texts.",
		Example: `  starter delivery list --status failed --since 24h
  starter delivery list --recipient CUSTOMER/42 --channel sms
  starter delivery list --event evt-1 --limit 1000 -o json`,
		Args: cobra.NoArgs,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.listDeliveries(ctx, f, int(limit))
		}),
	}
	f.register(cmd)
	a.completeEventFlag(cmd)
	console.LimitFlag(cmd.Flags(), &limit)
	return cmd
}

// deliveryList is what `starter delivery list` prints.
type deliveryList struct {
	Deliveries []report.DeliveryRow `json:"deliveries"`
	More       bool                 `json:"more"` // there are others behind these
}

func (a *app) listDeliveries(ctx context.Context, f deliveryFilter, limit int) error {
	filter, _, err := f.parse()
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	deliveries, err := report.Reader{Pool: db.Pool}.LatestDeliveries(ctx, filter, limit+1)
	if err != nil {
		return err
	}
	list := deliveryList{Deliveries: deliveries[:min(limit, len(deliveries))], More: len(deliveries) > limit}
	return a.Print(list, func(w io.Writer) { printDeliveries(w, list) })
}

func printDeliveries(w io.Writer, list deliveryList) {
	if len(list.Deliveries) == 0 {
		console.Row(w, "no deliveries")
		return
	}
	l := console.Listing{Header: []string{"DELIVERY", "TYPE", "STATUS", "ATTEMPTS", "PLANNED", "LAST ERROR"}}
	for _, d := range list.Deliveries {
		l.Add(d.DeliveryID, d.EventType, string(d.Status), strconv.Itoa(d.Attempts), console.Seconds(d.CreatedAt), console.Dash(d.LastError))
	}
	l.Print(w)
	console.PrintMore(w, list.More)
}
