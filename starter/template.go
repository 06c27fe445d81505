package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/config"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/template"
	"herald/internal/terminal"
)

func previewTemplateCommand(a *app) *cobra.Command {
	var in explain.PreviewRequest
	var payload string
	cmd := &cobra.Command{
		Use:   "preview --event ID | --type TYPE --payload FILE",
		Short: "Show the text that a recipient would get now",
		Long: `Show the text that one recipient would get over one channel, and its row of
notification_template. The event is in the outbox, or you give only its payload. An e-mail
shows its HTML and its plain part. If the text cannot be rendered, a delivery would fail with
the same error. It sends and changes nothing.`,
		Example: `  starter template preview --event evt-1 --recipient RESTAURANT_USER/10 --channel email
  starter template preview --event evt-1 --recipient RESTAURANT_USER/10 --channel email --digest
  starter template preview --type PROMOTION --payload promotion.json --recipient CUSTOMER/42 --channel sms --locale it`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return previewTemplate(ctx, a, in, payload)
		}),
	}
	eventFlag(a, cmd, &in.EventID, "the id of an event")
	eventTypeFlag(a, cmd, &in.Type, "type", "the type of the event in --payload")
	terminal.TextFlag(cmd.Flags(), &payload, "payload", "a file with a JSON object; - is the standard input")
	recipientFlag(a, cmd, &in.UserType, &in.UserID, "the recipient: CUSTOMER/42")
	terminal.WordFlag(cmd, &in.Channel, "channel", notification.Channels(), "the channel")
	terminal.TextFlag(cmd.Flags(), &in.Locale, "locale", "a locale instead of the recipient's: it, it-CH")
	cmd.Flags().BoolVar(&in.Digest, "digest", false, "the text of a digest with this event as its item")
	terminal.Require(cmd, "recipient", "channel")
	return cmd
}

func previewTemplate(ctx context.Context, a *app, in explain.PreviewRequest, payload string) (err error) {
	switch {
	case (in.EventID == "") == (payload == ""):
		return misused(errors.New("give --event, or --payload with --type"))
	case (in.Type == "") != (payload == ""):
		return misused(errors.New("--type and --payload need each other"))
	case payload != "":
		if in.Payload, err = payloadFile(a, payload); err != nil {
			return misused(fmt.Errorf("--payload: %w", err))
		}
	}
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	found, err := explain.Explainer{DB: db, Texts: texts(cfg)}.Preview(ctx, in)
	return show(a, found, err, printPreview)
}

// texts writes texts as a worker does, with examples of the links.
func texts(cfg config.Starter) template.Engine {
	return template.Engine{LinkSchemes: cfg.LinkSchemes}.WithExampleLinks()
}

// payloadFile reads a JSON object from a file or the standard input.
func payloadFile(a *app, name string) ([]byte, error) {
	if name == "-" {
		return a.payload("-")
	}
	return a.payload("@" + name)
}

func printPreview(w io.Writer, p explain.Preview) {
	t := p.Template
	terminal.Row(w, "event", fmt.Sprintf("%s: %s", p.EventID, p.EventType))
	terminal.Row(w, "recipient", fmt.Sprintf("%s, locale %s", p.Recipient, terminal.Dash(p.Locale)))
	terminal.Row(w, "channel", p.Channel)
	terminal.Row(w, "template", fmt.Sprintf("event_type %s, channel %s, locale %s", t.EventType, t.Channel, t.Locale))
	for _, note := range p.Notes {
		terminal.Row(w, "note", note)
	}
	terminal.Row(w, "title", p.Title)
	if p.URL != "" {
		terminal.Row(w, "url", p.URL)
	}
	body := "BODY"
	if p.Plain != "" {
		body = "BODY, HTML PART"
	}
	printText(w, body, p.Body)
	if p.Plain != "" {
		printText(w, "BODY, PLAIN PART", p.Plain)
	}
}

// printText prints a heading, and below it an indented text of several lines.
func printText(w io.Writer, heading, text string) {
	terminal.Row(w)
	terminal.Row(w, heading)
	_, _ = fmt.Fprintln(w, "  "+terminal.PrintableLines(text))
}
