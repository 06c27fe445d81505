package link

import (
	"errors"
	"fmt"
	"net/http"

	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/reason"
)

// Mute serves /mute: nothing more reaches the person through the link's entity, except what is mandatory.
// The page undoes it, too.
func (p *Pages) Mute() http.Handler { return p.handler(muting, true, p.askToMute, p.mute) }

// The values of the form's field.
const (
	muteField  = "mute"
	muteValue  = "yes"
	muteNoMore = "no"
)

func (p *Pages) askToMute(v *visit) {
	isMuted, name, err := p.Preferences.Muted(v.r.Context(), v.Holder.RecipientKey, v.entity)
	switch {
	case err != nil:
		p.fail(v, err)
	case isMuted:
		p.show(v, v.muteView(muted, name))
	default:
		p.show(v, v.muteView(audible, name))
	}
}

// mute mutes the entity, or undoes it. A form without a choice changes nothing.
func (p *Pages) mute(v *visit) {
	ctx, who := v.r.Context(), v.Holder.RecipientKey
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, formLimit)
	var err error
	var done state
	switch v.r.PostFormValue(muteField) {
	case muteValue:
		done, err = muted, preference.ByLink(p.Preferences).Mute(ctx, who, v.entity)
	case muteNoMore:
		done, err = unmuted, preference.ByLink(p.Preferences).Unmute(ctx, who, v.entity)
	default:
		p.askToMute(v)
		return
	}
	var refused *notification.PreferenceError
	if errors.As(err, &refused) {
		done, err = tooMany, nil
	}
	var name string
	if err == nil {
		_, name, err = p.Preferences.Muted(ctx, who, v.entity)
	}
	switch {
	case err != nil:
		p.fail(v, err)
	case done == tooMany:
		p.refuse(v, v.muteView(tooMany, name), "nothing was changed", refused.Problems...)
	default:
		p.show(v, v.muteView(done, name))
	}
}

// muteView returns the page of an entity in a state.
func (v *visit) muteView(s state, name string) view {
	t := v.text
	heading, body, button := t.MuteAsk, t.MuteBody+" "+t.MustSend, &button{muteField, muteValue, t.Mute}
	switch s {
	case muted:
		heading, body = t.Muted, t.MutedBody+" "+t.MustSend
		button.Value, button.Label = muteNoMore, t.Unmute
	case unmuted:
		heading, body = t.Unmuted, t.UnmutedBody
	case tooMany:
		body, button = t.TooMany, nil
	}
	name = reason.Why{Entity: v.entity, EntityName: name}.Name(t.Lang)
	return view{State: s, Heading: fmt.Sprintf(heading, name), Body: body, Button: button, Also: v.also()}
}
