package relay

// LifecycleSource is the name of the source for status changes of Herald's deliveries.
const LifecycleSource = "lifecycle"

// LifecycleKey orders the changes of one delivery, and what operators do to it.
const LifecycleKey = "{{.aggregate_id}}"

// webhookRoute is the route of rows that go to a webhook. Its topic is only a name.
var webhookRoute = KafkaRoute{Topic: "webhook", Key: LifecycleKey}

// Lifecycle returns the source for status changes of deliveries, without a destination.
func Lifecycle(databaseURL string) Source {
	return Source{
		Name: LifecycleSource, DatabaseURL: databaseURL, Table: "lifecycle_event",
		Aggregate: &Aggregate{IDPath: "data.delivery_id,data.event_id,data.target"},
	}
}

// IsLifecycle reports whether the source is [LifecycleSource].
func (s Source) IsLifecycle() bool { return s.Name == LifecycleSource }
