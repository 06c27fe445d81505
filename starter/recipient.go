package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/person"
	"herald/internal/terminal"
)

func recipientCommand(a *app) *cobra.Command {
	return group("recipient", "Erase, export or merge people", eraseCommand(a), exportCommand(a), mergeCommand(a))
}

// recipientArgs accepts one argument such as CUSTOMER/42 for each of the recipients, and reads them.
func recipientArgs(recipients ...*notification.RecipientKey) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(len(recipients))(cmd, args); err != nil {
			return err
		}
		for i, text := range args {
			var err error
			if *recipients[i], err = recipientOf(text); err != nil {
				return fmt.Errorf("%q %w", text, err)
			}
		}
		return nil
	}
}

// recipientOf reads a recipient such as CUSTOMER/42. It does not check that the user type exists:
// the types are in the database.
func recipientOf(text string) (notification.RecipientKey, error) {
	kind, id, _ := strings.Cut(text, "/")
	who := notification.RecipientKey{UserType: notification.UserType(strings.ToUpper(kind)), UserID: id}
	if !who.UserType.WellFormed() || id == "" {
		return who, errors.New("must be a user type and an id, such as RESTAURANT_USER/10")
	}
	return who, nil
}

func eraseCommand(a *app) *cobra.Command {
	var who notification.RecipientKey
	var flags confirmation
	cmd := &cobra.Command{
		Use:   "erase TYPE/ID",
		Short: "Erase a person: Herald never tells them anything again",
		Long: `Erase a person. From the first moment on, nothing is planned or sent for them: no event,
digest, escalation, retry or replay. This is permanent. Then it cancels deliveries that
wait for them, deletes their directory rows, devices and settings, and empties the texts and
addresses of their deliveries, and the payloads of events that told nobody else.

It also erases people who were merged into the person.

It names events that told other people too: their payloads stay. It also names views of
the directory, where only your application can delete. docs/privacy.md lists what stays
in other places, and until when.

You can interrupt it at any time. Run it again, and it continues. It erases only with --yes.`,
		Example: `  starter recipient erase CUSTOMER/42 --dry-run
  starter recipient erase CUSTOMER/42 --reason 'request 17' --yes`,
		Args:              recipientArgs(&who),
		ValidArgsFunction: completeUserTypes(a),
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			people := operate.People{Operator: o}
			plan, err := people.PlanErase(ctx, who)
			if err != nil {
				return err
			}
			plan.DryRun = flags.dryRun
			return confirmed(a, flags, rowChange[operate.Erasure]{
				verb: "erase", done: "erased", plan: plan, rows: terminal.Grouped(plan.Rows()), print: printErasure,
				do: func(set func(string)) (operate.Erasure, error) {
					return people.Erase(ctx, plan, func(e operate.Erasure) {
						set(fmt.Sprintf("%s rows, %s events erased …", terminal.Grouped(e.Rows()), terminal.Grouped(e.Events)))
					})
				},
			})
		}),
	}
	flags.register(cmd, "erase")
	return cmd
}

func printErasure(w io.Writer, e operate.Erasure) {
	terminal.Row(w, "TABLE", "ROWS", "NOTE")
	for _, t := range e.Tables {
		note := "-"
		if t.View && t.Rows > 0 {
			note = "your view: delete the rows in your application"
		}
		terminal.Row(w, t.Table, terminal.Grouped(t.Rows), note)
	}
	if e.DryRun {
		return
	}
	terminal.Row(w, "event_outbox", terminal.Grouped(e.Events), "payloads")
	terminal.Row(w)
	more := ""
	if e.More {
		more = " and more"
	}
	if e.UnderWay > 0 {
		terminal.Row(w, fmt.Sprintf("not erased: %d deliveries have an attempt under way", e.UnderWay))
	}
	if len(e.Open) > 0 {
		terminal.Row(w, "open events keep their payload; run it again after they end: "+strings.Join(e.Open, ", ")+more)
	}
	if len(e.Shared) > 0 {
		terminal.Row(w, "events that told others too keep their payload: "+strings.Join(e.Shared, ", ")+more)
	}
}

