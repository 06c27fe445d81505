package main

import "github.com/spf13/cobra"

func (a *app) eventCommand() *cobra.Command {
	return group("event", "List, show, cancel and retry events",
		a.listEventsCommand(), a.showEventCommand(), a.cancelEventCommand(), a.retryEventCommand())
}
