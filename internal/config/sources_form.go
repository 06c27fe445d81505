package config

import (
	"regexp"
	"time"
)

// The keys that the entries of the file may have, and what stands below two of them. Those
// of Herald's own outbox are few: the OUTBOX_* settings say the rest.
var (
	entryKeys = []string{
		"name", "dialect", "database_url_env", "table", "timezone", "poll_interval", "batch_size", "pollers",
		"kafka", "retries", "retry_interval", "people", "aggregate", "retention",
	}
	heraldKeys    = []string{"name", "kafka", "retries", "retry_interval", "retention"}
	kafkaKeys     = []string{"topic", "key"}
	aggregateKeys = []string{"type", "id_path"}
)

// removedKeys are the keys of earlier releases, and what to do about each.
var removedKeys = map[string]string{
	"mode": "mode is no longer needed: remove the line. Every source is sent in pages, in the order of its keys, to people as well",
}

// The forms of what the file holds.
var (
	sourceName    = regexp.MustCompile(`^[a-z0-9-]{1,30}$`)
	sourceTable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]{0,62}\.[A-Za-z_][A-Za-z0-9_$]{0,62}$`)
	variableName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	aggregateType = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
	idPaths       = regexp.MustCompile(`^[^\s.,]+(\.[^\s.,]+)*(\s*,\s*[^\s.,]+(\.[^\s.,]+)*)*$`)
)

// The defaults and limits of sources, where they are not those of an OUTBOX_* setting.
const (
	defaultSourceBatch   = 500 // rows of a page
	defaultSourceRetries = 5
	defaultSourceRetry   = 100 * time.Millisecond
	minSourceRetention   = time.Hour
	maxSourceRetention   = 10 * 365 * 24 * time.Hour
)
