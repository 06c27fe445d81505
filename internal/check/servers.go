package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"

	"herald/internal/db"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/person"
	"herald/internal/rabbitmq"
	"herald/internal/relay"
	"herald/internal/report"
	"herald/workflows"
)

// Engine holds what the check of Temporal needs.
type Engine struct {
	Launcher  *launch.Launcher // nil: Temporal is out of reach
	Problem   error            // why Temporal is out of reach
	Namespace string
	Sources   []relay.Source // the sources whose pollers should run
}

const (
	temporalPlace = "Temporal"
	brokerPlace   = "RabbitMQ"
)

// Temporal checks that Temporal answers, that the namespace, the search attributes and the sweep's
// schedule exist, and that pollers and workers run.
func Temporal(db *db.DB, e Engine) Subject {
	return Subject{"temporal", func(ctx context.Context) ([]Mistake, error) {
		if e.Launcher == nil {
			return []Mistake{{Place: "setting TEMPORAL_ADDRESS", Problem: e.Problem.Error(), Remedy: "start Temporal, or set TEMPORAL_ADDRESS to its address"}}, nil
		}
		mistakes, err := inTurn(ctx, e.searchAttributes, e.sweep, e.pollers, func(ctx context.Context) ([]Mistake, error) { return e.workers(ctx, db) })
		if err != nil {
			mistakes = append(mistakes, e.failed(err))
		}
		return mistakes, nil
	}}
}

// Fairness checks that Temporal gives each aggregate its turn. It runs a short workflow at Temporal.
func Fairness(e Engine) Subject {
	return Subject{"fairness", func(ctx context.Context) ([]Mistake, error) {
		if e.Launcher == nil {
			return nil, &skipError{"Temporal is out of reach"}
		}
		fair, err := e.Launcher.IsFair(ctx)
		if err != nil {
			return nil, &skipError{err.Error()}
		}
		if fair {
			return nil, nil
		}
		return []Mistake{{Place: temporalPlace, Row: "fairness", Problem: "it is switched off: many deliveries of one aggregate delay the deliveries of all others",
			Remedy: "set matching.enableFairness, or matching.autoEnableV2, to true in the server's dynamic configuration; a server of 1.32 has both off by default", advice: true}}, nil
	}}
}

// failed describes a failed call to Temporal.
func (e Engine) failed(err error) Mistake {
	var namespace *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &namespace):
		return Mistake{Place: "setting TEMPORAL_NAMESPACE", Row: e.Namespace, Problem: "Temporal has no such namespace", Remedy: "create it, or set TEMPORAL_NAMESPACE to an existing namespace"}
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return Mistake{Place: temporalPlace, Row: "namespace " + e.Namespace, Problem: err.Error(), Remedy: "grant this right to the identity of TEMPORAL_API_KEY or of the certificate"}
	default:
		return Mistake{Place: temporalPlace, Row: "namespace " + e.Namespace, Problem: "the request failed: " + err.Error(), Remedy: "see Temporal's log, then check again"}
	}
}

func (e Engine) searchAttributes(ctx context.Context) (mistakes []Mistake, err error) {
	missing, err := launch.MissingSearchAttributes(ctx, e.Launcher.Client, e.Namespace)
	if len(missing) > 0 {
		mistakes = append(mistakes, Mistake{Place: temporalPlace, Row: "search attributes " + strings.Join(missing, ", "), Problem: "the namespace " + e.Namespace + " does not have them, and without them no workflow starts",
			Remedy: "start a worker, which adds them; if it may not, as on Temporal Cloud, add them by hand as keywords", byWorker: true})
	}
	return mistakes, err
}

func (e Engine) sweep(ctx context.Context) ([]Mistake, error) {
	scheduled, paused, err := e.Launcher.SweepSchedule(ctx)
	row := "schedule " + workflows.SweepID(e.Launcher.Prefix)
	switch {
	case err != nil:
		return nil, err
	case !scheduled:
		return []Mistake{{Place: temporalPlace, Row: row, Problem: "there is no such schedule, so nobody looks for lost workflows", Remedy: "start a worker that serves events, which creates it", byWorker: true}}, nil
	case paused:
		return []Mistake{{Place: temporalPlace, Row: row, Problem: "it is paused, so nobody looks for lost workflows", Remedy: "unpause it in the Temporal Web UI"}}, nil
	default:
		return nil, nil
	}
}

