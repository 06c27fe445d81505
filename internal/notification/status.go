package notification

// Status is how far a delivery has come. It only climbs.
type Status string

// The statuses of a delivery.
const (
	Pending   Status = "PENDING"
	Sent      Status = "SENT"      // the provider accepted it
	Delivered Status = "DELIVERED" // a receipt says that it arrived
	Failed    Status = "FAILED"
	Cancelled Status = "CANCELLED"
)

// Strategy is when a delivery is sent.
type Strategy string

// The strategies of event_type_channel_routing.
const (
	Immediate Strategy = "IMMEDIATE"
	Delayed   Strategy = "DELAYED"
	Aggregate Strategy = "AGGREGATE"
)

// Priority orders deliveries that wait for the same workers.
type Priority string

// The priorities of a delivery; empty means Normal.
const (
	High   Priority = "HIGH"
	Normal Priority = "NORMAL"
	Low    Priority = "LOW"
)

// DeliveryID is the workflow ID of one delivery: evt-1-staff10-EMAIL. who is the word
// for the recipient's user type.
func DeliveryID(eventID, who, userID string, channel Channel) string {
	return eventID + "-" + who + userID + "-" + string(channel)
}
