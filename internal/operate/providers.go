package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"herald/internal/advice"
	"herald/internal/db"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/wiring"
)

// ProviderView is a provider of a channel, and its state in all processes.
type ProviderView struct {
	Channel notification.Channel `json:"channel"`
	On      bool                 `json:"on"` // its settings are set here
	notification.ProviderState
	Senders []notification.SenderState `json:"senders,omitempty"` // whose receipts were counted
}

// ReadProviders returns the providers of all channels. Each channel asks its providers in this order.
func ReadProviders(ctx context.Context, db *db.DB, wired wiring.Wiring) ([]ProviderView, error) {
	states, err := limit.On(db).ProviderStates(ctx)
	if err != nil {
		return nil, err
	}
	senders, err := limit.On(db).SenderStates(ctx)
	if err != nil {
		return nil, err
	}
	var views []ProviderView
	for _, name := range notification.Channels() {
		for _, p := range wired[name].All {
			view := ProviderView{Channel: name, On: p.On(), ProviderState: notification.ProviderState{Provider: p.Name}}
			if i := slices.IndexFunc(states, func(s notification.ProviderState) bool { return s.Provider == p.Name }); i >= 0 {
				view.ProviderState = states[i]
			}
			for _, s := range senders {
				if s.Channel == name && s.Provider == p.Name {
					view.Senders = append(view.Senders, s)
				}
			}
			views = append(views, view)
		}
	}
	return views, nil
}

// overridable returns the channels whose deliveries can wait for a provider.
func overridable() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), notification.Channel.BestEffort)
}

// OverrideProvider gives an order about a provider to all workers. An empty order takes the earlier
// order back.
func (o *Operator) OverrideProvider(ctx context.Context, provider string, order notification.ProviderOverride) error {
	others, err := siblings(provider)
	if err != nil {
		return err
	}
	if err := o.Record(ctx, o.Order.Flags, provider); err != nil {
		return err
	}
	return limit.On(o.DB).OverrideProvider(ctx, provider, others, order, o.Order.Actor, o.Order.Reason)
}

// siblings returns the other providers of a provider's channel.
func siblings(provider string) ([]string, error) {
	wired := wiring.New()
	var known []string
	for _, name := range overridable() {
		names := wired[name].Names()
		if i := slices.Index(names, provider); i >= 0 {
			return slices.Delete(names, i, i+1), nil
		}
		known = append(known, names...)
	}
	return nil,
		advice.With(fmt.Errorf("no provider %q has deliveries that can wait", provider), "name one of these: "+strings.Join(known, ", "))
}

// ResumeSender lets the optional messages of a paused sender go again, at a provider.
func (o *Operator) ResumeSender(ctx context.Context, provider, sender string) error {
	if o.Order.Reason == "" {
		return advice.With(errors.New("a sender is not resumed without a reason"), "say with --reason what has changed")
	}
	if err := o.Record(ctx, o.Order.Flags, provider); err != nil {
		return err
	}
	resumed, err := limit.On(o.DB).ResumeSender(ctx, provider, sender, o.Order.Actor, o.Order.Reason)
	if err == nil && !resumed {
		return advice.With(fmt.Errorf("no sender %q is paused at provider %q", sender, provider), "see `starter channel list`")
	}
	return err
}
