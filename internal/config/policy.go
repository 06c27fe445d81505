package config

import (
	"math"
	"strings"
	"time"

	"herald/internal/notification"
)

// Policy is how the messages of one channel are sent, from settings that begin
// with its name: EMAIL_MAX_ATTEMPTS. A best-effort channel has none of the first
// three, and one attempt.
type Policy struct {
	MaxAttempts      int           `env:"MAX_ATTEMPTS"`      // 1 to 100
	RetryInterval    time.Duration `env:"RETRY_INTERVAL"`    // between the first attempt and the second; 10 ms to 1 h
	RetryCoefficient float64       `env:"RETRY_COEFFICIENT"` // by which each further interval grows; 1 to 10
	Timeout          time.Duration `env:"TIMEOUT"`           // of one attempt; 100 ms to 60 s
	RateLimit        float64       `env:"RATE_LIMIT"`        // messages a second; 0: none
}

// defaultPolicy is the table of channels in the specification.
func defaultPolicy(channel notification.Channel) Policy {
	policy := Policy{MaxAttempts: 3, RetryCoefficient: 2, Timeout: 10 * time.Second}
	switch channel {
	case notification.Email:
		policy.RetryInterval = 30 * time.Second
	case notification.Push:
		policy.RetryInterval = 10 * time.Second
	case notification.SMS:
		policy.RetryInterval = 5 * time.Second
	default:
		return Policy{MaxAttempts: 1, Timeout: policy.Timeout}
	}
	return policy
}

func policies(found *problems, environment map[string]string) map[notification.Channel]Policy {
	all := map[notification.Channel]Policy{}
	for _, channel := range notification.Channels() {
		policy, prefix := defaultPolicy(channel), string(channel)+"_"
		if channel.BestEffort() {
			refuseRetries(found, environment, prefix)
		}
		parseInto(found, environment, prefix, &policy)
		policy.check(found, channel)
		all[channel] = policy
	}
	return all
}

func refuseRetries(found *problems, environment map[string]string, prefix string) {
	for _, name := range []string{"MAX_ATTEMPTS", "RETRY_INTERVAL", "RETRY_COEFFICIENT"} {
		if environment[prefix+name] != "" {
			found.add(prefix+name, "cannot be set: "+strings.TrimSuffix(prefix, "_")+" is best effort, and gets one attempt")
		}
	}
}

func (p Policy) check(found *problems, channel notification.Channel) {
	prefix := string(channel) + "_"
	if !channel.BestEffort() {
		within(found, prefix+"MAX_ATTEMPTS", p.MaxAttempts, 1, 100)
		within(found, prefix+"RETRY_INTERVAL", p.RetryInterval, 10*time.Millisecond, time.Hour)
		within(found, prefix+"RETRY_COEFFICIENT", p.RetryCoefficient, 1, 10)
	}
	within(found, prefix+"TIMEOUT", p.Timeout, 100*time.Millisecond, time.Minute)
	if !(p.RateLimit >= 0 && p.RateLimit <= math.MaxFloat64) { // nor NaN, nor infinite
		found.add(prefix+"RATE_LIMIT", "must be messages a second, or 0 for no limit")
	}
}
