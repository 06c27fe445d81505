package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/terminal"
)

// sourceView is a source as `starter source list` prints it. It omits the database's URL, which
// is a secret.
type sourceView struct {
	Name         string        `json:"name"`
	Dialect      relay.Dialect `json:"dialect,omitempty"` // empty for Herald's own tables
	Table        string        `json:"table"`
	Topic        string        `json:"topic,omitempty"`
	Key          string        `json:"key,omitempty"`
	Webhook      bool          `json:"webhook,omitempty"`
	Retries      string        `json:"retries,omitempty"`
	People       bool          `json:"people"`
	PollInterval string        `json:"poll_interval"`
	BatchSize    int           `json:"batch_size"`
	Pollers      int           `json:"pollers"`
	Timezone     string        `json:"timezone,omitempty"`
	Retention    string        `json:"retention,omitempty"` // empty: Herald deletes no rows
	Resting      []restingView `json:"resting_topics,omitempty"`
}

// restingView is a topic that accepts no records at the moment.
type restingView struct {
	Topic string `json:"topic"`
	For   string `json:"for"`
	Error string `json:"error"`
}

// addResting adds each source's topics that accept no records.
func addResting(ctx context.Context, a *app, views []sourceView) error {
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	for i := range views {
		topics, err := relay.On(db).TopicBackOffs(ctx, views[i].Name)
		if err != nil {
			return err
		}
		for _, topic := range topics {
			views[i].Resting = append(views[i].Resting, restingView{topic.Topic, topic.Since.Round(time.Second).String(), topic.Error})
		}
	}
	return nil
}

func viewOf(source relay.Source) sourceView {
	view := sourceView{
		Name: source.Name, Dialect: source.Dialect, Table: source.Table, People: source.People,
		PollInterval: source.PollInterval.String(), BatchSize: source.BatchSize, Pollers: source.Pollers,
	}
	if source.Name == notification.HeraldSource {
		view.Table = "event_outbox"
	}
	if source.Kafka != nil {
		view.Topic, view.Key = source.Kafka.Topic, source.Kafka.Key
	}
	if source.HasDestination() {
		view.Webhook, view.Retries = source.Webhook, retriesOf(source)
	}
	if source.Zone != nil {
		view.Timezone = source.Zone.String()
	}
	if source.Retention > 0 {
		view.Retention = source.Retention.String()
	}
	return view
}

// retriesOf returns a text such as "5 from 100ms on", or "forever".
func retriesOf(source relay.Source) string {
	if source.Retries == relay.RetryForever {
		return "forever"
	}
	return fmt.Sprintf("%d from %s on", source.Retries, source.RetryInterval.Round(time.Millisecond))
}

func printSources(w io.Writer, views []sourceView) {
	terminal.List(w, []string{"SOURCE", "DIALECT", "TABLE", "RETRIES", "PEOPLE", "POLLED EVERY", "KEPT", "TOPIC"}, views,
		func(view sourceView) []string {
			people := "no"
			if view.People {
				people = "told"
			}
			return []string{view.Name, string(terminal.Dash(view.Dialect)), view.Table, terminal.Dash(view.Retries), people,
				fmt.Sprintf("%s, %d × %d", view.PollInterval, view.Pollers, view.BatchSize), terminal.Dash(view.Retention), topicOf(view)}
		})
	for _, view := range views {
		for _, topic := range view.Resting {
			terminal.Row(w, view.Name, fmt.Sprintf("topic %s rests for %s: %s", topic.Topic, topic.For, terminal.Printable(topic.Error)))
		}
	}
}

// topicOf returns the template of the topic, followed by the template of the key, if any.
func topicOf(view sourceView) string {
	if view.Webhook {
		return "LIFECYCLE_WEBHOOK_URL"
	}
	if view.Key == "" {
		return terminal.Dash(view.Topic)
	}
	return view.Topic + " by " + view.Key
}
