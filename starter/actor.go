package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"herald/internal/console"
	"herald/internal/postgres"
)

// maxActor is how long a name of an actor may be, in bytes.
const maxActor = 100

// actor is who runs the command: HERALD_ACTOR, else user@host. It stands in
// operator_action, and in Temporal's histories as the identity of the client.
func (a *app) actor() (string, error) {
	name, set := a.environment["HERALD_ACTOR"]
	switch {
	case !set || name == "":
		return userAtHost(), nil
	case len(name) > maxActor || strings.TrimSpace(name) == "" || console.Printable(name) != name:
		return "", &settingsError{errors.New("HERALD_ACTOR must be a name of up to 100 bytes, without control characters")}
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
	said := console.Printable(name + "@" + host)
	return strings.ToValidUTF8(said[:min(maxActor, len(said))], "")
}

// invocation is a command as it was called, without what it was told to write.
type invocation struct{ command, flags string }

// unrecorded are flags that say nothing of what changes, and the payload of an
// event, which may hold anything.
var unrecorded = []string{"output", "yes", "dry-run", "no-wait", "payload"}

func invocationOf(cmd *cobra.Command) invocation {
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(unrecorded, f.Name) {
			return
		}
		text := "--" + f.Name
		if f.Value.Type() != "bool" {
			text += " " + strings.Trim(f.Value.String(), "[]")
		}
		flags = append(flags, text)
	})
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	return invocation{command: command, flags: strings.Join(flags, " ")}
}

// maxDetail bounds what is kept of a detail, in characters.
const maxDetail = 500

// record writes down that the actor has ordered the command for the targets. It
// comes before the change: what cannot be recorded is not done.
func (a *app) record(ctx context.Context, db *postgres.Store, detail string, targets ...string) error {
	actor, err := a.actor()
	if err != nil {
		return err
	}
	return db.RecordActions(ctx, actor, a.called.command, console.Cut(console.Printable(detail), maxDetail), targets)
}
