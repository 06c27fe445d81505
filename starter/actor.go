package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"herald/internal/db"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// maxActor is the maximum length of an actor's name, in bytes.
const maxActor = 100

// actor returns the name of the person who runs the command: HERALD_ACTOR, else user@host.
// operator_action stores it, and Temporal stores it as the client's identity.
func (a *app) actor() (string, error) {
	name, set := a.environment["HERALD_ACTOR"]
	switch {
	case !set || name == "":
		return userAtHost(), nil
	case len(name) > maxActor || strings.TrimSpace(name) == "" || terminal.Printable(name) != name:
		return "", misset(errors.New("HERALD_ACTOR must be a name of up to 100 bytes, without control characters"))
	default:
		return name, nil
	}
}

func userAtHost() string {
	name := "unknown"
	if current, err := user.Current(); err == nil {
		name = cmp.Or(current.Username, current.Uid, name)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	said := terminal.Printable(name + "@" + host)
	return strings.ToValidUTF8(said[:min(maxActor, len(said))], "")
}

// unrecorded lists the flags that the audit omits: flags that do not affect what changes,
// --payload, which may hold anything, and --address, which Herald never stores.
var unrecorded = []string{"output", "yes", "dry-run", "no-wait", "payload", "address"}

// orderOf returns the command with its flags. It leaves the actor empty.
func orderOf(cmd *cobra.Command) operate.Order {
	var flags []string
	var reason string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(unrecorded, f.Name) {
			return
		}
		if f.Usage == reasonUsage {
			reason = recorded(f.Value.String())
			return
		}
		text := "--" + f.Name
		if f.Value.Type() != "bool" {
			text += " " + f.Value.String()
		}
		flags = append(flags, text)
	})
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	return operate.Order{Command: command, Flags: recorded(strings.Join(flags, " ")), Reason: reason}
}

// reasonUsage is the help of the --reason flag that [addReasons] adds. orderOf recognizes the flag
// by its help, because starter suppression has another flag --reason.
const reasonUsage = "why you do it, for `TEXT` in starter audit"

// changing lists the commands that change something, or print personal data.
var changing = []string{
	"event approve", "event reject", "event cancel", "event retry", "delivery cancel", "delivery send-now", "delivery reschedule",
	"delivery retry",
	"poller start", "poller stop", "poller pause", "poller resume", "source migrate", "source retry", "purge", "seed", "emit", "migrate up",
	"migrate down", "secret rekey", "workers promote", "channel pause", "channel use", "channel resume", "recipient erase",
	"recipient export", "recipient merge", "rules apply",
}

// addReasons adds the flag --reason to every command in changing.
func addReasons(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		_, path, _ := strings.Cut(sub.CommandPath(), " ")
		if slices.Contains(changing, path) {
			terminal.TextFlag(sub.Flags(), new(string), "reason", reasonUsage)
		}
		addReasons(sub)
	}
}

// maxDetail is the maximum length of a recorded detail, in characters.
const maxDetail = 500

func recorded(detail string) string { return terminal.Cut(terminal.Printable(detail), maxDetail) }

// operator returns an operator for the person who runs the command, without Temporal.
func (a *app) operator(db *db.DB) (*operate.Operator, error) {
	order := a.order
	var err error
	order.Actor, err = a.actor()
	return &operate.Operator{Order: order, DB: db}, err
}

// record records that the actor ordered the command for the targets. Call it before the
// change: if it fails, the command changes nothing.
func (a *app) record(ctx context.Context, db *db.DB, detail string, targets ...string) error {
	o, err := a.operator(db)
	if err == nil {
		err = o.Record(ctx, recorded(detail), targets...)
	}
	return err
}

// onDatabase calls f with an operator who changes only the database.
func (a *app) onDatabase(ctx context.Context, f func(ctx context.Context, o *operate.Operator) error) error {
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	o, err := a.operator(db)
	if err != nil {
		return err
	}
	return f(ctx, o)
}

// ordering returns the function of a command that calls f with an operator who changes only the
// database. 0 means no time limit.
func (a *app) ordering(
	limit time.Duration, f func(ctx context.Context, o *operate.Operator, args []string) error,
) func(*cobra.Command, []string) error {
	return a.within(limit, func(ctx context.Context, args []string) error {
		return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error { return f(ctx, o, args) })
	})
}

// operate calls f with an operator who changes the database and workflows.
func (a *app) operate(ctx context.Context, f func(ctx context.Context, o *operate.Operator) error) error {
	return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) (err error) {
		if o.Launcher, err = a.launcher(ctx); err != nil {
			return err
		}
		return f(ctx, o)
	})
}
