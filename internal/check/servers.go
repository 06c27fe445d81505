package check

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
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

const temporalPlace = "Temporal"

// engineState holds the answers of Temporal. It reads pollers and task queues once, when a finding needs
// them.
type engineState struct {
	Engine
	pollers func() (operate.Pollers, error)
	queues  func() (queues, error)
}

// queues are the task queues that need a worker.
type queues struct {
	needed int
	idle   []args // the queues without one
}

// Temporal checks that Temporal answers, that the namespace, the search attributes and the sweep's
// schedule exist, and that pollers and workers run.
func Temporal(db *db.DB, e Engine) Subject {
	return Subject{"temporal", func(ctx context.Context) ([]Mistake, error) {
		if e.Launcher == nil {
			return evaluate(ctx, []requestFact{{err: e.Problem, isOutOfReach: true}}, requestFindings)
		}
		mistakes, err := evaluate(ctx, engineState{
			Engine:  e,
			pollers: sync.OnceValues(func() (operate.Pollers, error) { return operate.ReadPollers(ctx, e.Launcher, e.Sources) }),
			queues:  sync.OnceValues(func() (queues, error) { return e.readQueues(ctx, db) }),
		}, engineFindings)
		if err == nil {
			return mistakes, nil
		}
		failures, err := evaluate(ctx, []requestFact{{namespace: e.Namespace, err: err, isOutOfReach: isSilent(err)}}, requestFindings)
		return append(mistakes, failures...), err
	}}
}

var engineFindings = []finding[engineState]{
	{place: temporalPlace, row: "search attributes $names", byWorker: true, find: engineState.searchAttributes,
		problem: "the namespace $namespace does not have them, and without them no workflow starts",
		remedy:  "start a worker, which adds them; if it may not, as on Temporal Cloud, add them by hand as keywords"},
	{place: temporalPlace, row: "schedule $id", byWorker: true, find: sweep(func(scheduled, _ bool) bool { return !scheduled }),
		problem: "there is no such schedule, so nobody looks for lost workflows",
		remedy:  "start a worker that serves events, which creates it"},
	{place: temporalPlace, row: "schedule $id", find: sweep(func(_, paused bool) bool { return paused }),
		problem: "it is paused, so nobody looks for lost workflows",
		remedy:  "unpause it in the Temporal Web UI"},
	{place: temporalPlace, row: "poller $id", find: pollers(isPaused),
		problem: "it is paused: events stay in the outbox",
		remedy:  "after the maintenance, run `starter poller resume`"},
	{place: temporalPlace, row: "poller $id",
		find:    pollers(func(s operate.PollerStatus) bool { return s != operate.PollerRunning && !isPaused(s) }),
		problem: "it does not run ($status): events stay in the outbox",
		remedy:  "run `starter poller start`"},
	{place: temporalPlace, row: "workers", noWorker: true, find: engineState.noWorker,
		problem: "no worker runs: no event is handled and nothing is sent",
		remedy:  "start one: `worker`. It also creates what it needs in Temporal and RabbitMQ"},
	{place: temporalPlace, row: "task queue $queue", find: engineState.idleQueues,
		problem: "its tasks wait: $why",
		remedy:  "start a worker, without flags or with --events and with --channels for all routed channels"},
}

// requestFact is a request to Temporal that failed.
type requestFact struct {
	namespace    string
	err          error
	isOutOfReach bool
}

var requestFindings = []finding[[]requestFact]{
	{place: "setting TEMPORAL_ADDRESS", find: where(func(f requestFact) bool { return f.isOutOfReach }),
		problem: "$why",
		remedy:  "start Temporal, or set TEMPORAL_ADDRESS to its address"},
	{place: "setting TEMPORAL_NAMESPACE", row: "$namespace", find: where(requestFact.lacksNamespace),
		problem: "Temporal has no such namespace",
		remedy:  "create it, or set TEMPORAL_NAMESPACE to an existing namespace"},
	{place: temporalPlace, row: "namespace $namespace", find: where(requestFact.lacksRight),
		problem: "$why",
		remedy:  "grant this right to the identity of TEMPORAL_API_KEY or of the certificate"},
	{place: temporalPlace, row: "namespace $namespace",
		find:    where(func(f requestFact) bool { return !f.isOutOfReach && !f.lacksNamespace() && !f.lacksRight() }),
		problem: "the request failed: $why",
		remedy:  "see Temporal's log, then check again"},
}

// isSilent reports whether a request failed because Temporal does not answer.
func isSilent(err error) bool {
	return errors.As(err, new(*serviceerror.Unavailable)) || errors.As(err, new(*serviceerror.DeadlineExceeded))
}

func (f requestFact) lacksNamespace() bool {
	return errors.As(f.err, new(*serviceerror.NamespaceNotFound))
}

func (f requestFact) lacksRight() bool { return errors.As(f.err, new(*serviceerror.PermissionDenied)) }

