package operate

import "herald/workflows"

// SendNow sends waiting deliveries at once. A delivery that does not wait ignores it.
func SendNow() Verb {
	return signalling("send", signal{name: workflows.SendNow, told: Outcome{Result: "told to be sent now"}})
}
