// Package seed holds the example directory, its rules and its templates.
package seed

import (
	_ "embed" // the example
)

//go:embed directory.sql
var directorySQL string

//go:embed rules.sql
var rulesSQL string

//go:embed templates.sql
var templatesSQL string

// Scripts returns SQL scripts that load the directory, the rules and the templates, and restore
// changed rows. They need the returned settings. slackURL is the scheme and the host of the
// example's Slack webhooks.
func Scripts(slackURL string) (scripts []string, settings map[string]string) {
	return []string{directorySQL, rulesSQL, templatesSQL}, map[string]string{"herald.slack_url": slackURL}
}
