package link

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/preference"
)

// formLimit is the maximum length of a form, in bytes.
const formLimit = 256 << 10

// form is the form of the preferences. Each choice is a channel, a slash and a category; without a
// category: all over the channel. The form names the choices that it shows, because browsers do not send
// what is off.
type form struct {
	AsOf     string // when the choices were read
	Channels []channelForm
	DigestAt *string // nil: no digest has a time
	Saved    bool
}

type channelForm struct {
	Name       string
	Switch     *choice // nil: everything over the channel is mandatory
	Categories []choice
}

type choice struct {
	Value, Label string
	On           bool
}

// Choose serves /preferences: what may be switched off, and the time of digests.
func (p *Pages) Choose() http.Handler { return p.handler(choosing, true, p.showChoices, p.choose) }

func (p *Pages) showChoices(v *visit) { p.showPreferences(v, choices) }

// choose stores the choices of the form, all of them or none.
func (p *Pages) choose(v *visit) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, formLimit)
	if err := v.r.ParseForm(); err != nil {
		p.showPreferences(v, notSaved, "the form cannot be read, or is too long")
		return
	}
	err := preference.ByLink(p.Preferences).SetPreferences(v.r.Context(), v.Holder.RecipientKey, v.chosen())
	var refused *notification.PreferenceError
	switch {
	case errors.As(err, &refused):
		p.showPreferences(v, notSaved, refused.Problems...)
	case err != nil:
		p.fail(v, err)
	default:
		p.showPreferences(v, saved)
	}
}

// chosen returns the choices in a request's form.
func (v *visit) chosen() (wanted notification.Preferences) {
	sent := v.r.PostForm
	on := map[string]bool{}
	for _, value := range sent["on"] {
		on[value] = true
	}
	if at, err := time.Parse(time.RFC3339Nano, sent.Get("as_of")); err == nil {
		wanted.AsOf = &at
	}
	if sent.Get("digest_at") != sent.Get("digest_was") {
		wanted.DigestAt = new(sent.Get("digest_at"))
	}
	ofCategory := map[string]int{}
	for _, value := range sent["shown"] {
		name, category, _ := strings.Cut(value, "/")
		channel, enabled := notification.Channel(name), new(on[value])
		if category == "" {
			wanted.Channels = append(wanted.Channels, notification.ChannelPreference{Channel: channel, Enabled: enabled})
			continue
		}
		i, known := ofCategory[category]
		if !known {
			i, ofCategory[category] = len(wanted.Categories), len(wanted.Categories)
			wanted.Categories = append(wanted.Categories, notification.CategoryPreference{Category: category})
		}
		of := &wanted.Categories[i]
		of.Channels = append(of.Channels, notification.CategoryChannel{Channel: channel, Enabled: enabled})
	}
	return wanted
}

// showPreferences answers with the present choices. problems tell why the state is notSaved.
func (p *Pages) showPreferences(v *visit, s state, problems ...string) {
	current, err := p.Preferences.Preferences(v.r.Context(), v.Holder.RecipientKey)
	if err != nil {
		p.fail(v, err)
		return
	}
	shown := view{State: s, Heading: v.text.Choose, Body: v.text.MustSend, Form: v.form(current)}
	if len(shown.Form.Channels) == 0 && shown.Form.DigestAt == nil {
		shown.Body, shown.Form = v.text.NothingToChoose, nil
	}
	if s == notSaved {
		p.refuse(v, shown, "nothing was changed", problems...)
		return
	}
	p.show(v, shown)
}

// form returns the form with the present choices. It leaves out what is mandatory, and channels without
// categories, unless the channel is the link's or is off.
func (v *visit) form(current notification.Preferences) *form {
	f := &form{AsOf: current.AsOf.UTC().Format(time.RFC3339Nano), DigestAt: current.DigestAt}
	for _, c := range current.Channels {
		of := channelForm{Name: v.text.messages(c.Channel)}
		if !c.Mandatory {
			of.Switch = &choice{string(c.Channel) + "/", v.text.GetThese, *c.Enabled}
		}
		for _, g := range current.Categories {
			for _, over := range g.Channels {
				if over.Channel == c.Channel && !over.Mandatory {
					of.Categories = append(of.Categories, choice{string(c.Channel) + "/" + g.Category, words(g.Category), *over.Enabled})
				}
			}
		}
		if len(of.Categories) > 0 || of.Switch != nil && (c.Channel == v.channel || !of.Switch.On) {
			f.Channels = append(f.Channels, of)
		}
	}
	return f
}