func (e Engine) pollers(ctx context.Context) (mistakes []Mistake, err error) {
	pollers, err := operate.ReadPollers(ctx, e.Launcher, e.Sources)
	if err != nil {
		return nil, err
	}
	for _, poller := range pollers.Pollers {
		switch poller.Status {
		case operate.PollerRunning:
		case operate.PollerPaused, operate.PollerPausing:
			mistakes = append(mistakes, Mistake{Place: temporalPlace, Row: "poller " + poller.ID, Problem: "it is paused: events stay in the outbox", Remedy: "after the maintenance, run `starter poller resume`"})
		default:
			mistakes = append(mistakes, Mistake{Place: temporalPlace, Row: "poller " + poller.ID, Problem: fmt.Sprintf("it does not run (%s): events stay in the outbox", poller.Status), Remedy: "run `starter poller start`"})
		}
	}
	return few(mistakes), nil
}

// workers finds task queues without workers: the queue of the events, and the queue of each routed
// channel.
func (e Engine) workers(ctx context.Context, db *db.DB) (mistakes []Mistake, err error) {
	queues := []string{workflows.EventsQueue(e.Launcher.Prefix)}
	routes, err := report.Reader{Pool: db.Pool}.Routes(ctx)
	if err != nil {
		routes = nil // other subjects report the database's mistakes
	}
	for _, name := range notification.Channels() {
		if slices.ContainsFunc(routes, func(route report.Route) bool { return route.Channel == name }) {
			queues = append(queues, workflows.ChannelQueue(e.Launcher.Prefix, name))
		}
	}
	for _, queue := range queues {
		serving, err := launch.WorkersOf(ctx, e.Launcher.Client, e.Namespace, queue)
		if err != nil {
			return mistakes, err
		}
		if serving.Running() == 0 {
			mistakes = append(mistakes, Mistake{Place: temporalPlace, Row: "task queue " + queue, Problem: "its tasks wait: " + serving.Absent(queue, time.Now()), Remedy: "start a worker, without flags or with --events and with --channels for all routed channels"})
		}
	}
	if len(mistakes) == len(queues) {
		return []Mistake{{Place: temporalPlace, Row: "workers", Problem: "no worker runs: no event is handled and nothing is sent", Remedy: "start one: `worker`. It also creates what it needs in Temporal and RabbitMQ", noWorker: true}}, nil
	}
	return mistakes, nil
}

// Broker checks that RabbitMQ answers, and that the exchange and the queues exist with the settings
// that Herald needs, such as durable.
func Broker(db *db.DB, url string) Subject {
	return Subject{"broker", func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		types, err := person.On(db).UserTypes(ctx)
		if err != nil {
			types = nil // other subjects report the database's mistakes
		}
		flaws, err := rabbitmq.Flaws(ctx, url, types)
		if err != nil {
			return []Mistake{{Place: "setting RABBITMQ_URL", Problem: "RabbitMQ cannot be reached: " + rabbitmq.Cause(err), Remedy: "start RabbitMQ, or set RABBITMQ_URL to its address, with a user that may use the vhost"}}, nil
		}
		var missing, differing []Mistake
		for _, flaw := range flaws {
			if flaw.Differ == "" {
				missing = append(missing, Mistake{Place: brokerPlace, Row: flaw.Name, Problem: "it is missing", Remedy: "start a worker, which declares it when it connects", byWorker: true})
				continue
			}
			differing = append(differing, Mistake{Place: brokerPlace, Row: flaw.Name, Problem: "it exists with other settings than Herald's, and may lose messages: " + flaw.Differ,
				Remedy: "empty and delete it (rabbitmqctl delete_queue, or the management page); a worker creates it anew"})
		}
		return append(few(differing), few(missing)...), nil
	}}
}
