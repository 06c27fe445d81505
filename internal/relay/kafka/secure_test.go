//go:debug x509usefallbackroots=1

package kafka_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
)

// trusted is a certificate for 127.0.0.1.
var trusted tls.Certificate

// TestMain makes this process trust the certificate of the test brokers.
func TestMain(m *testing.M) {
	server := httptest.NewTLSServer(nil)
	trusted = server.TLS.Certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	server.Close()
	x509.SetFallbackRoots(roots)
	os.Exit(m.Run())
}

func TestTLSAndSASL(t *testing.T) {
	t.Parallel()

	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()

			cluster := kafkatest.NewCluster(t, kfake.EnableSASL(), kfake.Superuser(mechanism, "herald", "hunter2"),
				kfake.TLS(&tls.Config{Certificates: []tls.Certificate{trusted}}), kfake.SeedTopics(1, "orders"))
			right := kafka.Settings{Brokers: []string{cluster.Address}, TLS: true, Mechanism: mechanism, Username: "herald", Password: "hunter2"}
			producer := newProducer(t, right)
			require.NoError(t, producer.Ready(within(t, patience)))
			require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: "orders"}))

			stranger := right
			stranger.Password = "hunter3"
			producer = newProducer(t, stranger)
			requireUnavailable(t, producer.Ready(within(t, patience)), "credentials") // real Kafka returns SASL_AUTHENTICATION_FAILED
			err := produce(producer, within(t, time.Second), relay.Record{Topic: "orders"})
			requireUnavailable(t, err, "")
			require.NotContains(t, err.Error(), "hunter")
		})
	}
}

// A broker with another identity or protocol gets no record.
func TestUntrustedBroker(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{trusted}}))
	_, port, err := net.SplitHostPort(cluster.Address)
	require.NoError(t, err)
	for why, s := range map[string]kafka.Settings{
		// a name that is not in the certificate
		"not trusted":                     {Brokers: []string{net.JoinHostPort("localhost", port)}, TLS: true},
		"the broker ended the connection": {Brokers: []string{cluster.Address}},
	} {
		requireUnavailable(t, newProducer(t, s).Ready(within(t, patience)), why)
	}
}
