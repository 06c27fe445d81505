package workflows

// OfEvents returns the workflows that the workers of the events' queue register.
func OfEvents() []any {
	return []any{
		PollOutbox, NotifyEvent, NotifyChannel, NotifyPage, DeliverBatch, Escalate, FollowUp,
		Sweep, CleanOutboxes, Restore, RepublishEvents,
	}
}

// OfDeliveries returns the workflows that the workers of each channel's queue register.
func OfDeliveries() []any { return []any{DeliverNotification, Digest} }

// All returns every type of workflow of this build, for replayers to register.
func All() []any { return append(OfEvents(), OfDeliveries()...) }
