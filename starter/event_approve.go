package main

import (
	"github.com/spf13/cobra"

	"herald/internal/operate"
)

func (a *app) approveEventCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve ID...",
		Short: "Approve events that wait for approval",
		Long: `Approve events that wait for approval: their types have a row in event_type_approval, and
they would tell more people than this row allows. ` + "`starter event show`" + ` has the counts and
some texts. The person who ran ` + "`starter emit`" + ` cannot approve it. The first answer counts.`,
		Example: "  starter event approve evt-1 --reason 'seen by legal'",
	}
	return a.namedCommand(cmd, a.completeEvents(), func() (operate.Verb, error) { return operate.ApproveEvent(), nil })
}

func (a *app) rejectEventCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reject ID...",
		Short:   "Reject events that wait for approval",
		Long:    "Reject events that wait for approval. They tell nobody. The first answer counts.",
		Example: "  starter event reject evt-1 --reason 'wrong price'",
	}
	return a.namedCommand(cmd, a.completeEvents(), func() (operate.Verb, error) { return operate.RejectEvent(), nil })
}
