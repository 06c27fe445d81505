package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/terminal"
	"herald/starter/seed"
)

func seedCommand(a *app) *cobra.Command {
	var slackURL string
	var yes bool
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Load the example directory, rules and templates",
		Long: `Load the example: two restaurants, an agency, customers, admins and a guest, with their
rules and templates. You can repeat it. If rows with the example's keys have other
contents, such as your customer 42, it counts them and changes nothing. With --yes it
overwrites them.`,
		Example: "  starter seed\n  starter seed --slack-url http://127.0.0.1:9090 --yes",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.seed(ctx, slackURL, yes)
		}),
	}
	cmd.Flags().StringVar(&slackURL, "slack-url", "https://hooks.slack.com", "scheme and host of the example's Slack webhooks")
	cmd.Flags().BoolVar(&yes, "yes", false, "overwrite rows that have the example's keys and other contents")
	return cmd
}

func (a *app) seed(ctx context.Context, slackURL string, yes bool) error {
	if err := checkBaseURL(slackURL); err != nil {
		return misused(fmt.Errorf("--slack-url: %w", err))
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	confirm := func(ctx context.Context, changed map[string]int) error {
		if len(changed) > 0 && !yes {
			return misused(fmt.Errorf("nothing changed: some rows differ from the example: %s; to overwrite them add --yes", rowsByTable(changed)))
		}
		return a.record(ctx, db, cmp.Or(rowsByTable(changed), "nothing overwritten"), "the example")
	}
	if err := seed.Load(ctx, db, slackURL, confirm); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	return a.Print(map[string]bool{"seeded": true}, func(w io.Writer) {
		terminal.Row(w, "the example directory, rules and templates are in place")
	})
}

// rowsByTable returns a text such as "1 of notification_template, 2 of recipient".
func rowsByTable(counts map[string]int) string {
	var said []string
	for _, table := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, terminal.Grouped(counts[table])+" of "+table)
	}
	return strings.Join(said, ", ")
}

// checkBaseURL accepts a URL with only a scheme and a host.
func checkBaseURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("must be http or https with a host, such as http://127.0.0.1:9090")
	}
	return nil
}
