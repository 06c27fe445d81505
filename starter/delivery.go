package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
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
			return []string{d.DeliveryID, d.EventType, string(d.Status), strconv.Itoa(d.Attempts), terminal.Clock(&d.CreatedAt), terminal.Dash(d.LastError)}
		},
		read: func(ctx context.Context, r report.Reader, limit int) ([]report.DeliveryRow, error) {
			if err := checkTimes(filter); err != nil {
				return nil, err
			}
			return r.LatestDeliveries(ctx, filter, limit)
		},
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

func (a *app) cancelDeliveryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel deliveries that are not sent yet",
		Long: `Cancel deliveries by id or by filter, while they wait, retry, or belong to a digest. Sent
deliveries stay sent, and the answer counts them. Filters without --status mean PENDING.
More than 100 at once need --yes; --dry-run looks first.`,
		Example: `  starter delivery cancel evt-1-staff10-EMAIL
  starter delivery cancel --event-type PROMOTION --channel SMS --dry-run
  starter delivery cancel --event-type PROMOTION --channel SMS --yes`,
	}
	change := a.newDeliveryChange(cmd)
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		verb := operate.CancelDelivery()
		if err := change.check(verb, "--event or --event-type", ids, notification.Pending); err != nil {
			return err
		}
		if slices.ContainsFunc(change.filter.Statuses, func(s notification.Status) bool { return s != notification.Pending }) {
			return misused(errors.New("--status: only PENDING can be cancelled"))
		}
		return change.run(ctx, verb, ids)
	})
	return cmd
}

// retryWait is the time to wait for the outcomes of deliveries named by ids.
const retryWait = 30 * time.Second

func (a *app) retryDeliveryCommand() *cobra.Command {
	var again, noWait bool
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Retry deliveries that failed or were cancelled",
		Long: `Retry deliveries by id or by filter. Each gets a new run of its workflow, with the present
address and a new text. It is sent at once, and never in a digest. If its own time
(send_at_path) is in the future, it waits for that time. Filters without --status mean FAILED.

A sent or expired delivery needs --again: the recipient gets it twice, or late. With
filters, --again also needs --status SENT and --yes. More than 100 at once need --yes.

With ids, the command waits for the outcomes, up to 30 seconds in all.`,
		Example: `  starter delivery retry evt-1-staff10-EMAIL
  starter delivery retry evt-1-staff10-EMAIL --again
  starter delivery retry --channel SMS --since 2h --dry-run
  starter delivery retry --channel SMS --since 2h --yes`,
	}
	change := a.newDeliveryChange(cmd)
	cmd.Flags().BoolVar(&again, "again", false, "also retry deliveries that were sent, have expired, or were cancelled by another event")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the outcomes")
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		wait := retryWait
		if noWait || len(ids) == 0 {
			wait = 0
		}
		verb := operate.RetryDelivery(again, wait)
		if err := change.check(verb, "--event or --channel", ids, notification.Failed); err != nil {
			return err
		}
		if err := checkAgain(change, again); err != nil && len(ids) == 0 {
			return misused(err)
		}
		return change.run(ctx, verb, ids)
	})
	return cmd
}

// checkAgain refuses filters that select sent deliveries, unless the flags ask for it explicitly.
func checkAgain(change *deliveryChange, again bool) error {
	sent := slices.ContainsFunc(change.filter.Statuses, func(s notification.Status) bool {
		return s == notification.Sent || s == notification.Delivered
	})
	switch {
	case sent && !again:
		return errors.New("--status: sent deliveries need --again; each recipient gets it twice")
	case again && !sent:
		return errors.New("--again with filters needs --status SENT or DELIVERED")
	case again && !change.flags.yes && !change.flags.dryRun:
		return errors.New("--again with filters needs --yes, even for one delivery; each recipient gets it twice")
	default:
		return nil
	}
}
