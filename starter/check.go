package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/check"
	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/terminal"
	"herald/internal/wiring"
	"herald/migrations"
)

// checkTimeout is longer than all subjects take. They are checked concurrently.
const checkTimeout = time.Minute

// checkedSince is the usual age of the events that a check plans.
const checkedSince = 7 * 24 * time.Hour

// checkFlags are the flags of `starter check`.
type checkFlags struct {
	since     terminal.Age
	domain    string
	selectors []string
}

// sendgridSelectors are the selectors that SendGrid signs with.
var sendgridSelectors = []string{"s1", "s2"}

func checkCommand(a *app) *cobra.Command {
	flags := checkFlags{since: terminal.Age{Duration: checkedSince, Text: "7d"}}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for mistakes in the configuration",
		Long: `Look for mistakes in the configuration: the schema, the directory or its views, the
rules, the templates, the channels and their providers, RabbitMQ, Temporal, pollers and
workers, and the outboxes of other services. Each mistake names its row and its remedy.
The exit code is 1 if there is a mistake.

starter check also plans the last events of each type: it looks for their recipients and
renders their texts. It changes nothing and sends nothing. In Temporal, it runs a
workflow for a second, to see whether fairness is on. Run it with the settings of a
worker, because it checks the credentials in the environment.

--domain also asks DNS for the SPF, DKIM and DMARC records of a domain in EMAIL_FROM. Without
them, receivers treat your e-mails as forged. Any one of the selectors may have the key.`,
		Example: `  starter check
  starter check --since 1h
  starter check --domain example.com --dkim-selector mail
  starter check -o json`,
		RunE: a.within(checkTimeout, func(ctx context.Context, _ []string) error {
			return a.check(ctx, flags)
		}),
	}
	terminal.AgeFlag(cmd.Flags(), &flags.since, "since", "also plan events written since: an age (24h, 7d)")
	cmd.Flags().StringVar(&flags.domain, "domain", "", "also ask DNS for SPF, DKIM and DMARC of this domain")
	cmd.Flags().StringSliceVar(&flags.selectors, "dkim-selector", sendgridSelectors,
		"the selectors that sign your e-mails; the default is SendGrid's")
	return cmd
}

// dnsName matches the name of a domain, or a selector.
var dnsName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// domainSubjects returns the check of the domain in the flags, if there is one.
func (f checkFlags) domainSubjects() ([]check.Subject, error) {
	if f.domain == "" {
		return nil, nil
	}
	for _, name := range append([]string{f.domain}, f.selectors...) {
		if !dnsName.MatchString(name) {
			return nil, misused(fmt.Errorf("%q is no name in DNS: --domain takes a domain such as example.com, "+
				"--dkim-selector names such as s1", name))
		}
	}
	return []check.Subject{check.Domain(net.DefaultResolver, strings.ToLower(f.domain), f.selectors)}, nil
}

func (a *app) check(ctx context.Context, flags checkFlags) error {
	domain, err := flags.domainSubjects()
	if err != nil {
		return err
	}
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	temporal := check.Engine{Namespace: a.namespace(), Sources: cfg.Sources}
	temporal.Launcher, temporal.Problem = a.launcher(ctx)
	run, err := a.checker(db, cfg, wiring.New(), temporal)
	if err != nil {
		return err
	}
	return runCheck(a, "starter check", func() check.Result { return run(ctx, flags.since.Duration, domain...) })
}

// wholeCheck checks the whole installation, and further subjects. since is the age of the events that it
// also plans.
type wholeCheck func(ctx context.Context, since time.Duration, further ...check.Subject) check.Result

// checker reads the settings of all providers into wired, and returns the check with these settings.
func (a *app) checker(db *db.DB, cfg config.Starter, wired wiring.Wiring, temporal check.Engine) (wholeCheck, error) {
	brokers, err := a.brokers()
	if err != nil {
		return nil, err
	}
	senders := check.Senders{Wired: wired, Problem: config.SendersFrom(a.environment, wired.Read), Channels: notification.Channels()}
	return func(ctx context.Context, since time.Duration, further ...check.Subject) check.Result {
		in := check.PlanningInput{
			DB: db, Senders: senders, Texts: texts(cfg), Since: since, Sources: temporal.Sources,
		}
		result := check.Run(ctx, slices.Concat(a.subjects(ctx, in, temporal), check.Sources(cfg.Sources),
			check.Lifecycle(db, cfg.Sources), check.Topics(db, brokers, cfg.Sources), further))
		result.Providers = senders.Providers()
		if !config.VerifiesDatabase(cfg.DatabaseURL) {
			result.Advice = append(result.Advice, check.UnverifiedDatabase())
		}
		return result
	}, nil
}

// runCheck runs a check, and fails if it finds mistakes. command is the command to run again. Advice
// never makes it fail.
func runCheck(a *app, command string, run func() check.Result) error {
	stop := a.Progress(func() string { return "checking …" })
	result := run()
	stop()
	if err := a.Print(result, func(w io.Writer) { printCheck(w, result) }); err != nil {
		return err
	}
	switch count := len(result.Mistakes); count {
	case 0:
		return nil
	case 1:
		return advice.With(fmt.Errorf("there is a mistake"), "correct it, and run `"+command+"` again")
	default:
		return advice.With(fmt.Errorf("there are %d mistakes", count), "correct them, and run `"+command+"` again")
	}
}

// subjects returns everything to check: only the servers if Herald's tables are unusable.
func (a *app) subjects(ctx context.Context, in check.PlanningInput, temporal check.Engine) []check.Subject {
	schema, usable := check.Schema(ctx, in.DB, migrations.FS)
	subjects := []check.Subject{schema}
	if usable {
		subjects = append(subjects, check.Planning(in)...)
		subjects = append(subjects, check.Sending(in.DB, in.Senders)...)
	}
	return append(subjects, brokerSubject(a, in.DB), check.Temporal(in.DB, temporal), check.Fairness(temporal))
}

func brokerSubject(a *app, db *db.DB) check.Subject {
	url, err := config.Broker(a.environment)
	switch {
	case err != nil:
		return check.Skip("broker", err.Error())
	case url == "":
		return check.Skip("broker", "RABBITMQ_URL is not set")
	default:
		return check.Broker(db, string(url))
	}
}

func printCheck(w io.Writer, result check.Result) {
	for _, mistake := range result.Mistakes {
		terminal.Row(w, mistake.Where()+": "+mistake.Problem)
		terminal.Row(w, "  next: "+mistake.Remedy)
	}
	for _, advice := range result.Advice {
		terminal.Row(w, "advice: "+advice.Where()+": "+advice.Problem)
		terminal.Row(w, "  next: "+advice.Remedy)
	}
	for _, name := range notification.Channels() {
		if providers := result.Providers[name]; len(providers) > 0 {
			terminal.Row(w, fmt.Sprintf("%s is sent by %s", name, strings.Join(providers, ", then ")))
		}
	}
	for _, skipped := range result.NotChecked {
		terminal.Row(w, skipped.Subject+" was not checked: "+skipped.Reason)
	}
	if len(result.Mistakes) == 0 && len(result.Checked) > 0 {
		terminal.Row(w, "no mistakes in "+terminal.Join(result.Checked))
	}
}
