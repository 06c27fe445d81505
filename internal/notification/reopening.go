package notification

// Reopening is what planning one delivery anew takes, as it is now.
type Reopening struct {
	EventID   string
	Channel   Channel
	HasText   bool // of an earlier plan
	Known     bool // the recipient is in the directory
	Active    bool
	Recipient Recipient // without role, entity and preferences
}

// Problem says why nobody can be reached any more; empty: somebody can. An
// operator's wish stands above preferences and quiet hours, but not above these.
func (r Reopening) Problem() string {
	switch {
	case !r.Known:
		return "the recipient is no longer in the directory"
	case !r.Active:
		return "the recipient is no longer active"
	case r.Recipient.Reachable(r.Channel):
		return ""
	default:
		return "the recipient has " + r.Channel.addressWord(false)
	}
}

// Reopened is one delivery planned anew.
type Reopened struct {
	DeliveryID string
	RunID      string // of the workflow that makes it
	Again      bool   // also where it was sent
	Address    string // empty: none
	KeepText   bool   // the text stays as it was
	Title      *string
	Body       *string
	Problem    string // not empty: it cannot be sent, for this reason
}

// ReopenedState is a delivery after it was planned anew, or as it was found
// where that was not to be.
type ReopenedState struct {
	Status    Status
	Attempts  int
	LastError string // empty: none
}
