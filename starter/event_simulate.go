package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/terminal"
)

func simulateEventCommand(a *app) *cobra.Command {
	var in explain.SimulateRequest
	var payload string
	cmd := &cobra.Command{
		Use:   "simulate --event ID | --type TYPE --aggregate TYPE/ID --payload JSON",
		Short: "Show what an event would do, without doing it",
		Long: `Plan an event by the worker's rules, without storing or sending anything. It prints the
number of recipients, the decisions about each channel, and up to three texts. With
--recipient, it also prints what this person would get, and why.

It applies throttle windows and caps with their current counts.`,
		Example: `  starter event simulate --type PROMOTION --aggregate BROADCAST/0 --payload @promotion.json
  starter event simulate --type PROMOTION --aggregate BROADCAST/0 --payload @promotion.json \
    --at 2026-12-24T23:00:00+01:00 --recipient CUSTOMER/42 --recipient CUSTOMER/43
  starter event simulate --event evt-1 -o json`,
		RunE: a.within(emitTimeout, func(ctx context.Context, _ []string) error { return simulateEvent(ctx, a, in, payload) }),
	}
	flags := cmd.Flags()
	eventFlag(a, cmd, &in.EventID, "the id of an event in the outbox")
	eventTypeFlag(a, cmd, &in.Event.Type, "type", "the type of an event that nobody has written")
	var aggregate notification.Entity
	entityFlag(flags, &aggregate, "aggregate", "its aggregate: RESTAURANT/5")
	flags.StringVar(&payload, "payload", "", "its payload, a JSON object; @FILE reads it from a file, - from the standard input")
	flags.DurationVar(&in.ExpiresIn, "expires-in", 0, "the time until it expires: 10m (default: no limit)")
	flags.Var(&terminal.Value{Kind: "time", Read: func(text string) (_ string, err error) {
		if in.At, err = time.Parse(time.RFC3339, text); err != nil {
			err = errors.New("must be a time with a zone, such as 2026-12-24T23:00:00+01:00")
		}
		return text, err
	}}, "at", "the time of planning: 2026-12-24T23:00:00+01:00 (default: now)")
	recipientsFlag(a, cmd, &in.People, "also what this person would get, and why: CUSTOMER/42; may be repeated")
	cmd.PreRun = func(*cobra.Command, []string) {
		in.Event.AggregateType, in.Event.AggregateID = aggregate.Type, aggregate.ID
	}
	return cmd
}

func simulateEvent(ctx context.Context, a *app, in explain.SimulateRequest, payload string) error {
	switch {
	case (in.EventID == "") == (in.Event.Type == ""):
		return misused(errors.New("give --event, or --type with --aggregate and --payload"))
	case in.EventID != "" && (payload != "" || in.Event.AggregateType != "" || in.ExpiresIn != 0):
		return misused(errors.New("--event has its own aggregate, payload and expiry"))
	case in.EventID == "" && (payload == "" || in.Event.AggregateType == ""):
		return misused(errors.New("--type needs --aggregate and --payload"))
	case in.EventID == "":
		read, err := a.payload(payload)
		if err != nil {
			return misused(fmt.Errorf("--payload: %w", err))
		}
		in.Event.Payload = json.RawMessage(read)
	}
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	warnOfNoSecret(ctx, a, db)
	var planned atomic.Int64
	in.Progress = func(recipients int) { planned.Store(int64(recipients)) }
	stop := a.Progress(func() string { return fmt.Sprintf("%d recipients planned", planned.Load()) })
	found, err := explain.Explainer{DB: db, Texts: texts(cfg)}.Simulate(ctx, in)
	stop()
	return show(a, found, err, printSimulation)
}

func printSimulation(w io.Writer, s explain.Simulation) {
	terminal.Row(w, "event", fmt.Sprintf("%s: %s", terminal.Dash(s.EventID), s.EventType))
	terminal.Row(w, "planned", terminal.Clock(&s.At))
	printSet(w, fact{"outcome", string(s.Outcome)}, fact{"problem", s.Problem})
	terminal.Row(w, "recipients", s.Recipients)
	for _, channel := range s.Channels {
		terminal.Row(w, string(channel.Channel), channelText(channel))
	}
	for _, person := range s.People {
		terminal.Row(w)
		terminal.Row(w, person.Recipient, strings.Join(person.NotNamed, "; "))
		for _, d := range person.Decisions {
			terminal.Row(w, "  "+string(d.Channel), decisionText(d))
		}
	}
	for _, text := range s.Samples {
		printText(w, fmt.Sprintf("%s OVER %s", text.Recipient, text.Channel), strings.TrimSpace(text.Title+"\n\n"+text.Body))
	}
}

// channelText returns "2 SELECTED, 1 NO_ADDRESS; 1 waits; 1 fails: no template".
func channelText(channel explain.SimulatedChannel) string {
	var counts []string
	for _, decision := range append([]notification.Decision{notification.DecisionSelected}, notification.Decisions()...) {
		if count := channel.Decisions[decision]; count > 0 && (decision != notification.DecisionSelected || len(counts) == 0) {
			counts = append(counts, fmt.Sprintf("%d %s", count, decision))
		}
	}
	text := strings.Join(counts, ", ")
	if channel.Waiting > 0 {
		text += fmt.Sprintf("; %d of them sent later or in a digest", channel.Waiting)
	}
	if channel.Failing > 0 {
		text += fmt.Sprintf("; %d fail, the first: %s", channel.Failing, channel.FirstFail)
	}
	return text
}

func decisionText(d explain.SimulatedDecision) string {
	text := fmt.Sprintf("%s: %s", d.Decision, d.Meaning)
	if d.Digest {
		text += "; in a digest"
	}
	if d.SendAfter != nil {
		text += "; sent at " + terminal.Clock(d.SendAfter)
	}
	if d.Problem != "" {
		text += "; it fails: " + d.Problem
	}
	return text
}
