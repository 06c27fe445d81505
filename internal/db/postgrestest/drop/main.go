// Command drop drops the databases of a test run: drop RUN.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"herald/internal/db/postgrestest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 || os.Args[1] == "" {
		fmt.Fprintln(os.Stderr, "usage: drop RUN")
		os.Exit(2)
	}
	if err := postgrestest.DropRun(ctx, os.Getenv("DATABASE_URL"), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
