package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
)

func (a *app) exportCommand() *cobra.Command {
	var who notification.RecipientKey
	var yes bool
	cmd := &cobra.Command{
		Use:   "export TYPE/ID",
		Short: "Print all that Herald holds about a person, as JSON",
		Long: `Print all that Herald holds about a person, as one JSON document, row by row: directory,
devices, settings, deliveries with texts and addresses, decisions, suppressions and events.
An event that told other people too comes without its payload. It prints only with --yes:
direct it into a file.`,
		Example:           "  starter recipient export CUSTOMER/42 --reason 'request 17' --yes > customer42.json",
		Args:              recipientArgs(&who),
		ValidArgsFunction: a.completeUserTypes(),
		PreRunE: func(*cobra.Command, []string) error {
			if !yes {
				return errors.New("nothing printed: it would print texts, addresses and device tokens; repeat with --yes to print them")
			}
			return nil
		},
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			if _, err := o.PlanErase(ctx, who); err != nil {
				return err
			}
			name, err := json.Marshal(who.String())
			if err == nil {
				err = a.WriteJSON(`{"recipient": ` + string(name) + `, "rows": [`)
			}
			if err == nil {
				err = o.Export(ctx, who, a.exportRows())
			}
			if err == nil {
				err = a.WriteJSON("\n]}\n")
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "print personal data")
	return cmd
}

// exportRows returns a function that prints pages of rows as elements of an array.
func (a *app) exportRows() func(postgres.ExportPage) error {
	separator := "\n"
	return func(page postgres.ExportPage) error {
		var text strings.Builder
		for _, row := range page.Rows {
			text.WriteString(separator + `{"table": "` + page.Table + `", "row": ` + string(row) + "}")
			separator = ",\n"
		}
		return a.WriteJSON(text.String())
	}
}
