package notification

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DecisionCapped means that the recipient got as many messages over the channel as a frequency cap
// allows. It does not apply to mandatory channels. Attempts count exactly, under a lock.
const DecisionCapped Decision = "CAPPED"

var capped = rule{
	decision: DecisionCapped,
	applies: func(f Facts) bool {
		return f.sentAtOnce() && !f.Routing.Mandatory && f.Caps.Room(f.counted(), f.Category, f.Now).Dropped
	},
	meaning: "they had got as many messages over {channel} as frequency_cap allows",
	remedy:  "allow more messages (frequency_cap), or let them wait (action DEFER)",
	subject: "cap",
	fact:    Facts.capText,
}

// Cap is a row of frequency_cap.
type Cap struct {
	Channel  Channel
	Category string        // empty: all messages over the channel
	AtMost   int           // messages in any window of Per; 0: only Spacing limits
	Per      time.Duration // the window
	Spacing  time.Duration // the least time between two messages; 0: none
	Defers   bool          // a message over the limit waits; false: it is dropped
}

// Caps are rows of frequency_cap.
type Caps []Cap

// CountedMessage is a message that a cap counts.
type CountedMessage struct {
	RecipientKey
	Channel   Channel
	MessageID string    // of a delivery or a digest
	Category  string    // of its event type; empty: none
	At        time.Time // when its last attempt began, or when it will begin
}

// MaxCounted limits the messages of a recipient and a channel that a cap compares: the earliest in
// the longest window.
const MaxCounted = 1000

// Room is the answer of the caps to a message that is due. The zero value means: send it now.
type Room struct {
	Dropped bool
	At      time.Time // when there is room; zero: now
}

// Room returns whether a message of a category may be sent now, after the counted messages.
func (c Caps) Room(counted []CountedMessage, category string, now time.Time) Room {
	if c.full(counted, category, now, false) {
		return Room{Dropped: true}
	}
	if !c.full(counted, category, now, true) {
		return Room{}
	}
	return Room{At: c.next(counted, category, now)}
}

// Verdict returns the answer as a verdict about the delivery.
func (r Room) Verdict() Verdict {
	switch {
	case r.Dropped:
		return Verdict{Dropped: string(DecisionCapped)}
	case !r.At.IsZero():
		return Verdict{NotBefore: r.At, Wait: InstantText(r.At) + ": " + WaitCap}
	default:
		return Verdict{}
	}
}

// Channels returns the channels that the caps limit.
func (c Caps) Channels() []Channel {
	var channels []Channel
	for _, limit := range c {
		if !slices.Contains(channels, limit.Channel) {
			channels = append(channels, limit.Channel)
		}
	}
	return channels
}

// Of returns the caps of one channel.
func (c Caps) Of(channel Channel) Caps {
	return slices.DeleteFunc(slices.Clone(c), func(limit Cap) bool { return limit.Channel != channel })
}

// full reports whether a cap with this action has no room at a time.
func (c Caps) full(counted []CountedMessage, category string, at time.Time, defers bool) bool {
	return slices.ContainsFunc(c, func(limit Cap) bool {
		return limit.Defers == defers && limit.counts(category) && !limit.fits(counted, at)
	})
}

// next returns the first time after now at which every cap has room. A cap gets room when a
// counted message leaves its window.
func (c Caps) next(counted []CountedMessage, category string, now time.Time) (at time.Time) {
	var times []time.Time
	for _, message := range counted {
		for _, limit := range c {
			times = append(times, message.At.Add(limit.Per), message.At.Add(limit.Spacing))
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at = range times { // the last one has room
		if at.After(now) && !c.full(counted, category, at, true) && !c.full(counted, category, at, false) {
			break
		}
	}
	return at
}

func (c Cap) counts(category string) bool { return c.Category == "" || c.Category == category }

// fits reports whether one more message at a time keeps the limit in every window.
func (c Cap) fits(counted []CountedMessage, at time.Time) bool {
	times := []time.Time{at}
	for _, message := range counted {
		if !c.counts(message.Category) {
			continue
		}
		if message.At.Sub(at).Abs() < c.Spacing {
			return false
		}
		if message.At.Sub(at).Abs() < c.Per {
			times = append(times, message.At)
		}
	}
	if c.AtMost == 0 || len(times) <= c.AtMost {
		return true
	}
	slices.SortFunc(times, time.Time.Compare)
	own := slices.IndexFunc(times, at.Equal)
	for first := max(0, own-c.AtMost); first <= own && first+c.AtMost < len(times); first++ {
		if times[first+c.AtMost].Sub(times[first]) < c.Per {
			return false
		}
	}
	return true
}

// String describes the limit to people.
func (c Cap) String() string {
	var parts []string
	if c.AtMost > 0 {
		parts = append(parts, fmt.Sprintf("%d in %s", c.AtMost, c.Per))
	}
	if c.Spacing > 0 {
		parts = append(parts, fmt.Sprintf("one in %s", c.Spacing))
	}
	text := strings.Join(parts, " and ")
	if c.Category != "" {
		text += " of category " + c.Category
	}
	return text
}

// sentAtOnce reports whether the delivery is due now. For other deliveries, attempts check the caps.
func (f Facts) sentAtOnce() bool {
	return f.Routing.Strategy != Aggregate && f.Routing.wait(f.Now, f.Silence).Until.IsZero()
}

// counted returns the recipient's counted messages over the channel, without this delivery.
func (f Facts) counted() []CountedMessage {
	return slices.DeleteFunc(slices.Clone(f.Recipient.Counted), func(message CountedMessage) bool {
		return message.Channel != f.Routing.Channel || message.MessageID == f.DeliveryID
	})
}

func (f Facts) capText() string {
	if len(f.Caps) == 0 {
		return "none"
	}
	limits := make([]string, len(f.Caps))
	for i, limit := range f.Caps {
		limits[i] = limit.String()
	}
	text := "at most " + strings.Join(limits, ", ")
	switch room := f.Caps.Room(f.counted(), f.Category, f.Now); {
	case f.Routing.Mandatory:
		return text + "; it is mandatory, so it only counts"
	case room.Dropped:
		return text + ": there is no room"
	case !room.At.IsZero():
		return text + ": there is room at " + WallText(room.At, f.Now, f.Recipient.Timezone)
	default:
		return text + ": there is room"
	}
}

// AddCounted gives each of the people their counted messages.
func AddCounted(people []Recipient, counted []CountedMessage) {
	of := map[RecipientKey][]CountedMessage{}
	for _, message := range counted {
		of[message.RecipientKey] = append(of[message.RecipientKey], message)
	}
	for i := range people {
		people[i].Counted = of[RecipientKey{UserType: people[i].UserType, UserID: people[i].UserID}]
	}
}
