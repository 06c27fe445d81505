package notification

// DecisionExcluded means that the producer excluded the recipient from the event. It also applies to
// mandatory channels.
const DecisionExcluded Decision = "EXCLUDED"

var excluded = rule{
	decision: DecisionExcluded,
	applies:  func(f Facts) bool { return f.Excluded },
	meaning:  "the event excludes them (event_outbox.exclude) from {channel}, as from every channel",
	remedy:   "let the producer leave them out of exclude",
	subject:  "exclude",
	fact: func(f Facts) string {
		if f.Excluded {
			return "the event excludes them"
		}
		return "the event does not exclude them"
	},
	settled: true, // the event does not change
}
