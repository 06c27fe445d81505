package notification

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Preferences are a recipient's choices, as the recipient sees and changes them.
type Preferences struct {
	Timezone string `json:"timezone"` // IANA; when stored, empty keeps the present value
	// 08:00, in their zone; empty: as each event type says; nil when read: no digest has a time; nil when stored: keeps its value
	DigestAt *string `json:"digest_at,omitempty"`
	// the channels that may serve the recipient; when stored, missing channels keep their values
	Channels []ChannelPreference `json:"channels"`
	// of event types that may reach the recipient; when stored, missing categories keep their values
	Categories []CategoryPreference `json:"categories"`

	// AsOf is when the preferences were read. When stored, channels and categories that changed
	// after this time keep their values; nil: the new values are chosen now.
	AsOf *time.Time `json:"as_of,omitempty"`
}

// ChannelPreference is a recipient's choice for one channel.
type ChannelPreference struct {
	Channel Channel `json:"channel"`
	Enabled *bool   `json:"enabled,omitempty"` // never nil when read; when stored, nil keeps its value
	// everything over it is mandatory, so it cannot be switched off; ignored when stored
	Mandatory  bool                  `json:"mandatory"`
	QuietHours *QuietHoursPreference `json:"quiet_hours,omitempty"` // nil: the channel is never quieted; when stored: keeps its value
}

// QuietHoursPreference is quiet hours in a person's notation.
type QuietHoursPreference struct {
	Enabled *bool  `json:"enabled"`         // as in [ChannelPreference]
	Start   string `json:"start,omitempty"` // 22:00, in the recipient's zone; empty: none
	End     string `json:"end,omitempty"`   // 08:00; before Start: the next day; equal to Start: refused
}

// isMandatory reports whether a category over a channel is mandatory; an empty category means
// everything over the channel.
func (p Preferences) isMandatory(category string, channel Channel) bool {
	return p.CheckOff(category, channel) != nil
}

// Touched returns the preferences without choices about what is mandatory in current: nobody chose
// it.
func (p Preferences) Touched(current Preferences) Preferences {
	p.Channels = slices.Clone(p.Channels)
	for i, c := range p.Channels {
		if current.isMandatory("", c.Channel) {
			p.Channels[i].Enabled = nil
		}
	}
	categories := p.Categories
	p.Categories = nil
	for _, g := range categories {
		g.Channels = slices.DeleteFunc(slices.Clone(g.Channels),
			func(c CategoryChannel) bool { return current.isMandatory(g.Category, c.Channel) })
		p.Categories = append(p.Categories, g)
	}
	return p
}

// CategoryPreference is a recipient's choice for one category of event types.
type CategoryPreference struct {
	Category string            `json:"category"`
	Channels []CategoryChannel `json:"channels"`
}

// CategoryChannel is a category over one channel.
type CategoryChannel struct {
	Channel   Channel `json:"channel"`
	Enabled   *bool   `json:"enabled"`   // as in [ChannelPreference]
	Mandatory bool    `json:"mandatory"` // all its event types are mandatory; as in [ChannelPreference]
}

// PreferenceError explains why preferences are not stored: some are invalid, or switch off
// something mandatory.
type PreferenceError struct {
	Problems []string // sentences for people
}

func (e *PreferenceError) Error() string { return strings.Join(e.Problems, "; ") }

// UnknownZone is the error for an unknown time zone.
func UnknownZone(timezone string) *PreferenceError {
	return &PreferenceError{
		[]string{fmt.Sprintf("the time zone %.60q is unknown: use a name of the IANA database, such as Europe/Rome", timezone)},
	}
}

// Check returns a [PreferenceError] for the preferences that cannot replace the current ones.
func (p Preferences) Check(current Preferences) error {
	var problems []string
	if _, known := KnownZone(p.Timezone); p.Timezone != "" && p.Timezone != current.Timezone && !known {
		problems = append(problems, UnknownZone(p.Timezone).Problems...)
	}
	if p.DigestAt != nil && *p.DigestAt != "" && !clockForm.MatchString(*p.DigestAt) {
		problems = append(problems, fmt.Sprintf("the time of digests is %.20q: use a time from 00:00 to 23:59", *p.DigestAt))
	}
	seen := map[string]bool{}
	for _, wanted := range p.Channels {
		problems = append(problems, wanted.problems(current.Channels, seen)...)
	}
	for _, wanted := range p.Categories {
		problems = append(problems, wanted.problems(current.Categories, seen)...)
	}
	if len(problems) > 0 {
		return &PreferenceError{problems}
	}
	return nil
}

