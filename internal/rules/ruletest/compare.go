package ruletest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/internal/rules"
)

// Difference is a place where the plan is not as the test expects.
type Difference struct {
	Recipient rules.Reference      `json:"recipient"`
	Channel   notification.Channel `json:"channel"` // empty: all channels of the recipient
	Part      Part                 `json:"part"`
	Want      string               `json:"want"`
	Got       string               `json:"got"`
}

// Part names the part of the plan that differs.
type Part string

// The parts.
const (
	PartPayload  Part = "payload" // of the event, without a recipient
	PartDecision Part = "decision"
	PartDelivery Part = "delivery" // it is selected, and fails
	PartTitle    Part = "title"
	PartBody     Part = "body"
	PartURL      Part = "url"
)

// texts holds the texts that recipients would read.
type texts map[rules.Reference]map[notification.Channel]notification.Text

func (t texts) add(who rules.Reference, channel notification.Channel, text notification.Text) {
	if t[who] == nil {
		t[who] = map[notification.Channel]notification.Text{}
	}
	t[who][channel] = text
}

// outcome is the plan of a test's event.
type outcome struct {
	decisions                          map[rules.Reference]decisions
	texts, digestTexts, escalatedTexts texts
	problems                           []Difference
}

type decisions = map[notification.Channel]notification.Decision

func newOutcome() *outcome {
	return &outcome{decisions: map[rules.Reference]decisions{}, texts: texts{}, digestTexts: texts{}, escalatedTexts: texts{}}
}

func (o *outcome) problem(who rules.Reference, channel notification.Channel, problem string) {
	o.problems = append(o.problems, Difference{who, channel, PartDelivery, "it can be sent", problem})
}

// compare returns the differences from a test, ordered by recipient and channel. reasons tell why an
// expected recipient is not told.
func (o *outcome) compare(test rules.Test, reasons map[rules.Reference][]string) []Difference {
	var found []Difference
	everyone := maps.Clone(o.decisions)
	for who := range test.Expect {
		everyone[who] = nil
	}
	for _, who := range slices.Sorted(maps.Keys(everyone)) {
		want, expected := test.Expect[who]
		got, named := o.decisions[who]
		switch {
		case !expected:
			found = append(found, Difference{who, "", PartDecision, "no recipient of this event", list(got)})
		case !named:
			found = append(found, Difference{who, "", PartDecision, list(want), "no recipient of this event: " + strings.Join(reasons[who], "; ")})
		default:
			found = append(found, compareDecisions(who, want, got)...)
		}
	}
	found = append(found, o.problems...)
	found = append(found, o.texts.compare(test.Texts, "no delivery")...)
	found = append(found, o.digestTexts.compare(test.DigestTexts, "no digest")...)
	found = append(found, o.escalatedTexts.compare(test.EscalatedTexts, "no delivery by escalation")...)
	slices.SortStableFunc(found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Recipient, b.Recipient), cmp.Compare(place(a.Channel), place(b.Channel)))
	})
	return found
}

// place orders channels as everywhere.
func place(channel notification.Channel) int { return slices.Index(notification.Channels(), channel) }

const noDecision = "no decision"

func compareDecisions(who rules.Reference, want, got decisions) []Difference {
	var found []Difference
	for _, channel := range notification.Channels() {
		w, g := cmp.Or(want[channel], noDecision), cmp.Or(got[channel], noDecision)
		if w != g {
			found = append(found, Difference{who, channel, PartDecision, string(w), string(g)})
		}
	}
	return found
}

// list returns "EMAIL SELECTED, SMS NO_ADDRESS".
func list(of decisions) string {
	var said []string
	for _, channel := range notification.Channels() {
		if decision := of[channel]; decision != "" {
			said = append(said, string(channel)+" "+string(decision))
		}
	}
	return cmp.Or(strings.Join(said, ", "), noDecision)
}

// compare returns the differences from the fields that a test gives. missing is said of a text that
// nobody reads.
func (t texts) compare(want rules.TestTexts, missing string) []Difference {
	var found []Difference
	for who, channels := range want {
		for channel, text := range channels {
			got, written := t[who][channel]
			for _, field := range []struct {
				part Part
				want *string
				got  string
			}{{PartTitle, text.Title, got.Title}, {PartBody, text.Body, got.Body}, {PartURL, text.URL, got.URL}} {
				switch {
				case field.want == nil:
				case !written:
					found = append(found, Difference{who, channel, field.part, *field.want, missing})
				case *field.want != field.got:
					found = append(found, Difference{who, channel, field.part, *field.want, field.got})
				}
			}
		}
	}
	return found
}

// Lines returns the differences of a failed test for people.
func (r Result) Lines() []string {
	var lines []string
	for _, d := range r.Differences {
		lines = append(lines, strings.Join(slices.DeleteFunc([]string{string(d.Recipient), string(d.Channel), string(d.Part)},
			func(word string) bool { return word == "" }), " "))
		lines = append(lines, marked("want", d.Want)...)
		lines = append(lines, marked("got ", d.Got)...)
	}
	return lines
}

// marked returns the lines of a text behind a mark, so that empty lines and spaces show.
func marked(mark, text string) []string {
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			mark = "    "
		}
		lines = append(lines, "  "+mark+" | "+line)
	}
	return lines
}
