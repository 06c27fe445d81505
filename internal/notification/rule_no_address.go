package notification

// DecisionNoAddress means that the recipient is unreachable over the channel.
const DecisionNoAddress Decision = "NO_ADDRESS"

var noAddress = rule{
	decision: DecisionNoAddress,
	applies:  func(f Facts) bool { return !f.Recipient.Reachable(f.Routing.Channel) },
	meaning:  "they had {no address}",
	remedy:   "{enter an address}",
	subject:  "address",
	fact:     Facts.AddressWord,
	ordered:  true,

	unreachable: true,
}

// AddressWord names the channel's kind of address and whether the recipient has one.
func (f Facts) AddressWord() string {
	return f.Routing.Channel.addressWord(f.Recipient.Reachable(f.Routing.Channel))
}
