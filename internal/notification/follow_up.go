package notification

import "time"

// FollowUpState is how far behind a worker is with what follows receipts, acknowledgements
// and readers: with the rows of delivery_follow_up.
type FollowUpState struct {
	Pending       int           // counted up to a bound
	OldestPending time.Duration // age, by the database's clock; zero: nothing is pending
}
