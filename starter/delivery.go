package main

import "github.com/spf13/cobra"

func (a *app) deliveryCommand() *cobra.Command {
	return group("delivery", "List, show, explain, cancel, hasten and retry deliveries",
		a.listDeliveriesCommand(), a.showDeliveryCommand(), a.whyDeliveryCommand(),
		a.cancelDeliveryCommand(), a.sendNowCommand(), a.rescheduleCommand(), a.retryDeliveryCommand())
}
