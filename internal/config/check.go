package config

import (
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	amqp "github.com/rabbitmq/amqp091-go"

	"herald/internal/config/environment"
)

var taskQueuePrefix = regexp.MustCompile(`^[a-z0-9-]{1,50}$`)

// Limits of the settings for outboxes and retention.
const (
	minPollInterval = 100 * time.Millisecond
	maxPollInterval = time.Minute
	maxBatchSize    = 1000
	maxPollers      = 16
	minRetention    = time.Hour // less is probably a mistake
	maxRetention    = 10 * 365 * 24 * time.Hour
)

func (c *Starter) check(r *environment.Reader) {
	r.AllowCleartext = c.AllowCleartext
	checkDatabase(r, "DATABASE_URL", string(c.DatabaseURL))
	if c.Secret != "" {
		r.SigningSecret("HERALD_SECRET", c.Secret)
	}
	r.PreviousSecret("HERALD_SECRET_PREVIOUS", c.SecretPrevious, c.Secret)
	if _, err := temporal(r); err != nil {
		r.Refuse("TEMPORAL_*", err.Error())
	}
	histories(r)
	r.Match("TASK_QUEUE_PREFIX", c.TaskQueuePrefix, taskQueuePrefix, "must have 1 to 50 characters of a-z, 0-9 and -")
	environment.Within(r, "OUTBOX_POLL_INTERVAL", c.OutboxPollInterval, minPollInterval, maxPollInterval)
	environment.Within(r, "OUTBOX_BATCH_SIZE", c.OutboxBatchSize, 1, maxBatchSize)
	environment.Within(r, "OUTBOX_POLLERS", c.OutboxPollers, 1, maxPollers)
	checkRetention(r, "RETENTION_EVENTS", c.RetentionEvents)
	c.LinkSchemes = linkSchemes(r, c.LinkSchemes)
	c.Sources = c.sources(r)
}

// check checks the settings that only the worker has.
func (c *Config) check(r *environment.Reader) {
	checkBroker(r, c.RabbitMQURL)
	r.Unpublished("HERALD_SECRET_PREVIOUS", c.SecretPrevious)
	environment.Within(r, "RABBITMQ_QUEUE_LENGTH", c.QueueLength, 0, 100_000_000)
	if c.QueueTTL != 0 {
		environment.Within(r, "RABBITMQ_QUEUE_TTL", c.QueueTTL, time.Second, 45*24*time.Hour) // the broker stores milliseconds in 32 bits
	}
	environment.Within(r, "BULK_THRESHOLD", c.BulkThreshold, 0, 100_000_000)
	checkRetention(r, "RETENTION_EVENT_IDS", c.RetentionEventIDs)
	checkRetention(r, "RETENTION_NOTIFICATIONS", c.RetentionNotifications)
	checkRetention(r, "RETENTION_ACTIONS", c.RetentionActions)
	checkRetention(r, "RETENTION_PREFERENCES", c.RetentionPreferences)
	checkListen(r, "WORKER_HTTP_ADDR", c.WorkerHTTPAddr)
	if c.WorkerPromote != PromoteAuto && c.WorkerPromote != PromoteManual {
		r.Refuse("WORKER_PROMOTE", "must be auto or manual")
	}
	if c.Restore != RestoreManual && c.Restore != RestoreAuto {
		r.Refuse("RESTORE", "must be manual or auto")
	}
}

var (
	scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	// runsCode matches the schemes whose links are code or a page of the payload's author.
	runsCode = regexp.MustCompile(`^(javascript|vbscript|data)$`)
)

// linkSchemes returns the schemes in lower case.
func linkSchemes(r *environment.Reader, schemes []string) []string {
	for i := range schemes {
		schemes[i] = strings.ToLower(strings.TrimSpace(schemes[i]))
		if !scheme.MatchString(schemes[i]) || runsCode.MatchString(schemes[i]) {
			r.Refuse("TEMPLATE_LINK_SCHEMES",
				"must be schemes such as myapp, without a colon, with commas between them; never javascript, vbscript or data")
		}
	}
	return schemes
}

func checkRetention(r *environment.Reader, key string, age time.Duration) {
	if age != 0 {
		environment.Within(r, key, age, minRetention, maxRetention)
	}
}

func checkListen(r *environment.Reader, key, addr string) {
	if _, port, err := net.SplitHostPort(addr); err != nil || !environment.IsPort(port) {
		r.Refuse(key, "must be host:port or :port")
	}
}

// checkDatabase checks a URL, and that every connection the driver may try is encrypted. With the
// default sslmode=prefer, the driver falls back to clear text if the server has no TLS.
func checkDatabase(r *environment.Reader, key, url string) {
	parsed, err := pgconn.ParseConfig(url)
	if err != nil || misread(url, parsed) { // hide err: it quotes the URL with the password
		r.Refuse(key,
			"must be a Postgres URL such as postgres://user:password@host:5432/herald, with %2F for / in the password, %3F for ?, %23 for # and "+
				"%25 for %")
		return
	}
	ok := parsed.TLSConfig != nil || environment.IsLocal(parsed.Host)
	for _, fallback := range parsed.Fallbacks {
		ok = ok && (fallback.TLSConfig != nil || environment.IsLocal(fallback.Host))
	}
	r.Encrypted(key, ok, "sslmode=require, verify-ca or verify-full")
}

// misread reports whether the driver parsed a part of the password as something else, because the
// password has an unescaped / ? or #. The driver would quote this part in its errors.
func misread(url string, parsed *pgconn.Config) bool {
	_, query, _ := strings.Cut(url, "?")
	first, _, _ := strings.Cut(query, "=")
	if strings.Contains(parsed.Database, "@") || strings.Contains(url, "://") && (strings.Contains(url, "#") || strings.Contains(first, "@")) {
		return true
	}
	for name := range parsed.RuntimeParams {
		if !parameter.MatchString(name) {
			return true
		}
	}
	return false
}

// parameter matches a valid name of a connection parameter.
var parameter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

func checkBroker(r *environment.Reader, url environment.Secret) {
	broker, err := amqp.ParseURI(string(url))
	if err != nil {
		r.Refuse("RABBITMQ_URL", "must be a URL such as amqp://user:password@host:5672/")
		return
	}
	r.Encrypted("RABBITMQ_URL", broker.Scheme == "amqps" || environment.IsLocal(broker.Host), "amqps://")
}

// VerifiesDatabase reports whether the driver verifies the identity of DATABASE_URL's server: by
// its certificate, or because it is on this machine. sslmode=require alone encrypts, but accepts
// any server.
func VerifiesDatabase(url environment.Secret) bool {
	parsed, err := pgconn.ParseConfig(string(url))
	if err != nil {
		return true // checkDatabase refuses it
	}
	return environment.IsLocal(parsed.Host) || parsed.TLSConfig != nil && !parsed.TLSConfig.InsecureSkipVerify
}
