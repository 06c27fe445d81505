package main

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"herald/internal/example"
)

func (a *app) seedCommand() *cobra.Command {
	var slackURL string
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Load the example directory, rules and templates",
		Long: `Load the example: two restaurants, an agency, customers, admins and a guest, with
their rules and templates. What is there already becomes as it was; nothing else
is touched. It can be repeated.`,
		Example: "  starter seed\n  starter seed --slack-url http://127.0.0.1:9090",
		Args:    cobra.NoArgs,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.seed(ctx, slackURL)
		}),
	}
	cmd.Flags().StringVar(&slackURL, "slack-url", "https://hooks.slack.com", "where the example's Slack webhooks are: scheme and host")
	return cmd
}

func (a *app) seed(ctx context.Context, slackURL string) error {
	if err := checkBaseURL(slackURL); err != nil {
		return misused(fmt.Errorf("--slack-url: %w", err))
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := example.Seed(ctx, db, slackURL); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	return a.print(map[string]bool{"seeded": true}, func(w io.Writer) {
		row(w, "the example directory, rules and templates are in place")
	})
}

// checkBaseURL accepts scheme and host, and nothing behind them.
func checkBaseURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("must be http or https with a host, such as http://127.0.0.1:9090")
	}
	return nil
}
