package config

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"herald/internal/environment"
	"herald/internal/notification"
	"herald/internal/outboxes"
)

const sourcesSetting = "OUTBOX_SOURCES"

// sources are Herald's own outbox, which is the first, and those of the file.
func (c *Starter) sources(r *environment.Reader) []outboxes.Source {
	herald := outboxes.Source{
		Name: notification.HeraldSource, DatabaseURL: string(c.DatabaseURL), PollInterval: c.OutboxPollInterval, BatchSize: c.OutboxBatchSize, Pollers: c.OutboxPollers,
		Retries: defaultSourceRetries, RetryInterval: defaultSourceRetry, People: true,
	}
	all := []outboxes.Source{herald}
	if c.OutboxSources == "" {
		return all
	}
	text, err := os.ReadFile(c.OutboxSources)
	if err != nil {
		r.Refuse(sourcesSetting, "must be a file that can be read: "+cause(err))
		return all
	}
	file := sourcesFile{Starter: c, reader: r, names: map[string]int{}}
	for _, node := range file.entries(text) {
		file.add(&all, node)
	}
	if len(file.mistakes) > 0 {
		r.Refuse(sourcesSetting, "has mistakes, in "+c.OutboxSources+":\n"+file.text())
	}
	return all
}

// cause is why a file cannot be read, without its name.
func cause(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// sourcesFile is the file that OUTBOX_SOURCES names.
type sourcesFile struct {
	*Starter
	document
	reader *environment.Reader
	names  map[string]int // the lines where they are
}

// add reads an entry. That of Herald's own outbox adds to what is there.
func (f *sourcesFile) add(all *[]outboxes.Source, node ast.Node) {
	m, ok := f.mapping(node, "a source", entryKeys)
	if !ok {
		return
	}
	m.need("the source", "name")
	name := m.string("name")
	if name != "" && (!sourceName.MatchString(name) || name == "outbox") {
		f.refuse(m.lineOf("name"), "name must be of a-z, 0-9 and -, 30 at most, and not outbox")
	}
	if line, taken := f.names[name]; taken {
		f.refuse(m.lineOf("name"), "the source of line %d has the same name", line)
	}
	if name != "" {
		f.names[name] = m.lineOf("name")
	}
	if name == notification.HeraldSource {
		f.herald(&(*all)[0], m)
		return
	}
	source := f.other(m)
	source.Name = name
	for _, other := range *all {
		if source.Table != "" && other.Table == source.Table && other.DatabaseURL == source.DatabaseURL {
			f.refuse(m.lineOf("table"), "source %s has the same table of the same database", other.Name)
		}
	}
	*all = append(*all, source)
}

// herald reads the entry of Herald's own outbox.
func (f *sourcesFile) herald(source *outboxes.Source, m mapping) {
	for key, line := range m.lines {
		if !slices.Contains(heraldKeys, key) {
			f.refuse(line, "%s is Herald's own outbox: its entry may have %s, and OUTBOX_* settings say the rest", source.Name, strings.Join(heraldKeys, ", "))
		}
	}
	f.topic(source, m)
	source.Retention = m.duration("retention", 0, minSourceRetention, maxSourceRetention)
}

// other reads the entry of an outbox that is not ours.
func (f *sourcesFile) other(m mapping) outboxes.Source {
	m.need("the source", "dialect", "table")
	source := outboxes.Source{
		Dialect:      outboxes.Dialect(m.string("dialect")),
		DatabaseURL:  f.database(m),
		Table:        m.string("table"),
		Zone:         f.zone(m),
		PollInterval: m.duration("poll_interval", f.OutboxPollInterval, minPollInterval, maxPollInterval),
		BatchSize:    m.number("batch_size", defaultSourceBatch, 1, maxBatchSize),
		Pollers:      m.number("pollers", 1, 1, maxPollers),
		People:       m.bool("people"),
		Retention:    m.duration("retention", 0, minSourceRetention, maxSourceRetention),
	}
	if source.Dialect != "" && !slices.Contains(outboxes.Dialects(), source.Dialect) {
		f.refuse(m.lineOf("dialect"), "dialect must be %s", strings.Join(words(outboxes.Dialects()), " or "))
	}
	if source.Table != "" && !sourceTable.MatchString(source.Table) {
		f.refuse(m.lineOf("table"), "table must be schema.table, such as orders.outbox, without quotes")
	}
	f.topic(&source, m)
	f.aggregate(&source, m)
	if !source.People && !m.has("kafka") {
		f.refuse(m.line, "the source does nothing: give it `kafka:` or `people: true`, or both")
	}
	return source
}

// words are the texts of words of any type.
func words[T ~string](all []T) []string {
	var texts []string
	for _, word := range all {
		texts = append(texts, string(word))
	}
	return texts
}

// database is the URL that the entry's variable holds, or Herald's own.
func (f *sourcesFile) database(m mapping) string {
	key := m.string("database_url_env")
	if key == "" {
		return string(f.DatabaseURL)
	}
	if !variableName.MatchString(key) {
		f.refuse(m.lineOf("database_url_env"), "database_url_env must be the name of a variable, which holds the URL")
		return ""
	}
	url, _ := f.reader.LookupEnv(key)
	if url == "" {
		f.refuse(m.lineOf("database_url_env"), "%s is not set in the environment", key)
		return ""
	}
	checkDatabase(f.reader, key, url)
	return url
}

func (f *sourcesFile) zone(m mapping) *time.Location {
	name := m.string("timezone")
	if name == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		f.refuse(m.lineOf("timezone"), "timezone must be the name of a zone, such as UTC or Europe/Rome")
		return time.UTC
	}
	return zone
}
