package main

import (
	"maps"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"herald/internal/config"
	"herald/internal/config/environment"
	"herald/internal/notification"
	"herald/internal/web/signin"
	"herald/internal/wiring"
)

// composeService holds the fields of a service in docker-compose.yml that the tests read.
type composeService struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	StopGrace   string            `yaml:"stop_grace_period"`
}

// composeDefault matches a variable with a default; the tests use the default. composeRequired
// matches a variable without a default, a secret.
var (
	composeDefault  = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)
	composeRequired = regexp.MustCompile(`\$\{\w+:\?[^}]*\}`)
)

func composeServices(t *testing.T) map[string]composeService {
	t.Helper()
	text, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	text = composeDefault.ReplaceAll(text, []byte("$1"))
	text = composeRequired.ReplaceAll(text, []byte("a long enough secret for this test"))
	var file struct {
		Services map[string]composeService `yaml:"services"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.NotEmpty(t, file.Services)
	return file.Services
}

// docker-compose.yml has valid settings for each process. No test runs the file, so this test finds
// renamed settings, and new settings that the file lacks.
func TestComposeSettings(t *testing.T) {
	t.Parallel()

	workers, known := 0, documentedSettings(t) // all settings: see TestSettingsOfTheReference
	known["TEMPORAL_ADDRESS"], known["TEMPORAL_NAMESPACE"] = "", ""
	for name, service := range composeServices(t) {
		if !strings.HasPrefix(service.Image, "herald:") || name == "sandbox" { // the sandbox has no settings
			continue
		}
		for setting := range maps.Keys(service.Environment) {
			require.Contains(t, known, setting, name)
		}
		if name == "gateway" {
			var who signin.Settings
			_, err := config.GatewayFrom(service.Environment, func(r *environment.Reader) { who.Read(r); wiring.New().ReadReceipts(r) },
				wiring.New().Read)
			require.NoError(t, err, name)
			continue
		}
		if service.Command[0] != "worker" {
			_, err := config.StarterFrom(service.Environment)
			require.NoError(t, err, name)
			continue
		}
		workers++
		wired := wiring.New()
		cfg, err := config.From(service.Environment, wired.Read)
		require.NoError(t, err, name)
		senders, _, err := newSenders(wired, cfg, nil, nil, nil, notification.Channels())
		require.NoError(t, err, name)
		for _, channel := range notification.Channels() {
			require.Contains(t, senders, channel, "%s: the broker or the sandbox could take its messages", name)
		}
		grace, err := time.ParseDuration(service.StopGrace)
		require.NoError(t, err, name)
		require.Greater(t, grace, 70*time.Second, "%s: the grace must cover a provider's longest time-out and the record of its answer", name)
	}
	require.Equal(t, 2, workers)
}

// The sandbox sends its receipts to the gateway, and the gateway has the keys of their signatures.
func TestComposeReceipts(t *testing.T) {
	t.Parallel()

	services := composeServices(t)
	worker, gateway, sandbox := services["worker"], services["gateway"], strings.Join(services["sandbox"].Command, " ")
	var cfg config.Gateway
	environment.NewReader(gateway.Environment).Read("", &cfg)
	_, port, err := net.SplitHostPort(cfg.HTTPAddr)
	require.NoError(t, err)

	require.Contains(t, sandbox, " --gateway=http://gateway:"+port)
	require.Contains(t, sandbox, " --local ")
	require.Contains(t, sandbox, " --addr=:9090 ")
	require.Contains(t, sandbox, " --sendgrid-key=/var/lib/herald/", "the gateway would not know a key that is new after each start")
	require.NotEmpty(t, gateway.Environment["PUBLIC_URL"])
	for _, provider := range []string{"SENDGRID_BASE_URL", "TWILIO_BASE_URL"} {
		require.Equal(t, "http://sandbox:9090", worker.Environment[provider])
	}
	for _, same := range []string{"PUBLIC_URL", "TWILIO_AUTH_TOKEN", "TWILIO_BASE_URL", "HERALD_SECRET"} {
		require.Equal(t, worker.Environment[same], gateway.Environment[same], same)
	}
	require.Contains(t, gateway.Command[len(gateway.Command)-1],
		"SENDGRID_WEBHOOK_PUBLIC_KEY=$$(wget -q -O - http://sandbox:9090/keys/sendgrid)")
}

func TestComposeIsPinnedAndLocal(t *testing.T) {
	t.Parallel()

	pinned := regexp.MustCompile(`^[a-z/-]+:(local|\d+\.\d+\S*)$`)
	for name, service := range composeServices(t) {
		require.Regexp(t, pinned, service.Image, name)
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s: port %s is open to other machines", name, port)
		}
	}
}
