package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/attention"
	"herald/internal/notification"
)

// problemLine is a finding in words.
type problemLine struct {
	attention.Finding
	What  string // a sentence
	For   string // since when, as an age; empty: unknown
	Who   string // how many people or rows; empty: unknown
	Whose string // whose fault it is
	Do    string // the next step, with commands in backticks
	Link  string // a page with more; empty: none
}

// faultWords names who can correct a finding.
var faultWords = map[attention.Fault]string{
	attention.Provider: "the provider",
	attention.Account:  "our account at the provider",
	attention.Rules:    "the rules, the texts or the directory",
	attention.Data:     "an address or a text that was refused",
	attention.Producer: "another service",
	attention.Herald:   "Herald or its servers",
	attention.Operator: "a person's decision",
	attention.Unknown:  "only the error tells",
}

// findingWords has the sentences of each kind of finding. $ words are arguments.
var findingWords = map[attention.Code]struct{ what, do, link string }{
	attention.TemporalAway: {
		"Temporal does not answer in time, so nothing is known about the pollers.",
		"Check Temporal, then `starter status`.",
		"",
	},
	attention.NoWorker: {
		"No worker serves events, so nothing is started.",
		"Start a worker. `starter workers list` names the last workers.",
		"",
	},
	attention.NoPoller: {
		"No poller runs for $source, so its events wait.",
		"`starter poller start`",
		"",
	},
	attention.PollerFails: {
		"The poller $subject fails: $detail",
		"`starter poller status` shows its state.",
		"",
	},
	attention.PollerPaused: {
		"The poller $subject is paused, so events of $source wait.",
		"`starter poller resume` continues it.",
		"",
	},
	attention.LateEvents: {
		"Events of $source start late.",
		"`starter status` shows the backlog and the pollers.",
		"/events?status=PENDING",
	},
	attention.UnplannedEvents: {
		"Events are started, but not planned. The oldest is $subject.",
		"Its page shows what planning waits for.",
		"/event?id=$subject",
	},
	attention.LateRows: {
		"Rows of $source reach Kafka late.",
		"`starter source check $source`",
		"",
	},
	attention.SourceAway: {
		"The table of $source cannot be counted: $detail",
		"`starter source check $source`",
		"",
	},
	attention.CircuitOpen: {
		"$channel over $subject is failing: $detail",
		"Herald tries again by itself. `starter channel use` can prefer another provider.",
		"",
	},
	attention.ProviderPaused: {
		"$subject for $channel was paused by $detail.",
		"`starter channel resume $subject` continues it.",
		"",
	},
	attention.SenderPaused: {
		"Optional messages from $sender are paused at $subject: $detail.",
		"Mandatory messages are sent. Remove the cause, then `starter channel resume $subject --sender $sender --reason \"…\"`.",
		"",
	},
	attention.LateDeliveries: {
		"$channel is late: $outcome.",
		"",
		"/deliveries?status=PENDING&channel=$code",
	},
	attention.FailedDeliveries: {
		"$channel$by failed: $outcome.",
		"",
		"/deliveries?status=FAILED&channel=$code",
	},
	attention.BouncedByReceipt: {
		"$channel$by did not arrive, as receipts say.",
		"Correct the addresses. A delivery's page has the receipt.",
		"/deliveries?status=FAILED&channel=$code",
	},
	attention.NoTexts: {
		"$channel texts could not be written.",
		"Correct the template, the payload or the time zone; then `starter delivery retry`.",
		"/deliveries?status=FAILED&channel=$code",
	},
	attention.FailedEvents: {
		"Events could not be started.",
		"Their pages have the error; then `starter event retry`.",
		"/events?status=FAILED",
	},
	attention.FailedRows: {
		"Rows of $source could not be relayed.",
		"`starter source rows $source` has the errors; then `starter source retry $source`.",
		"",
	},
	attention.TopicsRest: {
		"Topics of $source take no records.",
		"`starter source check $source` tells why.",
		"",
	},
	attention.EndedEarly: {
		"Events of the last day ended early: their workflows failed.",
		"Their pages have the error; then `starter event retry` sends what is missing.",
		"/events?outcome=$event",
	},
	attention.UntoldEvents: {
		"Events of the last day $untold.",
		"Correct the rules; then `starter event retry` plans them again.",
		"/events?outcome=$event",
	},
	attention.AmbiguousRows: {
		"Postgres has lost the end of rows, whose messages may have been sent.",
		"`starter restore --dry-run` names them.",
		"",
	},
	attention.StaleSweep: {
		"The last sweep ended long ago, so nothing lost is started again.",
		"Check the workers that serve events.",
		"",
	},
	attention.LateFollowUps: {
		"Follow-ups of deliveries wait: dead letters and escalations.",
		"A worker that serves events handles them.",
		"",
	},
	attention.Approvals: {
		"Events wait for approval.",
		"An approver answers on the event's page.",
		"/events?outcome=AWAITING_APPROVAL",
	},
}

