package rig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// CheckServers returns an error that names a server without settings, and the task to run first.
func CheckServers(task string) error {
	for _, name := range []string{"DATABASE_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL", "TEMPORAL_ADDRESS"} {
		if os.Getenv(name) == "" {
			return fmt.Errorf("%s is not set: run `make up`, then `%s`", name, task)
		}
	}
	return nil
}

// CreateDatabase creates a database on the server of DATABASE_URL, and returns its URL.
func (l *Leftovers) CreateDatabase(ctx context.Context, name string) (address string, err error) {
	server := os.Getenv("DATABASE_URL")
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("DATABASE_URL cannot be read")
	}
	quoted := pgx.Identifier{name}.Sanitize()
	if err := onServer(ctx, server, "CREATE DATABASE "+quoted); err != nil {
		return "", err
	}
	l.AtEnd(func(ctx context.Context) error { return onServer(ctx, server, "DROP DATABASE "+quoted+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String(), nil
}

func onServer(ctx context.Context, server, sql string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// CreateVHost creates a vhost on the server of RABBITMQ_URL, and returns its URL.
func (l *Leftovers) CreateVHost(ctx context.Context, name string) (address string, err error) {
	u, err := url.Parse(os.Getenv("RABBITMQ_URL"))
	if err != nil {
		return "", errors.New("RABBITMQ_URL cannot be read")
	}
	if err := MakeVHost(ctx, name); err != nil {
		return "", err
	}
	l.AtEnd(func(ctx context.Context) error { return DeleteVHost(ctx, name) })
	u.Path = "/" + name
	return u.String(), nil
}

// MakeVHost makes a vhost. Its creator has all permissions in it.
func MakeVHost(ctx context.Context, name string) error { return manage(ctx, http.MethodPut, name) }

// DeleteVHost deletes a vhost with its queues.
func DeleteVHost(ctx context.Context, name string) error { return manage(ctx, http.MethodDelete, name) }

// manage creates or deletes a vhost.
func manage(ctx context.Context, method, vhost string) error {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/vhosts/"+vhost, http.NoBody)
	if err != nil {
		return errors.New("RABBITMQ_MANAGEMENT_URL cannot be read")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s the vhost %s: %s", method, vhost, response.Status)
	}
	return nil
}

// Run runs a program. The error quotes the program's output. If env is nil, the program gets the
// environment of this process.
func Run(ctx context.Context, env []string, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = env
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err,
			cmp.Or(string(bytes.TrimSpace(said)), "it said nothing"))
	}
	return nil
}
