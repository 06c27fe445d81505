package link

import (
	"errors"
	"fmt"
	"net/http"

	"herald/internal/notification"
)

// Unsubscribe serves /unsubscribe. A POST, from the page's form or a mailbox provider, unsubscribes at once,
// with any body. The link works for the person even after their address has changed.
func (p *Pages) Unsubscribe() http.Handler {
	return p.handler(unsubscribing, false, p.askToStop, p.stop)
}

func (p *Pages) askToStop(v *visit) {
	current, err := p.Preferences.Preferences(v.r.Context(), v.Holder.RecipientKey)
	if err != nil {
		p.fail(v, err)
		return
	}
	p.show(v, v.subscription(standing(current, v.claim)))
}

func (p *Pages) stop(v *visit) {
	err := p.Preferences.Unsubscribe(v.r.Context(), v.Holder.RecipientKey, v.category, v.channel)
	var refused *notification.PreferenceError
	switch {
	case errors.As(err, &refused):
		p.refuse(v, v.subscription(mandatory), "nothing was changed", refused.Problems...)
	case err != nil:
		p.fail(v, err)
	default:
		p.show(v, v.subscription(off))
	}
}

// standing returns the state of a subscription in the preferences.
func standing(p notification.Preferences, c claim) state {
	switch {
	case p.CheckOff(c.category, c.channel) != nil:
		return mandatory
	case p.Off(c.category, c.channel):
		return off
	default:
		return on
	}
}

// subscription returns the page of a subscription in a state.
func (v *visit) subscription(s state) view {
	what := v.text.what(v.category, v.channel)
	switch s {
	case on:
		return view{
			State: on, Heading: fmt.Sprintf(v.text.Stop, what), Body: v.text.MustSend, Also: v.also(),
			Button: &button{"List-Unsubscribe", "One-Click", v.text.Unsubscribe},
		}
	case off:
		return view{State: off, Heading: fmt.Sprintf(v.text.Stopped, what), Body: v.text.MustSend, Also: v.also()}
	default:
		return view{State: mandatory, Heading: fmt.Sprintf(v.text.CannotStop, what), Body: v.text.CannotStopBody, Also: v.also()}
	}
}
