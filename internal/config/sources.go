package config

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/relay"
)

const sourcesSetting = "OUTBOX_SOURCES"

// sources returns Herald's own outbox first, and then the sources of the file.
func (c *Starter) sources(r *environment.Reader) []relay.Source {
	herald := relay.Source{
		Name: notification.HeraldSource, DatabaseURL: string(c.DatabaseURL), PollInterval: c.OutboxPollInterval, BatchSize: c.OutboxBatchSize,
		Pollers: c.OutboxPollers,
		Retries: defaultSourceRetries, RetryInterval: defaultSourceRetry, People: true, Retention: c.RetentionEvents,
	}
	all := []relay.Source{herald}
	if c.OutboxSources == "" {
		return all
	}
	text, err := os.ReadFile(c.OutboxSources)
	if err != nil {
		r.Refuse(sourcesSetting, "must be a file that can be read: "+cause(err))
		return all
	}
	file := sourcesFile{Starter: c, reader: r, names: map[string]int{}}
	for _, e := range file.entries(text) {
		file.add(&all, e)
	}
	if len(file.mistakes) > 0 {
		r.Refuse(sourcesSetting, "has mistakes, in "+c.OutboxSources+":\n"+file.text())
	}
	return all
}

// cause returns the reason of err without the file's name.
func cause(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// add adds the source of an entry. The entry `herald` changes Herald's own outbox instead.
func (f *sourcesFile) add(all *[]relay.Source, e entry) {
	switch line, taken := f.names[e.Name]; {
	case e.Name == "":
		e.refuse("name", "the source has no `name:`")
	case !sourceName.MatchString(e.Name) || e.Name == "outbox":
		e.refuse("name", "name must have 1 to 30 characters of a-z, 0-9 and -, and must not be outbox")
	case taken:
		e.refuse("name", "the source of line %d has the same name", line)
	default:
		f.names[e.Name] = e.lines["name"]
	}
	if e.Name == notification.HeraldSource {
		e.herald(&(*all)[0])
		return
	}
	if e.Name == relay.LifecycleSource {
		*all = append(*all, e.lifecycle())
		return
	}
	source := e.other()
	for _, other := range *all {
		if source.Table != "" && other.Table == source.Table && other.DatabaseURL == source.DatabaseURL {
			e.refuse("table", "source %s has the same table of the same database", other.Name)
		}
	}
	*all = append(*all, source)
}

// herald reads the entry of Herald's own outbox.
func (e entry) herald(source *relay.Source) {
	e.allow(heraldKeys, "is Herald's own outbox, so its entry has no %s: set it by OUTBOX_* settings")
	e.topic(source)
	source.Retention = e.duration("retention", e.Retention, source.Retention, minRetention, maxRetention)
}

// allow refuses all other keys.
func (e entry) allow(keys []string, otherwise string) {
	for key := range e.lines {
		if !slices.Contains(keys, key) {
			e.refuse(key, e.Name+" "+otherwise, key)
		}
	}
}

// lifecycle reads the entry of the source lifecycle.
func (e entry) lifecycle() relay.Source {
	e.allow(lifecycleKeys, "is written by Herald, so its entry has no %s")
	if e.has("kafka") == e.Webhook {
		e.refuse("", "lifecycle needs either `kafka:` or `webhook: true`")
	}
	source := relay.Lifecycle(string(e.file.DatabaseURL))
	source.Webhook = e.Webhook
	e.topic(&source)
	if source.Kafka != nil {
		source.Kafka.Key = relay.LifecycleKey
	}
	e.pages(&source)
	source.Retention = e.duration("retention", e.Retention, lifecycleRetention, minRetention, maxRetention)
	return source
}

// pages reads how a source is polled.
func (e entry) pages(source *relay.Source) {
	source.PollInterval = e.duration("poll_interval", e.PollInterval, e.file.OutboxPollInterval, minPollInterval, maxPollInterval)
	source.BatchSize = e.number("batch_size", e.BatchSize, defaultSourceBatch, 1, maxBatchSize)
	source.Pollers = e.number("pollers", e.Pollers, 1, 1, maxPollers)
}

// other reads the entry of another service's outbox.
func (e entry) other() relay.Source {
	source := relay.Source{
		Name:        e.Name,
		Dialect:     relay.Dialect(e.Dialect),
		DatabaseURL: e.database(),
		Table:       e.Table,
		Zone:        e.zone(),
		People:      e.People,
		Retention:   e.duration("retention", e.Retention, 0, minRetention, maxRetention),
	}
	e.pages(&source)
	if e.has("webhook") {
		e.refuse("webhook", "only the source lifecycle goes to a webhook")
	}
	if !slices.Contains(relay.Dialects(), source.Dialect) {
		e.refuse("dialect", "dialect must be %s", strings.Join(words(relay.Dialects()), " or "))
	}
	if !sourceTable.MatchString(source.Table) {
		e.refuse("table", "table must be schema.table, such as orders.outbox, without quotes")
	}
	e.topic(&source)
	e.aggregate(&source)
	if !source.People && !e.has("kafka") {
		e.refuse("", "the source does nothing: give it `kafka:` or `people: true`, or both")
	}
	return source
}

// words converts values of a string type to strings.
func words[T ~string](all []T) []string {
	var texts []string
	for _, word := range all {
		texts = append(texts, string(word))
	}
	return texts
}

// database returns the URL in the entry's environment variable, or Herald's URL without one.
func (e entry) database() string {
	key := e.DatabaseURLEnv
	if key == "" {
		return string(e.file.DatabaseURL)
	}
	if !variableName.MatchString(key) {
		e.refuse("database_url_env", "database_url_env must be the name of the variable that holds the URL")
		return ""
	}
	url, _ := e.file.reader.LookupEnv(key)
	if url == "" {
		e.refuse("database_url_env", "%s is not set in the environment", key)
		return ""
	}
	checkDatabase(e.file.reader, key, url)
	return url
}

func (e entry) zone() *time.Location {
	zone, known := notification.KnownZone(e.Timezone) // "" is UTC
	if !known {
		e.refuse("timezone", "timezone must be the name of a zone, such as UTC or Europe/Rome")
	}
	return zone
}

// topic reads the Kafka topic and the retries of a source.
func (e entry) topic(source *relay.Source) {
	source.Retries, source.RetryInterval = e.retries(),
		e.duration("retry_interval", e.RetryInterval, defaultSourceRetry, 10*time.Millisecond, time.Hour)
	if !e.has("kafka") && !source.Webhook {
		for _, key := range []string{"retries", "retry_interval"} {
			if e.has(key) {
				e.refuse(key, "%s limits retries to Kafka, but there is no `kafka:`", key)
			}
		}
		return
	}
	if e.Kafka == nil {
		return // entries has refused it
	}
	source.Kafka = &relay.KafkaRoute{Topic: e.Kafka.Topic, Key: e.Kafka.Key}
	if source.Kafka.Topic == "" {
		e.refuse("kafka", "kafka has no `topic:`")
	} else if err := source.Kafka.Check(); err != nil {
		e.refuse("kafka", "%s", err)
	}
}

// retries returns the number of retries after the first attempt.
func (e entry) retries() int {
	switch word, isText := e.Retries.(string); {
	case word == "forever":
		return relay.RetryForever
	case isText:
		e.refuse("retries", "retries must be a whole number from 0 to 100, or forever")
		return 0
	}
	return e.number("retries", e.Retries, defaultSourceRetries, 0, 100)
}

// aggregate reads the aggregate of a source's events, if the dialect's table has no aggregate.
func (e entry) aggregate(source *relay.Source) {
	known := slices.Contains(relay.Dialects(), source.Dialect)
	switch {
	case e.Aggregate != nil && source.Dialect.HasAggregate():
		e.refuse("aggregate", "tables of %s have an aggregate already: remove this one", source.Dialect)
		return
	case !e.has("aggregate") && source.People && known && !source.Dialect.HasAggregate():
		e.refuse("people", "Herald finds people by the aggregate, which tables of %s do not have: give the source `aggregate:`", source.Dialect)
		return
	case e.Aggregate == nil:
		return
	}
	source.Aggregate = &relay.Aggregate{Type: e.Aggregate.Type, IDPath: e.Aggregate.IDPath}
	if !aggregateType.MatchString(source.Aggregate.Type) {
		e.refuse("aggregate", "aggregate needs a `type:`, a word such as CUSTOMER, 100 characters at most")
	}
	if !idPaths.MatchString(source.Aggregate.IDPath) {
		e.refuse("aggregate",
			"aggregate needs an `id_path:`: keys of the payload with dots between them, such as customer.id; put commas between several paths: "+
				"the first path that the payload has counts")
	}
}
