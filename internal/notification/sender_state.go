package notification

import (
	"fmt"
	"time"
)

// Harm is the kind of damage that a receipt reports to the reputation of a sender.
type Harm string

// The values of delivery_receipt.harm; empty: none.
const (
	HarmComplaint Harm = "COMPLAINT" // the recipient reported the message as spam
	HarmBounce    Harm = "BOUNCE"    // the mailbox does not exist
	HarmBlock     Harm = "BLOCK"     // the carrier blocked the text message
)

// harms returns the harms that receipts of the channel report.
func (c Channel) harms() []Harm {
	if c == SMS {
		return []Harm{HarmBlock}
	}
	return []Harm{HarmComplaint, HarmBounce}
}

// Noun names what was counted, in the plural.
func (h Harm) Noun() string {
	switch h {
	case HarmComplaint:
		return "complaints"
	case HarmBounce:
		return "permanent bounces"
	default:
		return "blocks by carriers"
	}
}

// Limit returns the harmed recipients among a thousand, above which a sender's optional messages pause.
func (h Harm) Limit() int64 {
	if h == HarmComplaint {
		return 3
	}
	return 80
}

// SenderRecipients is the number of recipients from which a sender is judged. Among fewer, one complaint
// says little.
const SenderRecipients = 200

// SenderState is a row of sender_state: how recipients and carriers took the messages of a sender.
type SenderState struct {
	Channel  Channel `json:"channel"`
	Provider string  `json:"provider"`
	Sender   string  `json:"sender"` // such as EMAIL_FROM

	// Recipients of messages that were sent within seven days, and since the last resume, and how many
	// of them harmed the sender. While the sender is paused, the numbers stay as they were.
	Recipients int64     `json:"recipients"`
	Complaints int64     `json:"complaints"`
	Bounces    int64     `json:"bounces"`
	Blocks     int64     `json:"blocks"`
	CountedAt  time.Time `json:"counted_at,omitzero"`

	PausedAt     *time.Time `json:"paused_at,omitempty"`  // since when optional messages wait; nil: they are sent
	ResumedAt    *time.Time `json:"resumed_at,omitempty"` // nil: never
	ResumedBy    string     `json:"resumed_by,omitempty"`
	ResumeReason string     `json:"resume_reason,omitempty"`
}

// IsOf reports whether both are states of one sender at one provider.
func (s SenderState) IsOf(other SenderState) bool {
	return s.Channel == other.Channel && s.Provider == other.Provider && s.Sender == other.Sender
}

// Harmed returns how many recipients did a harm.
func (s SenderState) Harmed(h Harm) int64 {
	switch h {
	case HarmComplaint:
		return s.Complaints
	case HarmBounce:
		return s.Bounces
	default:
		return s.Blocks
	}
}

// Share returns the part of the limit of a harm that is reached: 1 is the limit. It is 0 with fewer
// recipients than [SenderRecipients].
func (s SenderState) Share(h Harm) float64 {
	if s.Recipients < SenderRecipients {
		return 0
	}
	return float64(s.Harmed(h)*1000) / float64(s.Recipients*h.Limit())
}

// Worst returns the channel's harm that is closest to its limit, among any number of recipients, and its
// [SenderState.Share].
func (s SenderState) Worst() (worst Harm, share float64) {
	for _, h := range s.Channel.harms() {
		if worst == "" || s.Harmed(h)*worst.Limit() > s.Harmed(worst)*h.Limit() {
			worst = h
		}
	}
	return worst, s.Share(worst)
}

// ExceedsLimit reports whether a harm is above its limit.
func (s SenderState) ExceedsLimit() bool {
	_, share := s.Worst()
	return share > 1
}

// SenderLevel tells how close a sender is to a limit.
type SenderLevel string

// The levels.
const (
	SenderFine    SenderLevel = "FINE"
	SenderQuarter SenderLevel = "QUARTER" // above a quarter of a limit
	SenderHalf    SenderLevel = "HALF"    // above half of a limit
	SenderPaused  SenderLevel = "PAUSED"  // optional messages wait for an operator
)

// Level returns how close the sender is to a limit.
func (s SenderState) Level() SenderLevel {
	_, share := s.Worst()
	switch {
	case s.PausedAt != nil:
		return SenderPaused
	case share > 0.5:
		return SenderHalf
	case share > 0.25:
		return SenderQuarter
	default:
		return SenderFine
	}
}

// Waits returns why an optional message of a paused sender waits. Histories have the text, so it has no address.
func (s SenderState) Waits() string {
	return fmt.Sprintf("optional messages over %s are paused since %s: %s at %s, see `starter channel list`",
		s.Channel, InstantText(*s.PausedAt), s.Figures(), s.Provider)
}

// Figures returns what was counted: "12 complaints of 3000 recipients in seven days".
func (s SenderState) Figures() string {
	worst, _ := s.Worst()
	return fmt.Sprintf("%d %s of %d recipients in seven days", s.Harmed(worst), worst.Noun(), s.Recipients)
}
