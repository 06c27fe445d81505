package notification

// DecisionSameAddress means that another recipient of the event, with the same address on the channel,
// gets the message. It also applies to mandatory channels.
const DecisionSameAddress Decision = "SAME_ADDRESS"

var sameAddress = rule{
	decision: DecisionSameAddress,
	applies:  func(f Facts) bool { return f.SameAddress != RecipientKey{} },
	meaning:  "another recipient with the same address for {channel} came before them, and each address is told once",
	remedy:   "set once_per_address to false (event_type_channel_routing), or enter another address (recipient)",
	subject:  "told once",
	fact: func(f Facts) string {
		switch {
		case !f.Routing.OncePerAddress:
			return "not compared"
		case f.SameAddress != RecipientKey{}:
			return f.SameAddress.String() + " has the same address, and came before them"
		default:
			return "nobody with the same address came before them"
		}
	},
	settled: true, // a recipient keeps their place
}

// HeldAddress is an address on a channel.
type HeldAddress struct {
	Channel Channel
	Hash    string
}

// AddressHolders are the first recipients of an event with each address.
type AddressHolders map[HeldAddress]RecipientKey

// heldAddress returns the address that the route compares; without a hash, it compares none.
func (f Facts) heldAddress() HeldAddress {
	if !f.Routing.OncePerAddress {
		return HeldAddress{}
	}
	return HeldAddress{f.Routing.Channel, f.Recipient.AddressHashes[f.Routing.Channel]}
}

// other returns the holder of the recipient's address; zero: nobody, or the recipient.
func (h AddressHolders) other(f Facts) RecipientKey {
	holder := h[f.heldAddress()]
	if holder == (RecipientKey{UserType: f.Recipient.UserType, UserID: f.Recipient.UserID}) {
		return RecipientKey{}
	}
	return holder
}

// hold makes the recipient the holder of their address, if they get the message.
func (h AddressHolders) hold(f Facts, decision Decision) {
	address := f.heldAddress()
	if h != nil && decision == DecisionSelected && address.Hash != "" && h[address] == (RecipientKey{}) {
		h[address] = RecipientKey{UserType: f.Recipient.UserType, UserID: f.Recipient.UserID}
	}
}
