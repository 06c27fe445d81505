// Command starter is the operators' command: it writes events, starts pollers, shows and
// changes events and deliveries.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // a machine without its own tables of zones

	"herald/internal/console"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{Output: console.Output{Out: os.Stdout, Err: os.Stderr}, in: os.Stdin, environment: environment(os.Environ())}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func environment(lines []string) map[string]string {
	variables := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		variables[name] = value
	}
	return variables
}