func (f requestFact) args() args { return args{"namespace": f.namespace, "why": f.err.Error()} }

func (s engineState) searchAttributes(ctx context.Context) ([]args, error) {
	missing, err := launch.MissingSearchAttributes(ctx, s.Launcher.Client, s.Namespace)
	if len(missing) == 0 {
		return nil, err
	}
	return []args{{"names": strings.Join(missing, ", "), "namespace": s.Namespace}}, err
}

func sweep(is func(scheduled, paused bool) bool) find[engineState] {
	return func(s engineState, ctx context.Context) ([]args, error) {
		scheduled, paused, err := s.Launcher.SweepSchedule(ctx)
		if err != nil || !is(scheduled, paused) {
			return nil, err
		}
		return []args{{"id": workflows.SweepID(s.Launcher.Prefix)}}, nil
	}
}

// pollers finds pollers in a status.
func pollers(is func(operate.PollerStatus) bool) find[engineState] {
	return func(s engineState, _ context.Context) (found []args, err error) {
		read, err := s.pollers()
		for _, poller := range read.Pollers {
			if is(poller.Status) {
				found = append(found, args{"id": poller.ID, "status": string(poller.Status)})
			}
		}
		return found, err
	}
}

func isPaused(s operate.PollerStatus) bool {
	return s == operate.PollerPaused || s == operate.PollerPausing
}

func (s engineState) noWorker(context.Context) ([]args, error) {
	read, err := s.queues()
	if err != nil || len(read.idle) < read.needed {
		return nil, err
	}
	return []args{{}}, nil
}

func (s engineState) idleQueues(context.Context) ([]args, error) {
	read, err := s.queues()
	if err != nil || len(read.idle) == read.needed {
		return nil, err // noWorker finds it
	}
	return read.idle, nil
}

// readQueues reads which task queues have no worker, of the queue of the events and the queue of each
// routed channel.
func (e Engine) readQueues(ctx context.Context, db *db.DB) (found queues, err error) {
	names := []string{workflows.EventsQueue(e.Launcher.Prefix)}
	routes, err := report.Reader{Pool: db.Pool}.Routes(ctx)
	if err != nil {
		routes = nil // other subjects report the database's mistakes
	}
	for _, name := range notification.Channels() {
		if slices.ContainsFunc(routes, func(route report.Route) bool { return route.Channel == name }) {
			names = append(names, workflows.ChannelQueue(e.Launcher.Prefix, name))
		}
	}
	found.needed = len(names)
	for _, queue := range names {
		serving, err := launch.WorkersOf(ctx, e.Launcher.Client, e.Namespace, queue)
		if err != nil {
			return found, err
		}
		if serving.Running() == 0 {
			found.idle = append(found.idle, args{"queue": queue, "why": serving.Absent(queue, time.Now())})
		}
	}
	return found, nil
}

// Fairness checks that Temporal gives each aggregate its turn. It runs a short workflow at Temporal.
func Fairness(e Engine) Subject { return subject("fairness", e, fairnessFindings) }

var fairnessFindings = []finding[Engine]{
	{place: temporalPlace, row: "fairness", advice: true, find: Engine.unfair,
		problem: "it is switched off: many deliveries of one aggregate delay the deliveries of all others",
		remedy: "set matching.enableFairness, or matching.autoEnableV2, to true in the server's dynamic configuration; " +
			"a server of 1.32 has both off by default"},
}

func (e Engine) unfair(ctx context.Context) ([]args, error) {
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
	return []args{{}}, nil
}

// brokerFact is a part of the topology that differs, or why RabbitMQ did not answer.
type brokerFact struct {
	rabbitmq.Flaw
	silence string
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
			return evaluate(ctx, []brokerFact{{silence: rabbitmq.Cause(err)}}, brokerFindings)
		}
		var facts []brokerFact
		for _, flaw := range flaws {
			facts = append(facts, brokerFact{Flaw: flaw})
		}
		return evaluate(ctx, facts, brokerFindings)
	}}
}

var brokerFindings = []finding[[]brokerFact]{
	{place: "setting RABBITMQ_URL", find: where(func(f brokerFact) bool { return f.silence != "" }),
		problem: "RabbitMQ cannot be reached: $silence",
		remedy:  "start RabbitMQ, or set RABBITMQ_URL to its address, with a user that may use the vhost"},
	{place: "RabbitMQ", row: "$name", find: where(func(f brokerFact) bool { return f.Differ != "" }),
		problem: "it exists with other settings than Herald's, and may lose messages: $differ",
		remedy:  "empty and delete it (rabbitmqctl delete_queue, or the management page); a worker creates it anew"},
	{place: "RabbitMQ", row: "$name", byWorker: true, find: where(func(f brokerFact) bool { return f.silence == "" && f.Differ == "" }),
		problem: "it is missing",
		remedy:  "start a worker, which declares it when it connects"},
}

func (f brokerFact) args() args {
	return args{"name": f.Name, "differ": f.Differ, "silence": f.silence}
}
