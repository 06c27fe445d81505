package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/config/version"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// app holds the state that all commands share.
type app struct {
	terminal.Output
	in          io.Reader
	environment map[string]string
	begun       bool          // the flags are parsed: later errors are not usage errors
	order       operate.Order // without its actor, which app.operator adds
	closing     []func()      // close the connections that the command opened
}

// Exit codes.
const (
	succeeded   = 0
	failed      = 1
	calledWrong = 2
	different   = 2 // the result of a command with the annotation reportsDifference
)

// reportsDifference is the annotation of commands whose exit code 2 means a difference. Called wrong,
// they end with 1, so that a script can tell.
const reportsDifference = "reports-difference"

// errDiffers ends a command that has printed a difference.
var errDiffers = errors.New("there is a difference")

// run runs the command that args name, and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, errDiffers):
		return different
	case !a.begun, errors.As(err, new(*usageError)):
		_, _ = fmt.Fprintf(a.Err, "error: %s\nnext: see `%s --help`\n", terminal.PrintableLines(err.Error()), called.CommandPath())
		if called.Annotations[reportsDifference] != "" {
			return failed
		}
		return calledWrong
	default:
		_, _ = fmt.Fprintf(a.Err, "error: %s\n", terminal.PrintableLines(err.Error()))
		if next := nextStep(err); next != "" {
			_, _ = fmt.Fprintf(a.Err, "next: %s\n", terminal.Printable(next))
		}
		return failed
	}
}

// usageError is the error of a command with wrong arguments or flags.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func misused(err error) error { return &usageError{err} }

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "starter",
		Short:         "Operate Herald: migrate, start the pollers, write and inspect events",
		Version:       version.Read().String(),
		Args:          terminal.KnownCommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(terminal.FlagError)
	root.SetIn(a.in)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	a.AddFlag(root)
	root.AddCommand(
		migrateCommand(a), seedCommand(a), rulesCommand(a), pollerCommand(a), workersCommand(a), sourceCommand(a), emitCommand(a),
		eventCommand(a), deliveryCommand(a),
		group("template", "Show the texts of an event", previewTemplateCommand(a)), suppressionCommand(a), recipientCommand(a),
		channelCommand(a), consoleCommand(a),
		group("secret", "Replace HERALD_SECRET, and make keys of Web Push", rekeyCommand(a), vapidCommand(a)), statusCommand(a), checkCommand(a),
		auditCommand(a), whyCommand(a), mcpCommand(a), replayCommand(a), restoreCommand(a), purgeCommand(a),
	)
	takeNoArgs(root)
	addReasons(root)
	return root
}

// takeNoArgs makes all subcommands of cmd without Args refuse arguments.
func takeNoArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if takeNoArgs(sub); sub.Args == nil {
			sub.Args = cobra.NoArgs
		}
	}
}

// group returns a command that only holds subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  terminal.KnownCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("%s needs a subcommand", cmd.CommandPath())
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// commandTimeout limits commands that make only a few statements and calls.
const commandTimeout = 30 * time.Second

// within returns a command's function that runs f with the time limit; 0 is no limit.
func (a *app) within(limit time.Duration, f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := terminal.FlagErrors(cmd.Flags()); err != nil {
			return err
		}
		a.begun, a.order = true, orderOf(cmd)
		defer a.close()
		ctx := cmd.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("took longer than %s: %w", limit, context.DeadlineExceeded))
			defer cancel()
		}
		return f(ctx, args)
	}
}

// close closes the command's connections, in reverse order.
func (a *app) close() {
	for _, end := range slices.Backward(a.closing) {
		end()
	}
	a.closing = nil
}
