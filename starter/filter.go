package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// deliveryFilter is the flags that say which deliveries are meant.
type deliveryFilter struct {
	statuses, channels []string
	eventID, eventType string
	correlationID      string
	recipient, entity  string
	since, until       string
}

func statuses() []notification.Status {
	return []notification.Status{notification.Pending, notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled}
}

func (f *deliveryFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.statuses, "status", nil, "only these statuses: "+words(statuses()))
	flags.StringSliceVar(&f.channels, "channel", nil, "only these channels: "+words(notification.Channels()))
	flags.StringVar(&f.eventID, "event", "", "only those of this event id")
	flags.StringVar(&f.eventType, "event-type", "", "only those of this event type")
	flags.StringVar(&f.recipient, "recipient", "", "only those to this recipient: RESTAURANT_USER/10")
	flags.StringVar(&f.entity, "entity", "", "only those told through this group: RESTAURANT/5")
	flags.StringVar(&f.correlationID, "correlation-id", "", "only those of events with this correlation id")
	flags.StringVar(&f.since, "since", "", "only those planned since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	flags.StringVar(&f.until, "until", "", "only those planned before: an age or a time")
	completeWords(cmd, "status", statuses())
	completeWords(cmd, "channel", notification.Channels())
	completeRecipient(cmd)
}

// empty says that no flag was given.
func (f *deliveryFilter) empty() bool {
	return len(f.statuses) == 0 && len(f.channels) == 0 && f.eventID == "" && f.eventType == "" &&
		f.recipient == "" && f.entity == "" && f.correlationID == "" && f.since == "" && f.until == ""
}

// parse returns what the flags mean, or an error of usage.
func (f *deliveryFilter) parse(now time.Time) (postgres.DeliveryFilter, error) {
	filter := postgres.DeliveryFilter{EventID: f.eventID, EventType: f.eventType, CorrelationID: f.correlationID}
	var problems [6]error
	filter.Statuses, problems[0] = parseWords("--status", f.statuses, statuses())
	filter.Channels, problems[1] = parseWords("--channel", f.channels, notification.Channels())
	if f.recipient != "" {
		filter.UserType, filter.UserID, problems[2] = parseRecipient(f.recipient)
	}
	filter.Since, problems[3] = optionalWhen("--since", f.since, now)
	filter.Until, problems[4] = optionalWhen("--until", f.until, now)
	if f.entity != "" {
		filter.Entity, problems[5] = parseEntity("--entity", f.entity)
	}
	if err := errors.Join(problems[:]...); err != nil {
		return postgres.DeliveryFilter{}, misused(err)
	}
	if !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return postgres.DeliveryFilter{}, misused(errors.New("--since must be before --until"))
	}
	return filter, nil
}

func optionalWhen(flag, value string, now time.Time) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := parseWhen(value, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", flag, err)
	}
	return at, nil
}

// parseWords accepts the allowed words in upper and lower case.
func parseWords[T ~string](flag string, values []string, allowed []T) ([]T, error) {
	var found []T
	for _, value := range values {
		word := T(strings.ToUpper(strings.TrimSpace(value)))
		if !slices.Contains(allowed, word) {
			return nil, fmt.Errorf("%s: %q is none of %s", flag, value, words(allowed))
		}
		if !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found, nil
}

// parseRecipient reads RESTAURANT_USER/10.
func parseRecipient(value string) (notification.UserType, string, error) {
	kind, id, _ := strings.Cut(value, "/")
	userType := notification.UserType(strings.ToUpper(kind))
	if !slices.Contains(notification.UserTypes(), userType) || id == "" {
		return "", "", fmt.Errorf("--recipient: %q is not a user type and an id, such as RESTAURANT_USER/10; the types are %s", value, words(notification.UserTypes()))
	}
	return userType, id, nil
}

// parseEntity reads RESTAURANT/5.
func parseEntity(flag, value string) (notification.Entity, error) {
	kind, id, _ := strings.Cut(value, "/")
	if kind == "" || id == "" {
		return notification.Entity{}, fmt.Errorf("%s: %q is not a type and an id, such as RESTAURANT/5", flag, value)
	}
	return notification.Entity{Type: kind, ID: id}, nil
}

func words[T ~string](list []T) string {
	text := make([]string, 0, len(list))
	for _, word := range list {
		text = append(text, string(word))
	}
	return strings.Join(text, ", ")
}