// CheckOff returns a [PreferenceError] if a category over a channel is mandatory. An empty
// category means everything over the channel. An unknown category may be switched off.
func (p Preferences) CheckOff(category string, channel Channel) error {
	for _, c := range p.Channels {
		if category == "" && c.Channel == channel && c.Mandatory {
			return &PreferenceError{[]string{mandatoryChannel(channel)}}
		}
	}
	for _, g := range p.Categories {
		for _, c := range g.Channels {
			if g.Category == category && c.Channel == channel && c.Mandatory {
				return &PreferenceError{[]string{mandatoryCategory(category, channel)}}
			}
		}
	}
	return nil
}

func mandatoryChannel(channel Channel) string {
	return fmt.Sprintf("%s cannot be switched off: everything over it is mandatory", channel)
}

func mandatoryCategory(category string, channel Channel) string {
	return fmt.Sprintf("%s over %s is mandatory, and cannot be switched off", category, channel)
}

func (p ChannelPreference) problems(current []ChannelPreference, seen map[string]bool) (problems []string) {
	i := slices.IndexFunc(current, func(c ChannelPreference) bool { return c.Channel == p.Channel })
	if i < 0 {
		return []string{fmt.Sprintf("there is no channel %.20q for you", string(p.Channel))}
	}
	enabled := p.Enabled
	if enabled == nil && p.QuietHours != nil { // only the quiet hours change
		enabled = new(true)
	}
	problems = switchProblems(string(p.Channel), enabled, current[i].Mandatory, mandatoryChannel(p.Channel), seen)
	if p.QuietHours != nil {
		problems = append(problems, p.QuietHours.problems(p.Channel)...)
	}
	return problems
}

// switchProblems returns the problems of one choice: it is made twice, lacks enabled, or switches off
// something mandatory. why is the text for the last problem.
func switchProblems(name string, enabled *bool, mandatory bool, why string, seen map[string]bool) (problems []string) {
	if seen[name] {
		problems = append(problems, name+" is named twice")
	}
	seen[name] = true
	switch {
	case enabled == nil:
		problems = append(problems, name+" is neither on nor off: enabled is missing")
	case mandatory && !*enabled:
		problems = append(problems, why)
	}
	return problems
}

func (q QuietHoursPreference) problems(channel Channel) (problems []string) {
	switch {
	case !channel.Quieted():
		return []string{string(channel) + " is never quieted, so it has no quiet_hours"}
	case q.Enabled == nil:
		return []string{fmt.Sprintf("the quiet hours of %s are neither on nor off: enabled is missing", channel)}
	case *q.Enabled && q.Start != "" && clockOf(q.Start) == clockOf(q.End):
		return []string{fmt.Sprintf("the quiet hours of %s end when they start: to get nothing over it, switch it off", channel)}
	case *q.Enabled && (q.Start == "" || q.End == ""):
		return []string{fmt.Sprintf("the quiet hours of %s need a start and an end", channel)}
	}
	for _, clock := range []string{q.Start, q.End} {
		if clock != "" && !clockForm.MatchString(clock) {
			problems = append(problems, fmt.Sprintf("the quiet hours of %s have the time %.20q: use a time from 00:00 to 23:59", channel, clock))
		}
	}
	return problems
}

// clockOf returns a time of day without zeros at its end, so that 22:00 and 22:00:00.0 are equal.
func clockOf(clock string) string { return strings.TrimRight(clock, ":.0") }

// clockForm is a time of day, with or without seconds.
var clockForm = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$`)

func (p CategoryPreference) problems(current []CategoryPreference, seen map[string]bool) (problems []string) {
	i := slices.IndexFunc(current, func(c CategoryPreference) bool { return c.Category == p.Category })
	if i < 0 {
		return []string{fmt.Sprintf("there is no category %.60q for you", p.Category)}
	}
	if p.Channels == nil {
		return []string{p.Category + " names no channels"}
	}
	for _, wanted := range p.Channels {
		name := p.Category + " over " + string(wanted.Channel)
		j := slices.IndexFunc(current[i].Channels, func(c CategoryChannel) bool { return c.Channel == wanted.Channel })
		if j < 0 {
			problems = append(problems, fmt.Sprintf("%s does not come over %.20q", p.Category, string(wanted.Channel)))
			continue
		}
		problems = append(problems,
			switchProblems(name, wanted.Enabled, current[i].Channels[j].Mandatory, mandatoryCategory(p.Category, wanted.Channel), seen)...)
	}
	return problems
}

// Off reports whether the recipient switched off a category over a channel, or the whole channel.
// Mandatory categories are always on.
func (p Preferences) Off(category string, channel Channel) bool {
	off := func(of Channel, enabled *bool) bool { return of == channel && enabled != nil && !*enabled }
	for _, c := range p.Channels {
		if off(c.Channel, c.Enabled) {
			return true
		}
	}
	for _, g := range p.Categories {
		for _, c := range g.Channels {
			if g.Category == category && off(c.Channel, c.Enabled) {
				return true
			}
		}
	}
	return false
}
