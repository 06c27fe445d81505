package notification

import "time"

// TurnsWanted asks for turns to send over a channel that has a rate limit.
type TurnsWanted struct {
	Channel Channel
	Rate    float64       // turns a second
	Most    int           // how many are of use, at least 1
	Ahead   time.Duration // how far from now a turn may be due; at most a minute
}

// Turns are turns that follow each other at the rate of their channel.
type Turns struct {
	Granted int
	Wait    time.Duration // until the first of them is due, or past it; if none was granted, until it is worth asking again
}
