package fcm

import (
	"cmp"
	"slices"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
)

const codeNoDevice = "no working device"

// byPromise orders the classes of failure by the chance that a retry succeeds.
var byPromise = []notification.FailureClass{
	notification.Busy,
	notification.Ambiguous,
	notification.Account,
	notification.Refused,
}

// summarize combines the devices' answers into one result.
func summarize(devices []string, answers []deviceAnswer) (notification.Answer, error) {
	var dead []string
	var accepted, worth *deviceAnswer // the first that accepted; the failure with the best chance
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
	answer := notification.Answer{DeadDevices: dead, Took: slowest(answers)}
	switch {
	case accepted != nil:
		answer.ProviderID, answer.Status = accepted.name, accepted.status
		return answer, nil
	case worth != nil:
		answer.Status = worth.status
		return answer, worth.failure
	default:
		refused := channel.Refuse(provider, codeNoDevice)
		refused.Status, refused.Unasked = answers[0].status, false
		answer.Status = refused.Status
		return answer, refused
	}
}

// slowest returns the duration of the slowest device call.
func slowest(answers []deviceAnswer) time.Duration {
	took := time.Duration(0)
	for _, a := range answers {
		took = max(took, a.took)
	}
	return took
}

func promise(a *deviceAnswer) int { return slices.Index(byPromise, a.failure.Class) }
