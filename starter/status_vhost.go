package main

import (
	"context"
	"io"

	"herald/internal/config"
	"herald/internal/console"
	"herald/internal/rabbitmq"
)

// vhostView is what `starter status` knows of the broker's vhost.
type vhostView struct {
	Installation string `json:"installation"`          // the one that marked it; empty: none did, or nobody asked
	NotChecked   string `json:"not_checked,omitempty"` // why
}

// vhost never fails: the backlog can be looked at without a broker.
func (a *app) vhost(ctx context.Context, cfg config.Starter) vhostView {
	url, err := config.Broker(a.environment)
	if err != nil {
		return vhostView{NotChecked: err.Error()}
	}
	if url == "" {
		return vhostView{NotChecked: "RABBITMQ_URL is not set"}
	}
	temporal, err := config.Temporal(a.environment)
	if err != nil {
		return vhostView{NotChecked: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	found, err := rabbitmq.Installation(ctx, string(url))
	if err != nil {
		return vhostView{NotChecked: "RabbitMQ: " + err.Error()}
	}
	if ours := cfg.Installation(temporal.Namespace); found != "" && found != ours {
		a.Note("warning: the vhost of RABBITMQ_URL is used by the installation %s as well as by this one, %s: each gets messages of the other's", found, ours)
		a.Note("next: give each a vhost of its own; where Herald has moved, delete the queue %s and start the workers again", rabbitmq.InstallationQueue)
	}
	return vhostView{Installation: found}
}

func printVhost(w io.Writer, view vhostView) {
	if view.NotChecked != "" {
		console.Row(w, "vhost", "not checked: "+view.NotChecked)
	}
}
