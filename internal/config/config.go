// Package config reads the settings of Herald's processes from the environment when they start.
// The result is a complete Config, or one error that names every wrong setting.
package config

import (
	"time"

	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/relay"
)

// Starter holds the settings of commands that neither send nor publish.
type Starter struct {
	DatabaseURL environment.Secret `env:"DATABASE_URL,required,notEmpty"`
	// prefix of task queues and pollers' workflow ids: a-z, 0-9 and -, up to 50
	TaskQueuePrefix string `env:"TASK_QUEUE_PREFIX" envDefault:"herald"`
	AllowCleartext  bool   `env:"ALLOW_CLEARTEXT" envDefault:"false"` // permits unencrypted traffic to other hosts
	// 32 bytes or more; if empty, Herald cannot hash addresses or sign links
	Secret         environment.Secret `env:"HERALD_SECRET"`
	SecretPrevious environment.Secret `env:"HERALD_SECRET_PREVIOUS"` // the secret that HERALD_SECRET replaces; empty if none

	OutboxPollInterval time.Duration `env:"OUTBOX_POLL_INTERVAL" envDefault:"1s"` // 100 ms to 1 min
	OutboxBatchSize    int           `env:"OUTBOX_BATCH_SIZE" envDefault:"100"`   // events, 1 to 1000
	OutboxPollers      int           `env:"OUTBOX_POLLERS" envDefault:"1"`        // 1 to 16

	RetentionEvents time.Duration `env:"RETENTION_EVENTS"` // age at which Herald deletes ended events, such as 2160h; 0: never

	LinkSchemes []string `env:"TEMPLATE_LINK_SCHEMES"` // further schemes of links in texts

	OutboxSources string         `env:"OUTBOX_SOURCES"` // path of a file; empty: no other outboxes
	Sources       []relay.Source `env:"-"`              // the first source is Herald's own outbox
}

// Config holds the settings of the worker, without its senders' settings.
type Config struct {
	Starter

	RabbitMQURL environment.Secret `env:"RABBITMQ_URL,required,notEmpty"`
	// maximum messages in each queue that Herald creates for other programs; 0: no limit
	QueueLength   int           `env:"RABBITMQ_QUEUE_LENGTH"`
	QueueTTL      time.Duration `env:"RABBITMQ_QUEUE_TTL"` // time until these messages expire, 1 s to 45 days; 0: never
	PublishEvents bool          `env:"PUBLISH_EVENTS" envDefault:"true"`
	// recipients; the deliveries of an event with more go in batches; 0: never in batches
	BulkThreshold  int       `env:"BULK_THRESHOLD" envDefault:"1000"`
	PublicURL      string    `env:"PUBLIC_URL"` // the gateway's URL for providers; empty: unreachable
	WorkerHTTPAddr string    `env:"WORKER_HTTP_ADDR" envDefault:":8081"`
	WorkerPromote  Promotion `env:"WORKER_PROMOTE" envDefault:"auto"` // auto or manual
	Restore        Restoring `env:"RESTORE" envDefault:"manual"`      // manual or auto

	// Ages at which Herald deletes rows of other tables; 0: never.
	RetentionEventIDs      time.Duration `env:"RETENTION_EVENT_IDS"`     // ids of ended events, by which Herald recognizes a repeated event
	RetentionNotifications time.Duration `env:"RETENTION_NOTIFICATIONS"` // deliveries of ended events, with attempts, decisions and receipts
	RetentionActions       time.Duration `env:"RETENTION_ACTIONS"`       // operators' actions
	RetentionPreferences   time.Duration `env:"RETENTION_PREFERENCES"`   // changes of preferences, not the preferences

	Policies map[notification.Channel]Policy `env:"-"` // of every channel
}

// Promotion determines who routes tasks to the workers of a new generation.
type Promotion string

// Values of WORKER_PROMOTE.
const (
	PromoteAuto   Promotion = "auto"   // a worker does it when it starts
	PromoteManual Promotion = "manual" // an operator does it: `starter workers promote`
)

// Restoring determines who restores the workflows that Temporal has lost.
type Restoring string

// Values of RESTORE.
const (
	RestoreManual Restoring = "manual" // an operator does it: `starter restore`
	RestoreAuto   Restoring = "auto"   // a worker does it
)

// From returns the worker's settings in an environment. Its error names every wrong setting and
// shows no values. readSenders reads the settings of the senders.
func From(values map[string]string, readSenders func(*environment.Reader)) (Config, error) {
	r := environment.NewReader(values)
	var cfg Config
	r.Read("", &cfg)
	cfg.Starter.check(r)
	cfg.check(r)
	readSenders(r)
	if cfg.PublicURL != "" {
		cfg.PublicURL = r.PublicURL("PUBLIC_URL", cfg.PublicURL)
		r.Need("HERALD_SECRET", string(cfg.Secret), "PUBLIC_URL")
	}
	cfg.Policies = policies(r)
	return complete(r, cfg)
}

// complete returns the settings that a reader has read. If one is wrong, it returns only the error.
func complete[T any](r *environment.Reader, settings T) (T, error) {
	if err := r.Err(); err != nil {
		return *new(T), err
	}
	return settings, nil
}

// StarterFrom does the same as [From] for commands that neither send nor publish.
func StarterFrom(values map[string]string) (Starter, error) {
	r := environment.NewReader(values)
	var cfg Starter
	r.Read("", &cfg)
	cfg.check(r)
	return complete(r, cfg)
}

// Broker returns the broker's URL, or "" if RABBITMQ_URL is not set. It is for commands that check
// the broker.
func Broker(values map[string]string) (environment.Secret, error) {
	url := environment.Secret(values["RABBITMQ_URL"])
	if url == "" {
		return "", nil
	}
	r := partialReader(values)
	checkBroker(r, url)
	return complete(r, url)
}

// SendersFrom reads the settings of the senders, for commands that send nothing.
func SendersFrom(values map[string]string, readSenders func(*environment.Reader)) error {
	r := partialReader(values)
	readSenders(r)
	return r.Err()
}

// BySource returns the sources by name.
func (c Starter) BySource() map[string]relay.Source {
	sources := map[string]relay.Source{}
	for _, source := range c.Sources {
		sources[source.Name] = source
	}
	return sources
}
