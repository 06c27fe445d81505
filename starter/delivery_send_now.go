package main

import (
	"github.com/spf13/cobra"

	"herald/internal/operate"
)

func (a *app) sendNowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send-now ID...",
		Short: "Send waiting deliveries now",
		Long: `Send waiting deliveries now. They may wait for a delay, for the end of quiet hours or for
their next attempt. For an item of a digest, the whole digest is sent.`,
		Example: "  starter delivery send-now evt-1-staff10-EMAIL",
	}
	return a.namedCommand(cmd, a.completeDeliveries(), func() (operate.Verb, error) { return operate.SendNow(), nil })
}
