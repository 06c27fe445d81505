package main

import "github.com/spf13/cobra"

func (a *app) templateCommand() *cobra.Command {
	return group("template", "Show what the templates make of an event", a.previewTemplateCommand())
}
