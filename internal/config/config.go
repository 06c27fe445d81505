// Package config reads Herald's settings from the environment, once, at the
// edge: into a Config that is complete, or one error that names everything that
// is wrong with them.
package config

import (
	"os"
	"time"

	"github.com/caarlos0/env/v11"

	"herald/internal/notification"
)

// Starter is the settings of commands that neither send nor publish.
type Starter struct {
	DatabaseURL     Secret `env:"DATABASE_URL,required,notEmpty"`
	TaskQueuePrefix string `env:"TASK_QUEUE_PREFIX" envDefault:"herald"` // of queues and pollers' workflow ids: a-z, 0-9 and -, up to 50
	AllowCleartext  bool   `env:"ALLOW_CLEARTEXT" envDefault:"false"`    // to other hosts

	OutboxPollInterval time.Duration `env:"OUTBOX_POLL_INTERVAL" envDefault:"1s"` // 100 ms to 1 min
	OutboxBatchSize    int           `env:"OUTBOX_BATCH_SIZE" envDefault:"100"`   // events, 1 to 1000
	OutboxPollers      int           `env:"OUTBOX_POLLERS" envDefault:"1"`        // 1 to 16
}

// Config is the settings of the worker.
type Config struct {
	Starter

	RabbitMQURL    Secret        `env:"RABBITMQ_URL,required,notEmpty"`
	QueueLength    int           `env:"RABBITMQ_QUEUE_LENGTH"` // messages in each queue for others, where Herald creates it; 0: any number
	QueueTTL       time.Duration `env:"RABBITMQ_QUEUE_TTL"`    // of their messages, 1 s to 45 days; 0: for ever
	PublishEvents  bool          `env:"PUBLISH_EVENTS" envDefault:"true"`
	PublicURL      string        `env:"PUBLIC_URL"` // where providers reach the gateway; empty: nowhere
	WorkerHTTPAddr string        `env:"WORKER_HTTP_ADDR" envDefault:":8081"`

	SendGridAPIKey  Secret `env:"SENDGRID_API_KEY"` // empty: EMAIL is off
	SendGridBaseURL string `env:"SENDGRID_BASE_URL" envDefault:"https://api.sendgrid.com"`
	EmailFrom       string `env:"EMAIL_FROM"`      // an address
	EmailFromName   string `env:"EMAIL_FROM_NAME"` // in ASCII; may be empty

	TwilioAccountSID string `env:"TWILIO_ACCOUNT_SID"` // empty: SMS is off
	TwilioAuthToken  Secret `env:"TWILIO_AUTH_TOKEN"`
	TwilioFrom       string `env:"TWILIO_FROM"` // a phone number in E.164
	TwilioBaseURL    string `env:"TWILIO_BASE_URL" envDefault:"https://api.twilio.com"`

	FCMProjectID      string `env:"FCM_PROJECT_ID"` // empty: PUSH is off
	FCMBaseURL        string `env:"FCM_BASE_URL" envDefault:"https://fcm.googleapis.com/v1"`
	GoogleCredentials string `env:"GOOGLE_APPLICATION_CREDENTIALS"` // path of a service account's key; needed at Google's own FCM_BASE_URL

	SlackAllowedHosts []string `env:"SLACK_ALLOWED_HOSTS" envDefault:"hooks.slack.com"` // host or host:port, in lower case

	Policies map[notification.Channel]Policy `env:"-"` // one for each channel
}

// FromEnv returns the worker's settings, or one error that names everything
// wrong with them and shows no value.
func FromEnv() (Config, error) { return From(env.ToMap(os.Environ())) }

// From is [FromEnv] for a given environment.
func From(environment map[string]string) (Config, error) {
	var found problems
	cfg := parse[Config](&found, environment)
	cfg.Starter.check(&found, environment)
	cfg.check(&found)
	cfg.Policies = policies(&found, environment)
	if err := found.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// StarterFrom is [From] for commands that neither send nor publish.
func StarterFrom(environment map[string]string) (Starter, error) {
	var found problems
	cfg := parse[Starter](&found, environment)
	cfg.check(&found, environment)
	if err := found.err(); err != nil {
		return Starter{}, err
	}
	return cfg, nil
}

// Broker returns the broker's URL for a command that looks at the broker where it
// can, or "" where none is set. Commands that do not are not to fail for it.
func Broker(environment map[string]string) (Secret, error) {
	url := Secret(environment["RABBITMQ_URL"])
	if url == "" {
		return "", nil
	}
	var found problems
	(&Starter{AllowCleartext: cleartextAllowed(environment)}).checkBroker(&found, url)
	if err := found.err(); err != nil {
		return "", err
	}
	return url, nil
}

// Installation is the name of what the settings, and a namespace of Temporal, are
// those of.
func (c Starter) Installation(namespace string) string { return namespace + "/" + c.TaskQueuePrefix }

// Off returns why a channel cannot send, or "" where it can. Slack's addresses
// are secrets of the recipients, and the websockets' broker is always there.
func (c Config) Off(channel notification.Channel) string {
	switch {
	case channel == notification.Email && c.SendGridAPIKey == "":
		return "SENDGRID_API_KEY is not set"
	case channel == notification.SMS && c.TwilioAccountSID == "":
		return "TWILIO_ACCOUNT_SID is not set"
	case channel == notification.Push && c.FCMProjectID == "":
		return "FCM_PROJECT_ID is not set"
	default:
		return ""
	}
}