func exportCommand(a *app) *cobra.Command {
	var who notification.RecipientKey
	var yes bool
	cmd := &cobra.Command{
		Use:   "export TYPE/ID",
		Short: "Print all that Herald holds about a person, as JSON",
		Long: `Print all that Herald holds about a person, as one JSON document, row by row: directory,
devices, settings, deliveries with texts and addresses, decisions, suppressions and events.
An event that told other people too comes without its payload. It prints only with --yes:
redirect the output to a file.`,
		Example:           "  starter recipient export CUSTOMER/42 --reason 'request 17' --yes > customer42.json",
		Args:              recipientArgs(&who),
		ValidArgsFunction: completeUserTypes(a),
		PreRunE: func(*cobra.Command, []string) error {
			if !yes {
				return errors.New("nothing printed: it would print texts, addresses and device tokens; repeat with --yes to print them")
			}
			return nil
		},
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			people := operate.People{Operator: o}
			if _, err := people.PlanErase(ctx, who); err != nil {
				return err
			}
			name, err := json.Marshal(who.String())
			if err == nil {
				err = a.WriteJSON(`{"recipient": ` + string(name) + `, "rows": [`)
			}
			if err == nil {
				err = people.Export(ctx, who, exportRows(&a.Output))
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
func exportRows(out *terminal.Output) func(person.ExportPage) error {
	separator := "\n"
	return func(page person.ExportPage) error {
		var text strings.Builder
		for _, row := range page.Rows {
			text.WriteString(separator + `{"table": "` + page.Table + `", "row": ` + string(row) + "}")
			separator = ",\n"
		}
		return out.WriteJSON(text.String())
	}
}

func mergeCommand(a *app) *cobra.Command {
	var from, to notification.RecipientKey
	var flags confirmation
	cmd := &cobra.Command{
		Use:   "merge FROM TO",
		Short: "Move a person's settings, devices, inbox and waiting deliveries to another",
		Long: `Move the rows of FROM to TO, who is the same human being: preferences, categories,
settings, devices, deliveries with their ids, and decisions, so that no replay tells them
again. If both have a preference, the later choice counts. If both have another setting,
TO keeps its value. If both got an event, each keeps the row, and FROM's waiting delivery ends.
Old links, receipts and tokens of FROM count for TO from then on.

The directory does not change: deactivate FROM there, or erase FROM. Run it again, and it
continues until nothing is left. It moves only with --yes.`,
		Example: `  starter recipient merge GUEST/7 CUSTOMER/42 --dry-run
  starter recipient merge GUEST/7 CUSTOMER/42 --reason 'signed up' --yes`,
		Args:              recipientArgs(&from, &to),
		ValidArgsFunction: completeUserTypes(a),
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			people := operate.People{Operator: o}
			plan, err := people.PlanMerge(ctx, from, to)
			if err != nil {
				return err
			}
			plan.DryRun = flags.dryRun
			return confirmed(a, flags, rowChange[operate.Merger]{
				verb: "move", done: "moved", plan: plan, rows: terminal.Grouped(plan.Rows()), idle: plan.Rows() == 0, print: printMerger,
				do: func(set func(string)) (operate.Merger, error) {
					return people.Merge(ctx, plan, func(m operate.Merger) { set(terminal.Grouped(m.Rows()) + " rows moved …") })
				},
			})
		}),
	}
	flags.register(cmd, "move")
	return cmd
}

func printMerger(w io.Writer, m operate.Merger) {
	if m.Rows() == 0 {
		terminal.Row(w, "nothing is left to move")
		return
	}
	terminal.Row(w, "TABLE", "ROWS")
	for _, t := range m.Tables {
		terminal.Row(w, t.Table, terminal.Grouped(t.Rows))
	}
	if m.Cancelled > 0 {
		terminal.Row(w)
		terminal.Row(w, fmt.Sprintf("cancelled, because %s gets them too: %d deliveries", m.To, m.Cancelled))
	}
}
