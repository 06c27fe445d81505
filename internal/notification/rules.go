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

// Choice is what the rules decided about one channel. Only a selected one has
// more than the first two fields.
type Choice struct {
	Channel  Channel
	Decision Decision
	Strategy Strategy
	Priority Priority
	Wait     Silence // what it waits for; Until zero: nothing
	Problem  string  // not empty: it cannot be sent, for this reason
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
// those of which nothing but an escalation makes use.
// It counts the selected ones in used, which must not be nil: recipients are to
// be decided about in the order in which max_recipients prefers them.
func (s EventSetup) Decide(recipient Recipient, now time.Time, used Used) []Choice {
	var choices []Choice
	for _, channel := range Channels() {
		if route, routed := s.Route(channel); routed && !route.OnEscalationOnly {
			facts := s.facts(recipient, route, now, used)
			choice := facts.Choice()
			if choice.Decision == DecisionSelected {
				used[facts.Setting.key()]++
			}
			choices = append(choices, choice)
		}
	}
	return choices
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
