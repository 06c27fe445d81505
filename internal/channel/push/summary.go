package push

import (
	"cmp"
	"slices"

	"herald/internal/channel"
	"herald/internal/notification"
)

const codeNoDevice = "no working device"

// byPromise has the classes of failure in the order of how likely another attempt
// is to succeed.
var byPromise = []notification.FailureClass{
	notification.Busy,
	notification.Ambiguous,
	notification.Account,
	notification.Refused,
}

// summarize makes one result of the devices' answers.
func summarize(devices []string, answers []answer) (notification.Receipt, error) {
	var dead []string
	var accepted, worth *answer // the first that took it; the failure that promises most
	for i := range answers {
		switch a := &answers[i]; {
		case a.failure == nil:
			accepted = cmp.Or(accepted, a)
		case a.dead:
			dead = append(dead, devices[i])
		case worth == nil || promise(a) < promise(worth):
			worth = a
		}
	}
	switch {
	case accepted != nil:
		return notification.Receipt{ProviderID: accepted.name, Status: accepted.status, DeadDevices: dead}, nil
	case worth != nil:
		return notification.Receipt{Status: worth.status, DeadDevices: dead}, worth.failure
	default:
		refused := channel.Refuse(provider, codeNoDevice)
		refused.Status, refused.Unasked = answers[0].status, false
		return notification.Receipt{Status: refused.Status, DeadDevices: dead}, refused
	}
}

func promise(a *answer) int { return slices.Index(byPromise, a.failure.Class) }
