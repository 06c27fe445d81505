package operate

import "herald/workflows"

// SendNow has deliveries that wait sent at once. One that does not wait ignores it.
func SendNow() Verb {
	return signalling("send", signal{name: workflows.SendNow, told: Outcome{Result: "told to be sent now"}})
}
