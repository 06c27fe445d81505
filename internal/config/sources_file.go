package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"herald/internal/config/environment"
)

// sourcesFile is the file that OUTBOX_SOURCES names. It collects all mistakes with their lines,
// and never quotes values.
type sourcesFile struct {
	*Starter
	reader   *environment.Reader
	names    map[string]int // the line of each source's name
	mistakes []mistake
}

type mistake struct {
	line int
	text string
}

func (f *sourcesFile) refuse(line int, format string, args ...any) {
	f.mistakes = append(f.mistakes, mistake{line, fmt.Sprintf(format, args...)})
}

// text returns all mistakes, one per line.
func (f *sourcesFile) text() string {
	slices.SortStableFunc(f.mistakes, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var lines []string
	for _, m := range f.mistakes {
		lines = append(lines, fmt.Sprintf("line %d: %s", m.line, m.text))
	}
	return strings.Join(lines, "\n")
}

// entries decodes the file's list.
func (f *sourcesFile) entries(text []byte) []entry {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		f.refuseYAML(1, err)
		return nil
	}
	if len(file.Docs) != 1 {
		f.refuse(1, "it must be one document")
		return nil
	}
	list, isList := file.Docs[0].Body.(*ast.SequenceNode)
	if !isList || len(list.Values) == 0 {
		f.refuse(1, "it must be a list of sources: each begins with `- name:`")
		return nil
	}
	var entries []entry
	for _, node := range list.Values {
		e := entry{file: f, line: node.GetToken().Position.Line, lines: map[string]int{}}
		e.find(node)
		if err := yaml.NodeToValue(node, &e.keys, yaml.Strict()); err != nil {
			f.refuseYAML(e.line, err)
		}
		if len(e.lines) > 0 {
			entries = append(entries, e)
		}
	}
	return entries
}

// refuseYAML records a mistake that the YAML library found.
func (f *sourcesFile) refuseYAML(line int, err error) {
	message := "it is not YAML"
	if found, ok := errors.AsType[yaml.Error](err); ok {
		line, message = found.GetToken().Position.Line, found.GetMessage()
	}
	var mismatch *yaml.TypeError
	switch {
	case errors.As(err, &mismatch) && mismatch.DstType.Kind() == reflect.Bool:
		message = "the value must be true or false"
	case errors.As(err, new(*yaml.UnknownFieldError)):
		message += "; docs/outboxes.md lists the keys of a source"
	}
	f.refuse(line, "%s", message)
}

// entry is one entry of the file.
type entry struct {
	keys
	file  *sourcesFile
	line  int
	lines map[string]int // the line of each key
}

// find records the lines of a mapping's keys, including nested keys.
func (e entry) find(node ast.Node) {
	pairs, isMapping := node.(ast.MapNode)
	if !isMapping {
		return
	}
	for pair := pairs.MapRange(); pair.Next(); {
		e.lines[pair.Key().GetToken().Value] = pair.Key().GetToken().Position.Line
		e.find(pair.Value())
	}
}

// has reports whether the entry has a key, with any value.
func (e entry) has(key string) bool { return e.lines[key] > 0 }

// refuse records a mistake in the line of a key, or of the entry if it lacks the key.
func (e entry) refuse(key, format string, args ...any) {
	e.file.refuse(cmp.Or(e.lines[key], e.line), format, args...)
}

// duration parses a value and refuses it outside of low and high. For "" it returns unset.
func (e entry) duration(key, value string, unset, low, high time.Duration) time.Duration {
	if value == "" {
		return unset
	}
	parsed, err := time.ParseDuration(value)
	if err != nil || parsed < low || parsed > high {
		e.refuse(key, "%s must be a duration from %s to %s, such as 5s", key, low, high)
	}
	return parsed
}

// number returns a whole number and refuses it outside of low and high. For nil it returns unset.
func (e entry) number(key string, value any, unset, low, high uint64) int {
	if value == nil {
		return int(unset)
	}
	number, whole := value.(uint64)
	if !whole || number < low || number > high {
		e.refuse(key, "%s must be a whole number from %d to %d", key, low, high)
	}
	return int(number)
}

// keys holds the values of an entry's keys. The field of an absent key is empty.
type keys struct {
	Name           string `yaml:"name"`
	Dialect        string `yaml:"dialect"`
	DatabaseURLEnv string `yaml:"database_url_env"`
	Table          string `yaml:"table"`
	Timezone       string `yaml:"timezone"`
	PollInterval   string `yaml:"poll_interval"`
	BatchSize      any    `yaml:"batch_size"`
	Pollers        any    `yaml:"pollers"`
	Kafka          *struct {
		Topic string `yaml:"topic"`
		Key   string `yaml:"key"`
	} `yaml:"kafka"`
	Webhook       bool   `yaml:"webhook"`
	Retries       any    `yaml:"retries"` // a number, or the word forever
	RetryInterval string `yaml:"retry_interval"`
	People        bool   `yaml:"people"`
	Aggregate     *struct {
		Type   string `yaml:"type"`
		IDPath string `yaml:"id_path"`
	} `yaml:"aggregate"`
	Retention string `yaml:"retention"`
}

// heraldKeys are the permitted keys of the entry herald. OUTBOX_* settings give the rest.
var heraldKeys = []string{"name", "kafka", "topic", "key", "retries", "retry_interval", "retention"}

// lifecycleKeys are the permitted keys of the entry lifecycle.
var lifecycleKeys = []string{
	"name", "kafka", "topic", "webhook", "poll_interval", "batch_size", "pollers", "retries", "retry_interval", "retention",
}

// Forms of the values in the file.
var (
	sourceName    = regexp.MustCompile(`^[a-z0-9-]{1,30}$`)
	sourceTable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]{0,62}\.[A-Za-z_][A-Za-z0-9_$]{0,62}$`)
	variableName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	aggregateType = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	idPaths       = regexp.MustCompile(`^[^\s.,]+(\.[^\s.,]+)*(\s*,\s*[^\s.,]+(\.[^\s.,]+)*)*$`)
)

// Defaults and limits of sources that no OUTBOX_* setting has.
const (
	defaultSourceBatch   = 500 // rows in a page
	defaultSourceRetries = 5
	defaultSourceRetry   = 100 * time.Millisecond
	lifecycleRetention   = 24 * time.Hour
)
