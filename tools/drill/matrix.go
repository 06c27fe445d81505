package main

import "context"

// ordinary makes the sandbox as slow as a provider, so that messages are in flight during a crash.
const ordinary = `{"latency":"150ms"}`

// lossy is ordinary for most messages; the others are lost without a sign, which the judge must find.
const lossy = `{"latency":"150ms","rate":0.05,"lost":true}`

// channels are the providers' names in the sandbox's faults.
var channels = []string{"email", "sms", "push", "webhook"}

// providerFaults are the faults of the sandbox.
var providerFaults = []struct{ kind, fault string }{
	{"refuse", `{"status":503}`},
	{"slow", `{"latency":"2s"}`},
	{"cut before", `{"drop":"before"}`},
	{"cut after", `{"drop":"after","rate":0.5}`},
}

// lanes returns the faults: one lane for programs and providers, one for servers, so that a program
// fails while a server does.
func (s *stage) lanes(commands commands) (near, far []fault) {
	for _, p := range s.programs {
		near = append(append(near, linkFaults(p.name, s.links[p.name])...), p.faults()...)
	}
	for _, channel := range channels {
		for _, f := range providerFaults {
			near = append(near, fault{channel + " provider", f.kind, s.faultOf(channel, f.fault), s.faultOf(channel, s.ordinary)})
		}
	}
	for _, server := range serverNames {
		if server.name == "kafka" && !s.hasTopic {
			continue
		}
		faults, without := commands.faults(server.name)
		far = append(append(far, linkFaults(server.name, s.links[server.name])...), faults...)
		s.without = append(s.without, without...)
	}
	return near, far
}

// faultOf sets the fault of a channel in the sandbox.
func (s *stage) faultOf(channel, fault string) func(context.Context) error {
	return func(ctx context.Context) error { return s.Sandbox.SetFault(ctx, channel, fault) }
}
