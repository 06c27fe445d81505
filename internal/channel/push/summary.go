package push

import (
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
	var worth *answer // the failure that promises most
	for i := range answers {
		switch a := &answers[i]; {
		case a.dead:
			dead = append(dead, devices[i])
		case a.failure != nil && (worth == nil || promise(a) < promise(worth)):
			worth = a
		}
	}
	for _, a := range answers {
		if a.failure == nil {
			return notification.Receipt{ProviderID: a.name, Status: a.status, DeadDevices: dead}, nil
		}
	}
	if worth == nil {
		refused := channel.Refuse(provider, codeNoDevice)
		refused.Status = answers[0].status
		return notification.Receipt{Status: refused.Status, DeadDevices: dead}, refused
	}
	return notification.Receipt{Status: worth.status, DeadDevices: dead}, worth.failure
}

func promise(a *answer) int { return slices.Index(byPromise, a.failure.Class) }
