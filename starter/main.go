// Command starter is the operators' command: it writes events, starts pollers, shows and
// changes events and deliveries.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/caarlos0/env/v11"

	"herald/internal/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{Output: terminal.Output{Out: os.Stdout, Err: os.Stderr}, in: os.Stdin, environment: env.ToMap(os.Environ())}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
