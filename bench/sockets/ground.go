package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ground is a database and a vhost for one run, on the servers of the local stack.
type ground struct {
	dir   string   // of programs
	env   []string // of these
	vhost string   // its address
	db    *pgxpool.Pool
	undo  []func(ctx context.Context) error
}

// undoTime bounds the removal of what was made.
const undoTime = time.Minute

func newGround(ctx context.Context) (g *ground, err error) {
	for _, name := range []string{"DATABASE_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL", "TEMPORAL_ADDRESS"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf(`%s is not set: run "make up", then eval "$(make -s env)"`, name)
		}
	}
	g = &ground{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.remove())
		}
	}()
	if g.dir, err = os.MkdirTemp("", "herald-bench-"); err != nil {
		return g, err
	}
	g.undo = append(g.undo, func(context.Context) error { return os.RemoveAll(g.dir) })
	name := "herald-bench-" + strings.ToLower(rand.Text()[:8])
	database, err := g.createDatabase(ctx, name)
	if err != nil {
		return g, err
	}
	if err := g.createVHost(ctx, name); err != nil {
		return g, err
	}
	g.env = append(os.Environ(), "DATABASE_URL="+database, "RABBITMQ_URL="+g.vhost)
	return g, nil
}

// remove removes all that was made, the last first, also after an interrupt.
func (g *ground) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	var failed []error
	for _, undo := range slices.Backward(g.undo) {
		failed = append(failed, undo(ctx))
	}
	return errors.Join(failed...)
}

func (g *ground) createDatabase(ctx context.Context, name string) (address string, err error) {
	server, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return "", err
	}
	g.undo = append(g.undo, func(context.Context) error { server.Close(); return nil })
	quoted := pgx.Identifier{name}.Sanitize()
	if _, err := server.Exec(ctx, "CREATE DATABASE "+quoted); err != nil {
		return "", err
	}
	g.undo = append(g.undo, func(ctx context.Context) error {
		_, err := server.Exec(ctx, "DROP DATABASE "+quoted+" WITH (FORCE)")
		return err
	})
	if address, err = addressOf("DATABASE_URL", name); err != nil {
		return "", err
	}
	if g.db, err = pgxpool.New(ctx, address); err != nil {
		return "", err
	}
	g.undo = append(g.undo, func(context.Context) error { g.db.Close(); return nil })
	return address, nil
}

func (g *ground) createVHost(ctx context.Context, name string) (err error) {
	if err := manage(ctx, http.MethodPut, name); err != nil { // its creator may do everything there
		return err
	}
	g.undo = append(g.undo, func(ctx context.Context) error { return manage(ctx, http.MethodDelete, name) })
	g.vhost, err = addressOf("RABBITMQ_URL", name)
	return err
}

// addressOf is the address in a setting, with another path.
func addressOf(setting, path string) (string, error) {
	u, err := url.Parse(os.Getenv(setting))
	if err != nil {
		return "", errors.New(setting + " cannot be read")
	}
	u.Path = "/" + path
	return u.String(), nil
}

// manage creates or deletes a vhost.
func manage(ctx context.Context, method, vhost string) error {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/vhosts/"+vhost, http.NoBody)
	if err != nil {
		return errors.New("RABBITMQ_MANAGEMENT_URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s the vhost %s: %s", method, vhost, answer.Status)
	}
	return nil
}

// command runs a program, and quotes what it said if it fails.
func (g *ground) command(ctx context.Context, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = g.env
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return nil
}
