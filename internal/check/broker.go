package check

import (
	"context"

	"herald/internal/rabbitmq"
)

// Broker checks that RabbitMQ answers, and that the exchange and the queues exist with the settings
// that Herald needs.
func Broker(url string) Subject {
	return Subject{"broker", func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		flaws, err := rabbitmq.Flaws(ctx, url)
		if err != nil {
			return []Mistake{{Place: "setting RABBITMQ_URL", Problem: "RabbitMQ cannot be looked at: " + rabbitmq.Cause(err), Remedy: "start RabbitMQ, or set RABBITMQ_URL to where it is, with a user who may use the vhost"}}, nil
		}
		var mistakes []Mistake
		for _, flaw := range flaws {
			mistake := Mistake{Place: "RabbitMQ", Row: flaw.Name, Problem: "it exists with other settings than Herald's", Remedy: "empty and delete it (rabbitmqctl delete_queue, or the management page); a worker creates it anew"}
			if flaw.Missing {
				mistake.Problem, mistake.Remedy, mistake.byWorker = "it is missing", "start a worker, which declares it when it connects", true
			}
			mistakes = append(mistakes, mistake)
		}
		return few(mistakes), nil
	}}
}
