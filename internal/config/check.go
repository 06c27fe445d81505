package config

import (
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	amqp "github.com/rabbitmq/amqp091-go"
)

func (c *Starter) check(found *problems, environment map[string]string) {
	// Nothing of the cause: it quotes the URL, and the URL has a password.
	database, err := pgconn.ParseConfig(string(c.DatabaseURL))
	if err != nil {
		found.add("DATABASE_URL", "must be a Postgres URL such as postgres://user:password@host:5432/herald")
	} else {
		c.checkDatabaseEncryption(found, database)
	}
	if _, err := c.temporal(found, environment); err != nil {
		found.add("TEMPORAL_*", err.Error())
	}
	matches(found, "TASK_QUEUE_PREFIX", c.TaskQueuePrefix, taskQueuePrefix, "must be of a-z, 0-9 and -, 50 at most")
	within(found, "OUTBOX_POLL_INTERVAL", c.OutboxPollInterval, 100*time.Millisecond, time.Minute)
	within(found, "OUTBOX_BATCH_SIZE", c.OutboxBatchSize, 1, 1000)
	within(found, "OUTBOX_POLLERS", c.OutboxPollers, 1, 16)
}

// check looks at what is the worker's alone, and brings it into its final form.
func (c *Config) check(found *problems) {
	c.checkBroker(found, c.RabbitMQURL)
	within(found, "RABBITMQ_QUEUE_LENGTH", c.QueueLength, 0, 100_000_000)
	if c.QueueTTL != 0 {
		within(found, "RABBITMQ_QUEUE_TTL", c.QueueTTL, time.Second, 45*24*time.Hour) // the broker counts milliseconds in 32 bits
	}
	if !isAddr(c.WorkerHTTPAddr) {
		found.add("WORKER_HTTP_ADDR", "must be host:port or :port")
	}
	c.checkEmail(found)
	c.checkSMS(found)
	c.checkPush(found)
	for i, host := range c.SlackAllowedHosts {
		c.SlackAllowedHosts[i] = strings.ToLower(strings.TrimSpace(host))
		if !isHost(c.SlackAllowedHosts[i]) {
			found.add("SLACK_ALLOWED_HOSTS", "must be hosts, or host:port, with commas between them")
		}
	}
	c.checkProviderEncryption(found)
	c.checkPublicURL(found)
}

func (c *Starter) checkBroker(found *problems, url Secret) {
	broker, err := amqp.ParseURI(string(url))
	if err != nil {
		found.add("RABBITMQ_URL", "must be a URL such as amqp://user:password@host:5672/")
	} else {
		c.checkBrokerEncryption(found, broker)
	}
}

func (c *Config) checkEmail(found *problems) {
	c.SendGridBaseURL = httpURL(found, "SENDGRID_BASE_URL", c.SendGridBaseURL)
	if c.SendGridAPIKey != "" {
		matches(found, "SENDGRID_API_KEY", string(c.SendGridAPIKey), token, "must be visible ASCII, without spaces")
		needs(found, "EMAIL_FROM", c.EmailFrom, "SENDGRID_API_KEY")
	}
	if c.EmailFrom != "" {
		address, err := mail.ParseAddress(c.EmailFrom)
		if err != nil || address.Address != c.EmailFrom || !asciiText.MatchString(c.EmailFrom) {
			found.add("EMAIL_FROM", "must be a mail address in ASCII, without a name")
		}
	}
	matches(found, "EMAIL_FROM_NAME", c.EmailFromName, asciiText, "must be one line of ASCII") // as SendGrid wants it
}

func (c *Config) checkSMS(found *problems) {
	c.TwilioBaseURL = httpURL(found, "TWILIO_BASE_URL", c.TwilioBaseURL)
	if c.TwilioAccountSID != "" {
		matches(found, "TWILIO_ACCOUNT_SID", c.TwilioAccountSID, pathSegment, "must be an account's SID")
		needs(found, "TWILIO_AUTH_TOKEN", string(c.TwilioAuthToken), "TWILIO_ACCOUNT_SID")
		needs(found, "TWILIO_FROM", c.TwilioFrom, "TWILIO_ACCOUNT_SID")
	}
	if c.TwilioAuthToken != "" {
		matches(found, "TWILIO_AUTH_TOKEN", string(c.TwilioAuthToken), token, "must be visible ASCII, without spaces")
		needs(found, "TWILIO_ACCOUNT_SID", c.TwilioAccountSID, "TWILIO_AUTH_TOKEN")
	}
	if c.TwilioFrom != "" && !isE164(c.TwilioFrom) {
		found.add("TWILIO_FROM", "must be a phone number in E.164, such as +15005550006")
	}
}

// googleFCM is Google's own host, which wants credentials; a stand-in does not.
const googleFCM = "fcm.googleapis.com"

func (c *Config) checkPush(found *problems) {
	c.FCMBaseURL = httpURL(found, "FCM_BASE_URL", c.FCMBaseURL)
	if c.FCMProjectID == "" { // Google's other programs have GOOGLE_APPLICATION_CREDENTIALS too
		return
	}
	matches(found, "FCM_PROJECT_ID", c.FCMProjectID, pathSegment, "must be a project's id")
	if base, err := url.Parse(c.FCMBaseURL); err == nil && base.Hostname() == googleFCM {
		needs(found, "GOOGLE_APPLICATION_CREDENTIALS", c.GoogleCredentials, "FCM_PROJECT_ID")
	}
}

// needs finds a channel that is half configured.
func needs(found *problems, key, value, because string) {
	if value == "" {
		found.add(key, "is not set, but "+because+" is")
	}
}
