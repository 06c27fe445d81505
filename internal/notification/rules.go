package notification

import (
	"maps"
	"slices"
	"time"
)

// Decision is what the rules say about one recipient and one channel.
type Decision string

// DecisionSelected is the decision where no rule applies. The other decisions
// stand in the files of their rules.
const DecisionSelected Decision = "SELECTED"

// rules are asked in this order; the first that applies decides. This list is the
// only place that names all of them.
var rules = []rule{
	unsupported,
	userDisabled,
	groupDisabled,
	roleRestricted,
	skipped,
	inQuietHours,
	maxRecipients,
	noAddress,
	suppressed,
}

// rule is one reason why somebody is not told over a channel.
type rule struct {
	decision Decision
	applies  func(Facts) bool
	meaning  func(Channel, UserType) string // what the decision said when it was taken, as a sentence
	remedy   func(Channel) string           // what to change so that the next event is decided otherwise

	subject string             // what the rule looks at, in a word or two
	fact    func(Facts) string // what it finds there, for people; never an address

	settled bool // planning settles it for ever: no attempt asks again
	ordered bool // asked even where an operator orders the delivery

	unreachable bool // the rules would choose the recipient, and cannot reach them
}

// decide returns the decision of the first rule that applies, of those that asked
// allows.
func decide(f Facts, asked func(rule) bool) Decision {
	for _, r := range rules {
		if asked(r) && r.applies(f) {
			return r.decision
		}
	}
	return DecisionSelected
}

func always(rule) bool { return true }

// Finding is what one rule found about a recipient and a channel.
type Finding struct {
	Decision Decision `json:"rule"` // the decision where it applies
	Applies  bool     `json:"applies"`
	Subject  string   `json:"looks_at"` // "address"
	Fact     string   `json:"finds"`    // "no phone number"
}

// Findings are what every rule finds, in the order of the rules: the decision is
// that of the first that applies.
func (f Facts) Findings() []Finding {
	var findings []Finding
	for _, r := range rules {
		findings = append(findings, Finding{r.decision, r.applies(f), r.subject, r.fact(f)})
	}
	return findings
}

// Decision is the decision of the first rule that applies.
func (f Facts) Decision() Decision { return decide(f, always) }

// Decisions returns every decision, in the order of the rules.
func Decisions() []Decision {
	var decisions []Decision
	for _, r := range rules {
		decisions = append(decisions, r.decision)
	}
	return append(decisions, DecisionSelected)
}

// Meaning says, as a sentence for people, what a decision about a channel meant
// when it was taken.
func (d Decision) Meaning(channel Channel, userType UserType) string {
	if d == DecisionSelected {
		return "they were chosen to be told over " + string(channel)
	}
	if r, found := ruleOf(d); found {
		return r.meaning(channel, userType)
	}
	return "an unknown decision"
}

// Remedy says what to change so that the next event is decided otherwise; empty
// where nothing is to be changed.
func (d Decision) Remedy(channel Channel) string {
	if r, found := ruleOf(d); found {
		return r.remedy(channel)
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

// Unreachable reports whether the rules would have chosen a recipient whom the channel cannot
// reach.
func (d Decision) Unreachable() bool {
	r, _ := ruleOf(d)
	return r.unreachable
}

// Choice is what the rules decided about one channel. Only a selected one has
// more than the first two fields.
type Choice struct {
	Channel  Channel
	Decision Decision
	Strategy Strategy
	Priority Priority
	Wait     Silence // what it waits for; Until zero: nothing
	Problem  string  // not empty: it cannot be sent, for this reason

	Escalated bool // escalation has led to the channel, so the text may be one of its own
}

// SendAfter is when to send a selected delivery of this key; zero: at once.
func (c Choice) SendAfter(key string) time.Time {
	if c.Wait.Until.IsZero() {
		return time.Time{}
	}
	return c.Wait.Release(key)
}

// Used counts the recipients who were selected so far, by entity and channel
// ("RESTAURANT/5 EMAIL"). It travels from one page of recipients to the next.
type Used map[string]int

// Clone returns a copy, which is never nil.
func (u Used) Clone() Used {
	clone := make(Used, len(u))
	maps.Copy(clone, u)
	return clone
}

// Decide returns one choice for each routing row, in the order of [Channels], apart from
// rows that only escalation uses. Behind them come the channels that escalation uses at once,
// because another one cannot reach the recipient.
// It counts the selected ones in used, which must not be nil: recipients are to
// be decided about in the order in which max_recipients prefers them.
func (s EventSetup) Decide(recipient Recipient, now time.Time, used Used) []Choice {
	var choices []Choice
	decide := func(route Routing, escalated bool) {
		facts := s.facts(recipient, route, now, used)
		choice := facts.Choice()
		choice.Escalated = escalated
		if choice.Decision == DecisionSelected {
			used[facts.Setting.key()]++
		}
		choices = append(choices, choice)
	}
	for _, channel := range Channels() {
		if route, routed := s.Route(channel); routed && !route.OnEscalationOnly {
			decide(route, false)
		}
	}
	for i := 0; i < len(choices); i++ { // decide adds to them
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
// recipient; false: none.
func (s EventSetup) Instead(choice Choice) (to Channel, escalates bool) {
	i := slices.IndexFunc(s.Escalations, func(e Escalation) bool { return e.From == choice.Channel && e.IfUnreachable })
	if i < 0 || !choice.Decision.Unreachable() {
		return "", false
	}
	return s.Escalations[i].To, true
}

// Choice is what the rules decide.
func (f Facts) Choice() Choice {
	choice := Choice{Channel: f.Routing.Channel, Decision: f.Decision()}
	if choice.Decision == DecisionSelected {
		choice.Problem = f.Routing.DueProblem
		choice.Strategy, choice.Priority, choice.Wait = f.Routing.Strategy, f.Routing.priority(f.Preference), f.Routing.wait(f.Now, f.Silence)
	}
	return choice
}
