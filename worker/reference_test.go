package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/relay/endpoint"
	"herald/internal/relay/kafka"
	"herald/internal/tracing"
	"herald/internal/web/signin"
	"herald/internal/wiring"
)

// docs/reference.md lists exactly the settings of worker, gateway and starter, with their
// defaults. Only starter reads HERALD_ACTOR and the settings of its console.
func TestSettingsOfTheReference(t *testing.T) {
	t.Parallel()

	wired := wiring.New()
	want := map[string]string{
		"HERALD_ACTOR": "user@host", "CONSOLE_USER_HEADER": "", "CONSOLE_GROUPS_HEADER": "", "CONSOLE_ROLES": "", "CONSOLE_ORIGIN": "",
		"CONSOLE_WEB_UI_ORIGIN": "",
	}
	structs := []any{
		&config.Config{}, &config.Histories{}, &kafka.Settings{}, &endpoint.Settings{}, &tracing.Settings{}, &config.Gateway{},
		&signin.Settings{},
	}
	for channel, providers := range wired {
		for _, provider := range providers.All {
			structs = append(structs, provider.Settings)
			if setting := wiring.LimitSetting(channel, provider.Name); setting != "" {
				want[setting] = "0"
			}
			if provider.Receipts != nil {
				structs = append(structs, provider.Receipts)
			}
		}
		if len(providers.All) > 1 {
			want[wiring.OrderSetting(channel)] = ""
		}
	}
	for _, settings := range structs {
		params, err := env.GetFieldParams(settings)
		require.NoError(t, err)
		for _, p := range params {
			want[p.Key] = p.DefaultValue
			if p.Required {
				want[p.Key] = "required"
			}
		}
	}
	cfg, err := config.From(map[string]string{"DATABASE_URL": "postgres://localhost", "RABBITMQ_URL": "amqp://localhost"}, wired.Read)
	require.NoError(t, err)
	want["RABBITMQ_QUEUE_LENGTH"], want["RABBITMQ_QUEUE_TTL"] = fmt.Sprint(cfg.QueueLength), fmt.Sprint(cfg.QueueTTL)
	for channel, policy := range cfg.Policies {
		for name, value := range policySettings(channel, policy) {
			want[string(channel)+"_"+name] = fmt.Sprint(value)
		}
	}

	require.Equal(t, want, documentedSettings(t))
}

// policySettings returns a channel's settings and their defaults.
func policySettings(channel notification.Channel, policy config.Policy) map[string]any {
	settings := map[string]any{"TIMEOUT": policy.Timeout, "OUTAGE": policy.Outage, "RATE_LIMIT": policy.RateLimit}
	if !channel.BestEffort() {
		settings["MAX_ATTEMPTS"], settings["RETRY_INTERVAL"], settings["RETRY_COEFFICIENT"] = policy.MaxAttempts, policy.RetryInterval,
			policy.RetryCoefficient
	}
	return settings
}

// setting matches an item of a list of settings: names, perhaps the default in brackets, and the
// meaning.
var (
	setting     = regexp.MustCompile("(?m)^\\* ((?:`[A-Z][A-Z0-9_]*`,?\\s+)*`[A-Z][A-Z0-9_]*`)(?:\\s+\\((.*?)\\))?:\\s")
	settingName = regexp.MustCompile("`([A-Z][A-Z0-9_]*)`")
)

// documentedSettings returns the defaults in the lists of the section on settings.
func documentedSettings(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/reference.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	defaults := map[string]string{}
	for _, item := range setting.FindAllStringSubmatch(section, -1) {
		for _, name := range settingName.FindAllStringSubmatch(item[1], -1) {
			defaults[name[1]] = strings.Trim(item[2], "`")
		}
	}
	return defaults
}
