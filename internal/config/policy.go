package config

import (
	"time"

	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Policy holds one channel's settings for sending. Their names begin with the channel's name:
// EMAIL_MAX_ATTEMPTS. A best-effort channel has one attempt and only the last three settings.
type Policy struct {
	MaxAttempts      int           `env:"MAX_ATTEMPTS"`      // 1 to 100
	RetryInterval    time.Duration `env:"RETRY_INTERVAL"`    // between the first attempt and the second; 10 ms to 1 h
	RetryCoefficient float64       `env:"RETRY_COEFFICIENT"` // factor by which each further interval grows; 1 to 10
	// during which attempts that a provider certainly did not accept do not count; 0 to 24 h
	Outage    time.Duration `env:"OUTAGE"`
	Timeout   time.Duration `env:"TIMEOUT"`    // of one attempt; 100 ms to 60 s
	RateLimit float64       `env:"RATE_LIMIT"` // messages a second; 0: no limit
}

// defaultTimeout is long enough for a slow provider. It is so short that a provider that hangs
// does not occupy a worker's slots for long.
const defaultTimeout = 10 * time.Second

// defaultOutage is longer than most outages. A message that is later than this may do more harm than
// good, so an operator decides.
const defaultOutage = time.Hour

func defaultPolicy(channel notification.Channel) Policy {
	if channel.BestEffort() {
		return Policy{MaxAttempts: 1, Outage: defaultOutage, Timeout: defaultTimeout}
	}
	return Policy{MaxAttempts: 3, RetryInterval: channel.FirstRetry(), RetryCoefficient: 2, Outage: defaultOutage, Timeout: defaultTimeout}
}

func policies(r *environment.Reader) map[notification.Channel]Policy {
	all := map[notification.Channel]Policy{}
	for _, channel := range notification.Channels() {
		policy := defaultPolicy(channel)
		if channel.BestEffort() {
			refuseRetries(r, channel)
		}
		r.Read(string(channel)+"_", &policy)
		policy.check(r, channel)
		all[channel] = policy
	}
	return all
}

func refuseRetries(r *environment.Reader, channel notification.Channel) {
	for _, name := range []string{"_MAX_ATTEMPTS", "_RETRY_INTERVAL", "_RETRY_COEFFICIENT"} {
		key := string(channel) + name
		if value, _ := r.LookupEnv(key); value != "" {
			r.Refuse(key, "cannot be set: "+string(channel)+" is best effort, and gets one attempt")
		}
	}
}

func (p Policy) check(r *environment.Reader, channel notification.Channel) {
	prefix := string(channel) + "_"
	if !channel.BestEffort() {
		environment.Within(r, prefix+"MAX_ATTEMPTS", p.MaxAttempts, 1, 100)
		environment.Within(r, prefix+"RETRY_INTERVAL", p.RetryInterval, 10*time.Millisecond, time.Hour)
		environment.Within(r, prefix+"RETRY_COEFFICIENT", p.RetryCoefficient, 1, 10)
	}
	environment.Within(r, prefix+"OUTAGE", p.Outage, 0, 24*time.Hour)
	environment.Within(r, prefix+"TIMEOUT", p.Timeout, 100*time.Millisecond, time.Minute)
	r.RateLimit(prefix+"RATE_LIMIT", p.RateLimit)
}