// outcomeWords tells the end of the last attempts, and the next step.
var outcomeWords = map[notification.AttemptOutcome]struct{ is, do string }{
	"": {
		"no attempt was made",
		"A broadcast may be at its rate limit. Otherwise check that a worker serves this channel: `starter workers list`.",
	},
	notification.OutcomeRefused: {
		"the provider refused the message",
		"Correct the address or the text that the delivery's page names, then `starter delivery retry`.",
	},
	notification.OutcomeBusy: {
		"the provider is busy",
		"Herald tries again by itself.",
	},
	notification.OutcomeUnreachable: {
		"the provider is out of reach",
		"Herald tries again by itself. Check the network if other services reach it.",
	},
	notification.OutcomeUnavailable: {
		"the provider is out of order",
		"Herald tries again by itself. See the provider's status page.",
	},
	notification.OutcomeAmbiguous: {
		"the provider gave no clear answer, so they may have gone out",
		"A delivery's page has each attempt.",
	},
	notification.OutcomeAccount: {
		"the provider rejects our account",
		"Correct the workers' credentials for this channel.",
	},
	notification.OutcomeOff: {
		"the workers have no settings for the channel",
		"Set them, and restart the workers.",
	},
	notification.OutcomeLost: {
		"the process died during the attempt",
		"Herald tries again by itself. Check the workers' memory and logs.",
	},
	notification.OutcomeError: {
		"the attempt had an error before the provider",
		"The delivery's page has the error.",
	},
}

var untoldWords = map[notification.EventOutcome]string{
	notification.NoRouting:    "told nobody: their type has no channel in event_type_channel_routing",
	notification.NoRecipients: "told nobody: the rules named no recipient",
	notification.EventProblem: "told only some people: some rows of the rules named nobody",
}

// aboutEvents lists the findings that count events.
var aboutEvents = []attention.Code{
	attention.Approvals, attention.UntoldEvents, attention.EndedEarly, attention.FailedEvents, attention.LateEvents,
	attention.UnplannedEvents, attention.NoPoller, attention.NoWorker,
}

// inWords writes findings as lines.
func inWords(findings []attention.Finding, now time.Time) []problemLine {
	lines := make([]problemLine, len(findings))
	for i, f := range findings {
		lines[i] = inWord(f)
		if !f.Since.IsZero() {
			lines[i].For = age(now.Sub(f.Since))
		}
	}
	return lines
}

func inWord(f attention.Finding) problemLine {
	words := findingWords[f.Code]
	ended, known := outcomeWords[f.Outcome]
	if !known {
		ended.is, ended.do = "the last attempt ended as "+string(f.Outcome), "A delivery's page has each attempt."
	}
	by := ""
	if f.Subject != "" {
		by = " by " + f.Subject
	}
	if f.Status != 0 {
		ended.is += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Outcome == "" && f.Code == attention.FailedDeliveries {
		ended.is, ended.do = "no attempt was recorded", "The delivery's page has the error."
	}
	fill := func(text string, quote func(string) string) string {
		return strings.NewReplacer("$source", quote(f.Source), "$subject", quote(f.Subject), "$sender", quote(f.Sender), "$by", by,
			"$outcome", ended.is, "$detail", f.Detail, "$channel", channelWord(f.Channel), "$untold", untoldWords[f.Event],
			"$code", url.QueryEscape(string(f.Channel)), "$event", url.QueryEscape(string(f.Event))).Replace(text)
	}
	same := func(text string) string {
		if text == notification.HeraldSource {
			return "Herald's outbox"
		}
		return text
	}
	line := problemLine{
		Finding: f, What: fill(words.what, same), Whose: faultWords[f.Fault], Do: fill(words.do, advice.Quote),
		Link: fill(words.link, url.QueryEscape),
	}
	if line.Do == "" {
		line.Do = ended.do
	}
	switch {
	case f.People > 0:
		line.Who = counted(f.People, "person", "people")
	case f.Count > 0 && slices.Contains(aboutEvents, f.Code):
		line.Who = counted(f.Count, "event", "events")
	case f.Count > 0:
		line.Who = counted(f.Count, "row", "rows")
	}
	return line
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// headline is the state of everything, in one sentence. Good means that nothing needs a person: some
// addresses are always refused.
func headline(findings []attention.Finding) (text string, good bool) {
	urgent := 0
	for _, f := range findings {
		if f.Fault != attention.Data {
			urgent++
		}
	}
	switch urgent {
	case 0:
		return "Everything is on time", true
	case 1:
		return "1 thing needs you", false
	default:
		return fmt.Sprintf("%d things need you", urgent), false
	}
}
