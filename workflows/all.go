package workflows

// All returns every type of workflow of this build, for workers and replayers
// to register.
func All() []any {
	return []any{PollOutbox, NotifyEvent, NotifyPage, DeliverNotification, Digest}
}
