package main

import (
	"github.com/spf13/cobra"

	"herald/internal/operate"
)

func (a *app) cancelEventCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel events with all their deliveries that were not sent yet",
		Long: `Cancel events with all their deliveries that were not sent yet. What was sent stays sent,
and the answer counts it. An event that was not started yet is not started, unless it
is retried. More than 100 at once need --yes.`,
		Example: "  starter event cancel evt-1",
	}
	return a.namedCommand(cmd, a.completeEvents(), func() (operate.Verb, error) { return operate.CancelEvent(), nil })
}
