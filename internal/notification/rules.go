package notification

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Decision is the result of the rules for one recipient and one channel.
type Decision string

// DecisionSelected is the decision if no rule applies. The rules' files define the other
// decisions.
const DecisionSelected Decision = "SELECTED"

// rules lists every rule in order. The first rule that applies decides. No other place lists all
// rules.
var rules = []rule{
	expired,
	actor,
	excluded,
	unsupported,
	userDisabled,
	groupDisabled,
	muted,
	roleRestricted,
	skipped,
	inQuietHours,
	maxRecipients,
	noAddress,
	suppressed,
	throttled,
	capped,
	sameAddress,
}

// rule is one reason not to tell a recipient over a channel.
type rule struct {
	decision Decision
	applies  func(Facts) bool
	meaning  string // explains a past decision in a sentence, with the words that [filled] replaces
	remedy   string // tells how to get another decision for the next event, with such words

	subject string             // the subject of the rule, in a word or two
	fact    func(Facts) string // the rule's finding for people; never an address

	settled bool // planning settles it for good: no attempt checks it again
	ordered bool // also applies if an operator orders the delivery
	again   bool // does not apply if the operator orders it with --again

	unreachable bool // the rules would choose the recipient, but cannot reach them
}

// decide returns the decision of the first rule that applies, among the rules that isAsked accepts.
func decide(f Facts, isAsked func(rule) bool) Decision {
	for _, r := range rules {
		if isAsked(r) && r.applies(f) {
			return r.decision
		}
	}
	return DecisionSelected
}

func always(rule) bool { return true }

// Finding is one rule's result for a recipient and a channel.
type Finding struct {
	Decision Decision `json:"rule"` // the decision if the rule applies
	Applies  bool     `json:"applies"`
	Subject  string   `json:"looks_at"` // "address"
	Fact     string   `json:"finds"`    // "no phone number"
}

// Findings returns the result of every rule, in order. The first rule that applies makes the
// decision.
func (f Facts) Findings() []Finding {
	var findings []Finding
	for _, r := range rules {
		findings = append(findings, Finding{r.decision, r.applies(f), r.subject, r.fact(f)})
	}
	return findings
}

// Decision returns the decision of the first rule that applies.
func (f Facts) Decision() Decision { return decide(f, always) }

// Decisions returns every decision, in the order of the rules.
func Decisions() []Decision {
	var decisions []Decision
	for _, r := range rules {
		decisions = append(decisions, r.decision)
	}
	return append(decisions, DecisionSelected)
}

// Meaning explains a past decision about a channel to people, in a sentence.
func (d Decision) Meaning(channel Channel, userType UserType) string {
	if d == DecisionSelected {
		return "the rules chose them for " + string(channel)
	}
	if r, found := ruleOf(d); found {
		return filled(r.meaning, channel, userType)
	}
	return "an unknown decision"
}

// filled replaces the words in braces.
func filled(text string, channel Channel, userType UserType) string {
	return strings.NewReplacer(
		"{channel}", string(channel), "{user type}", string(userType), "{no address}", channel.addressWord(false), "{enter an address}",
		channel.row().remedy,
	).Replace(text)
}

// Remedy tells how to get another decision for the next event; empty: nothing needs to change.
func (d Decision) Remedy(channel Channel) string {
	if r, found := ruleOf(d); found {
		return filled(r.remedy, channel, "")
	}
	return ""
}

func ruleOf(d Decision) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.decision == d })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// Unreachable reports whether the rules would choose the recipient, but the channel cannot reach
// them.
func (d Decision) Unreachable() bool {
	r, _ := ruleOf(d)
	return r.unreachable
}

// Choice is the rules' decision about one channel. Without DecisionSelected, only Channel, Decision
// and ThrottledBy are set.
type Choice struct {
	Channel  Channel
	Decision Decision
	Strategy Strategy
	Priority Priority
	Wait     Silence // the wait before sending; Until zero: none
	Problem  string  // why it cannot be sent; empty: it can

	ExpiresAt   time.Time // zero: never
	ThrottledBy string    // the delivery that the recipient got instead, with DecisionThrottled

	Escalated bool // escalation led to the channel, so the text may differ
}

// SendAfter returns when to send a selected delivery with this key; zero: at once.
func (c Choice) SendAfter(key string) time.Time {
	if c.Wait.Until.IsZero() {
		return time.Time{}
	}
	return c.Wait.Release(key)
}

// Used counts the recipients selected so far, by entity and channel ("RESTAURANT/5 EMAIL").
type Used map[string]int

// Clone returns a copy, never nil.
func (u Used) Clone() Used {
	clone := make(Used, len(u))
	maps.Copy(clone, u)
	return clone
}

// Decide returns one choice for each routing row, in the order of [Channels], except rows with
// OnEscalationOnly. Then come the channels that escalation uses at once, because another channel
// cannot reach the recipient. It counts selected recipients in used, which must not be nil. Call
// it in the order in which max_recipients prefers recipients.
func (s EventSetup) Decide(recipient Recipient, now time.Time, used Used) []Choice {
	var choices []Choice
	decide := func(route Routing, escalated bool) {
		facts := s.facts(recipient, route, now, used)
		choice := facts.Choice()
		choice.Escalated = escalated
		if choice.Decision == DecisionSelected {
			used[facts.Setting.key()]++
		}
		s.Holders.hold(facts, choice.Decision)
		choices = append(choices, choice)
	}
	for _, channel := range Channels() {
		if route, routed := s.Route(channel); routed && !route.OnEscalationOnly {
			decide(route, false)
		}
	}
	for i := 0; i < len(choices); i++ { // decide appends to choices
		to, escalates := s.Instead(choices[i])
		route, routed := s.Route(to)
		decided := slices.ContainsFunc(choices, func(c Choice) bool { return c.Channel == to })
		if escalates && routed && !decided {
			decide(route, true)
		}
	}
	return choices
}

// Instead returns the channel that escalation uses at once if a choice cannot reach the
// recipient. escalates reports whether there is one.
func (s EventSetup) Instead(choice Choice) (to Channel, escalates bool) {
	i := slices.IndexFunc(s.Escalations, func(e Escalation) bool { return e.From == choice.Channel && e.IfUnreachable })
	if i < 0 || !choice.Decision.Unreachable() {
		return "", false
	}
	return s.Escalations[i].To, true
}

// Choice returns the rules' decision with its details.
func (f Facts) Choice() Choice {
	choice := Choice{Channel: f.Routing.Channel, Decision: f.Decision()}
	if choice.Decision == DecisionThrottled {
		choice.ThrottledBy = f.throttledBy().DeliveryID
	}
	if choice.Decision == DecisionSelected {
		choice.Problem, choice.ExpiresAt = f.Routing.DueProblem, f.ExpiresAt
		choice.Strategy, choice.Priority, choice.Wait = f.Routing.Strategy, f.Routing.priority(f.Preference), f.Routing.wait(f.Now, f.Silence)
	}
	return choice
}
